"""Print the table of a folder of records, times over the bandwidth bound; draw its pictures.

python table.py FOLDER --link 100mbit
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from math import log2
from pathlib import Path
from typing import Any, NamedTuple

from mpicoll.cli.options import parse_rate
from mpicoll.measure.cases import AUTO
from mpicoll.measure.limits import HEADERS, least_us, link
from mpicoll.measure.plot import plot
from mpicoll.measure.record import load
from mpicoll.measure.scaling import origin
from mpicoll.measure.words import algorithm_words, size_words
from mpicoll.schedule import VENDOR

NEAR = {"allreduce": 1.05}
"""How near to its bound a collective is to come from ``LONG`` bytes up; the others 1.10."""

LONG = 2 << 20
SLACK = 0.97
"""The vendor's time over ours below which ours counts as slower: the medians are of few."""

Record = dict[str, Any]


class Cell(NamedTuple):
    """One collective at one size on one number of hosts: rows by name, and the bound.

    ``size``: the power of two that was asked for; equal blocks may make it some bytes fewer.
    """

    collective: str
    size: int
    hosts: int
    rows: dict[str, Any]
    least_us: float

    def over(self, name: str) -> float:
        """The time of a contender over the bound."""
        return float(self.rows[name]["median_us"]) / self.least_us

    @property
    def far(self) -> bool:
        """Whether the choice is further from the bound than it is to be."""
        return self.size >= LONG and self.over(AUTO) > NEAR.get(self.collective, 1.10)

    @property
    def slower(self) -> bool:
        """Whether the choice is slower than the vendor's."""
        return float(self.rows[AUTO]["vs_vendor"]) < SLACK

    @property
    def text(self) -> str:
        """Ours and the vendor's, with the marks."""
        marks = "*" * self.far + "<" * self.slower
        return f"{self.over(AUTO):.2f}{marks} / {self.over(VENDOR):.2f}"

    @property
    def words(self) -> str:
        """All contenders of a cell that misses."""
        where = f"{self.collective} {size_words(self.size)}, {self.hosts} hosts"
        parts = (f"{algorithm_words(row)} {self.over(name):.2f}" for name, row in self.rows.items())
        return f"{where}: {', '.join(parts)}"


def joined(folder: Path) -> dict[int, Record]:
    """The records of a folder, those of one number of hosts as one, by that number."""
    found: dict[int, Record] = {}
    for record in filter(None, map(load, sorted(folder.glob("*.json")))):
        first = found.setdefault(record["ranks"], {**record, "rows": []})
        first["rows"].extend(record["rows"])
    return dict(sorted(found.items()))


def cells(record: Record, rate: float) -> Iterator[Cell]:
    """The cells of a record in which ours and the vendor's were measured."""
    for name, nbytes in dict.fromkeys((row["collective"], row["bytes"]) for row in record["rows"]):
        rows = {
            row["algorithm"]: row
            for row in record["rows"]
            if (row["collective"], row["bytes"]) == (name, nbytes) and row["median_us"] is not None
        }
        if {AUTO, VENDOR} <= rows.keys():
            hosts = record["ranks"]
            yield Cell(
                name,
                1 << round(log2(nbytes)),
                hosts,
                rows,
                least_us(name, hosts, nbytes, link(rate)),
            )


def lines(records: dict[int, Record], rate: float) -> Iterator[str]:
    """The table: a part a size, a line a collective, a column a number of hosts; the misses."""
    every = [cell for record in records.values() for cell in cells(record, rate)]
    first = next(iter(records.values()))
    yield f"# {origin(first, rate)}, {first['started']}: time over bound, ours / the vendor's"
    yield f"# bound: what the busiest link must carry, with {HEADERS - 1:.1%} of packet headers"
    yield "# *: above 1.10 (allreduce 1.05) from 2 MiB up; <: slower than the vendor's"
    for size in sorted({cell.size for cell in every}):
        yield from part([cell for cell in every if cell.size == size], list(records))
    misses = [cell for cell in every if cell.far or cell.slower]
    yield f"# {len(every) - len(misses)} of {len(every)} cells as wanted"
    yield from (f"#   {cell.words}" for cell in misses)


def part(every: Sequence[Cell], hosts: Sequence[int]) -> Iterator[str]:
    """The lines of one size."""
    yield "#"
    yield f"{size_words(every[0].size):<15}" + "".join(f"{count:>17}" for count in hosts)
    for name in dict.fromkeys(cell.collective for cell in every):
        texts = {cell.hosts: cell.text for cell in every if cell.collective == name}
        yield f"{name:<15}" + "".join(f"{texts.get(count, '-'):>17}" for count in hosts)


def draw(records: dict[int, Record], folder: Path) -> None:
    """A picture for each number of hosts: time over size, with the bound."""
    for hosts, record in records.items():
        path = folder / f"hosts-{hosts}.png"
        path.unlink(missing_ok=True)
        plot(record, path)


if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--link", type=parse_rate, required=True, help="each way, as 100mbit")
    options = parser.parse_args()
    found = joined(options.folder)
    print("\n".join(lines(found, options.link)))
    draw(found, options.folder)
