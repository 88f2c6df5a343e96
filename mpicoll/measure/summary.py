"""The end of a report: which algorithm to name at which sizes, and where the vendor loses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import prod
from typing import Any, TypeAlias

from ..schedule import VENDOR
from .words import FASTER, SLOWER, Row, noise_us, size_words, verdict

SHOWN = 3
"""How many of the vendor's worst and best cells are named."""

Cell: TypeAlias = dict[str, Row]
"""The rows of one collective at one size, by algorithm."""


@dataclass(frozen=True)
class Segment:
    """Neighbouring sizes at which one algorithm is as good as any, measured by its rows."""

    algorithm: str
    rows: list[Row]


def summary_lines(record: dict[str, Any]) -> list[str]:
    """What a reader can act on, in words."""
    noise = noise_us(record)
    timed = [row for row in record["rows"] if row["median_us"] is not None and not row["wrong"]]
    lines = ["The fastest at each size, within noise (how many times as fast as the vendor's):"]
    for collective, rows in groupby(timed, key=lambda row: str(row["collective"])):
        parts = "; ".join(map(_segment_words, segments(cells(rows), noise)))
        lines.append(f"  {collective:<15} {parts}")
    return (
        lines
        + _extremes("The vendor loses most", timed, noise, FASTER)
        + _extremes("The vendor wins most", timed, noise, SLOWER)
    )


def cells(rows: Iterable[Row]) -> list[Cell]:
    """The rows of one collective by size, each with its algorithms."""
    by_size = groupby(rows, key=lambda row: int(row["bytes"]))
    return [{str(row["algorithm"]): row for row in same} for _, same in by_size]


def segments(sizes: Sequence[Cell], noise: float) -> list[Segment]:
    """The fewest runs of sizes in each of which one algorithm is nowhere beaten beyond noise."""
    found, start = [], 0
    while start < len(sizes):
        names, stop = unbeaten(sizes[start], noise), start + 1
        while stop < len(sizes) and names & unbeaten(sizes[stop], noise):
            names &= unbeaten(sizes[stop], noise)
            stop += 1
        run = sizes[start:stop]
        best = min(sorted(names), key=lambda name: prod(cell[name]["median_us"] for cell in run))
        found.append(Segment(best, [cell[best] for cell in run]))
        start = stop
    return found


def unbeaten(cell: Cell, noise: float) -> set[str]:
    """The algorithms that cannot be told from the fastest of the cell."""
    best = min(cell.values(), key=lambda row: float(row["median_us"]))
    return {
        name
        for name, row in cell.items()
        if row["ci_us"][0] <= best["ci_us"][1] or row["median_us"] - best["median_us"] <= noise
    }


def _segment_words(segment: Segment) -> str:
    first, last = (size_words(segment.rows[end]["bytes"]) for end in (0, -1))
    sizes = first if first == last else f"{first} to {last}"
    place = f"{sizes}: " if segment.rows[-1]["bytes"] else ""
    return f"{place}{segment.algorithm}{_times_words(segment)}"


def _times_words(segment: Segment) -> str:
    times = [row["vs_vendor"] for row in segment.rows if row["vs_vendor"] is not None]
    if segment.algorithm == VENDOR or not times:
        return ""
    low, high = f"{min(times):.2f}", f"{max(times):.2f}"
    return f" {low}x" if low == high else f" {low}x to {high}x"


def _extremes(title: str, rows: Sequence[Row], noise: float, mark: str) -> list[str]:
    """The cells in which the best of ours is furthest from the vendor, on one side."""
    keyed = groupby(rows, key=lambda row: (row["collective"], row["bytes"]))
    ours = ([row for row in same if row["algorithm"] != VENDOR] for _, same in keyed)
    best = [min(own, key=lambda row: float(row["median_us"])) for own in ours if own]
    told = [row for row in best if verdict(row, noise) == mark]
    told.sort(key=lambda row: float(row["vs_vendor"]), reverse=mark == FASTER)
    return [f"{title}: {'; '.join(map(_cell_words, told[:SHOWN]))}"] if told else []


def _cell_words(row: Row) -> str:
    low, high = row["vs_vendor_ci"]
    size = f" at {size_words(row['bytes'])}" if row["bytes"] else ""
    times = f"{row['vs_vendor']:.2f}x [{low:.2f}, {high:.2f}]"
    return f"{row['collective']}{size}, {row['algorithm']} {times}"
