"""Print the times of a folder of records beside the least that the hosts' links allow.

python table.py FOLDER --link 100mbit
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from mpicoll.cli.options import parse_rate
from mpicoll.measure.limits import HEADERS, least_us, link
from mpicoll.measure.plot import plot
from mpicoll.measure.record import load
from mpicoll.measure.words import size_words

HOSTS = 4

Record = dict[str, Any]


def lines(record: Record, ranks: str, rate: float) -> Iterator[str]:
    """The table of one record: a line a size, a column a contender, times over the bound."""
    rows = [row for row in record["rows"] if row["median_us"] is not None]
    names = list(dict.fromkeys(row["algorithm"] for row in rows))
    yield "#"
    yield f"# {rows[0]['collective']}, {ranks} ranks on the hosts, {record['mpi']['vendor']}"
    yield f"{'size':>8}{'bound ms':>10}" + "".join(f"{name:>20}" for name in names)
    for nbytes, same in groupby(rows, key=lambda row: int(row["bytes"])):
        least = least_us(rows[0]["collective"], HOSTS, nbytes, link(rate))
        cells = {row["algorithm"]: row for row in same}
        texts = (f"{cells[name]['median_us'] / least:>20.2f}" for name in names)
        chosen = cells["auto"]["chosen"]
        yield f"{size_words(nbytes):>8}{least / 1e3:>10.1f}{''.join(texts)}  {chosen}"


if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--link", type=parse_rate, required=True, help="each way, as 100mbit")
    options = parser.parse_args()
    print("# times over the bound: what the busiest of the hosts' links must carry, with")
    print(f"# {HEADERS - 1:.1%} of packet headers, were each host one rank; last, what auto chose")
    for path in sorted(options.folder.glob("*.json")):
        record = load(path)
        if record:
            print("\n".join(lines(record, path.stem.partition("-")[2], options.link)))
            path.with_suffix(".png").unlink(missing_ok=True)
            plot(record, path.with_suffix(".png"))
