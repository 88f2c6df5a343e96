"""The table that nccl-tests prints, with the algorithm and how it stands beside the vendor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..cases import can_be_in_place
from ..statistics import CONFIDENCE
from ..summary import summary_lines
from ..words import Row, algorithm_words, call_words, noise_us, not_run, title_lines, verdict

_LAYOUT = "{:>11} {:>11} {:>10} {:>6} {:>5}  {:<{width}} {:>9} {:>7} {:>7} {:>6}  {}"
_NAMES = ("size", "count", "type", "redop", "root", "algorithm", "time", "algbw", "busbw", "#wrong")
_WIDTH = 19
_UNITS = ("(B)", "(elements)", "", "", "", "", "(us)", "(GB/s)", "(GB/s)", "")


def header(record: dict[str, Any]) -> list[str]:
    """Where the run was taken, and what the columns mean."""
    return [
        *title_lines(record),
        call_words(record),
        "# time: median over repetitions of the slowest rank's; vs vendor: the vendor's time / own",
        f"# with its {CONFIDENCE:.0%} interval: + we are faster, - slower, "
        f"= the same, or within {noise_us(record):.2f} us",
    ]


def section(record: dict[str, Any], rows: Sequence[Row]) -> list[str]:
    """The table of one collective."""
    place = "in-place" if rows[0]["in_place"] else "out-of-place"
    place = f", {place}" if can_be_in_place(rows[0]["collective"]) else ""
    width = max(_WIDTH, *(len(algorithm_words(row)) for row in rows))
    return [
        "#",
        f"# {rows[0]['collective']}{place}",
        *not_run(record, rows[0]["collective"]),
        _comment(_NAMES, "vs vendor", width),
        _comment(_UNITS, "", width),
        *(_line(row, noise_us(record), width) for row in rows),
    ]


def footer(record: dict[str, Any]) -> list[str]:
    """What to make of it, and how many elements were wrong."""
    wrong = sum(row["wrong"] for row in record["rows"])
    return ["#", *(f"# {line}".rstrip() for line in summary_lines(record)), f"# Wrong: {wrong}"]


def _comment(names: Sequence[str], last: str, width: int) -> str:
    return ("#" + _LAYOUT.format(*names, last, width=width)[1:]).rstrip()


def _line(row: Row, noise: float, width: int) -> str:
    return _LAYOUT.format(
        row["bytes"], row["count"], row["dtype"] or "none", row["op"] or "none",
        -1 if row["root"] is None else row["root"], algorithm_words(row),
        _number(row["median_us"]), _number(row["algbw_gbs"]), _number(row["busbw_gbs"]),
        row["wrong"], _beside(row, noise), width=width,
    ).rstrip()  # fmt: skip


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _beside(row: Row, noise: float) -> str:
    if row["wrong"]:
        return "WRONG"
    mark = verdict(row, noise)
    if not mark:
        return ""
    low, high = row["vs_vendor_ci"]
    return f"{row['vs_vendor']:5.2f}x [{low:.2f}, {high:.2f}] {mark}"
