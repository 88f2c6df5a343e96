"""Print the vendor's time over ours from a folder of records; keep tables and pictures in another.

python table.py RECORDS KEPT
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator
from math import exp, log
from pathlib import Path
from typing import Any

from mpicoll.measure.cases import AUTO
from mpicoll.measure.launches import merge
from mpicoll.measure.plot import plot
from mpicoll.measure.record import load
from mpicoll.measure.report import render
from mpicoll.measure.words import size_words
from mpicoll.schedule import VENDOR

KINDS = {"allreduce-jit1": "", "allreduce-jit0": ", interpreted", "others": ""}
"""The records of a library, and what the table adds to the name of their collectives."""

Record = dict[str, Any]
Rows = list[dict[str, Any]]


def merged(folder: Path) -> dict[str, dict[str, Record]]:
    """The launches of each kind as one record, by MPI library and kind."""
    libraries = dict.fromkeys(path.name.partition("-")[0] for path in folder.glob("*.json"))
    found: dict[str, dict[str, Record]] = {}
    for mpi in sorted(libraries):
        for kind in KINDS:
            launches = [load(path) for path in sorted(folder.glob(f"{mpi}-{kind}-*.json"))]
            complete = [record for record in launches if record]
            if complete:
                found.setdefault(mpi, {})[kind] = merge(complete)
    return found


def ratios(rows: Rows, ours: str | None) -> dict[int, float]:
    """The vendor's time over ours by size: that of one contender, or of the best at each size."""
    found: dict[int, float] = {}
    for row in rows:
        name, ratio = row["algorithm"], row["vs_vendor"]
        if ratio and name != VENDOR and name == (ours or name):
            found[row["bytes"]] = max(ratio, found.get(row["bytes"], 0.0))
    return found


def lines(records: dict[str, Record]) -> Iterator[str]:
    """The table of one MPI library: a line a collective, a column a size."""
    first = next(iter(records.values()))
    sizes = sorted({row["bytes"] for record in records.values() for row in record["rows"]} - {0})
    (host, cores), *_ = first["environment"]["cores"].items()
    yield f"# {first['mpi']['vendor']}, 2 ranks on {cores} cores of {host}, {first['started']}"
    heads = "".join(f"{size_words(size).replace('i', ''):>8}" for size in sizes)
    yield f"{'vendor / auto':<24}{heads}    mean  worst"
    for kind, record in records.items():
        for name in dict.fromkeys(row["collective"] for row in record["rows"]):
            rows = [row for row in record["rows"] if row["collective"] == name]
            yield line(name + KINDS[kind], ratios(rows, AUTO), sizes)
            if kind != "others":
                yield line("  the best of ours", ratios(rows, None), sizes)


def line(name: str, found: dict[int, float], sizes: list[int]) -> str:
    """Ratios by size, their geometric mean and the worst with its size."""
    if not found:
        return f"{name:<24} not measured"
    cells = "".join(f"{found[size]:>8.2f}" if size in found else f"{'':>8}" for size in sizes)
    mean = exp(sum(map(log, found.values())) / len(found))
    worst = min(found, key=lambda size: found[size])
    at = f" at {size_words(worst)}" if worst else ""
    return f"{name:<24}{cells}{mean:>8.2f}  {found[worst]:.2f}{at}"


def keep(records: dict[str, dict[str, Record]], text: str, folder: Path) -> None:
    """Write the table, each library's full tables, and its pictures, over those of another run."""
    (folder / "table.txt").write_text(text)
    for mpi, kinds in records.items():
        for kind, record in kinds.items():
            path = folder / f"{mpi}-{kind}"
            full = "\n".join(render(record, "nccl")).replace(f"{Path.cwd()}/", "")
            path.with_suffix(".txt").write_text(f"{full}\n")
            path.with_suffix(".png").unlink(missing_ok=True)
            plot(record, path.with_suffix(".png"))


if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("records", type=Path)
    parser.add_argument("kept", type=Path)
    options = parser.parse_args()
    every = merged(options.records)
    parts = ["\n".join(lines(kinds)) for kinds in every.values()]
    parts += [path.read_text().rstrip() for path in sorted(options.records.glob("*-memory.txt"))]
    table = "\n\n".join(parts) + "\n"
    print(table, end="")
    keep(every, table, options.kept)
