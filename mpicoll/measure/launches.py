"""Several launches of one run as one record: a launch is a factor of its own.

Within a launch repetitions share what the launch happened to get (pages, places, ports), so what
is compared is the launches' medians.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..schedule import VENDOR
from .record import bandwidths
from .statistics import Summary, rank_test, summarize
from .words import Row, noise_us

Record = dict[str, Any]


def merge(records: Sequence[Record]) -> Record:
    """One record from those of several launches of the same run; its floor is the highest.

    In its rows the median is that of the launches' medians, with its interval over launches;
    ``launch_medians_us`` has them all and ``p`` is the chance, by the rank-sum test, that they
    differ as much from the vendor's where there is no difference.
    Raises ``ValueError`` where the records are not of the same cells.
    """
    cells = [[_key(row) for row in record["rows"]] for record in records]
    if any(own != cells[0] for own in cells):
        raise ValueError("launches of one run have the same collectives, sizes and algorithms")
    columns = list(zip(*(record["rows"] for record in records), strict=True))
    vendors = {_cell(rows[0]): rows for rows in columns if rows[0]["algorithm"] == VENDOR}
    size = records[0]["ranks"]
    rows = [_merged(rows, vendors.get(_cell(rows[0])), size) for rows in columns]
    return {**records[0], "environment": _environment(records), "rows": rows}


def _key(row: Row) -> tuple[Any, ...]:
    return (*_cell(row), row["algorithm"])


def _cell(row: Row) -> tuple[Any, ...]:
    return row["collective"], row["bytes"], row["dtype"], row["op"], row["root"], row["in_place"]


def _environment(records: Sequence[Record]) -> Record:
    first = records[0]["environment"]
    floor = max(records, key=noise_us)["environment"]["floor"]
    return {**first, "floor": floor, "method": {**first["method"], "launches": len(records)}}


def _merged(rows: Sequence[Row], vendor: Sequence[Row] | None, size: int) -> Row:
    merged = dict(rows[0])
    merged["samples_us"] = [sample for row in rows for sample in row["samples_us"]]
    merged["wrong"] = sum(row["wrong"] for row in rows)
    medians = _medians(rows)
    merged["launch_medians_us"] = medians
    if len(medians) == len(rows):
        merged |= _times(rows, summarize(medians), size) | _beside(rows, vendor)
    return merged


def _medians(rows: Sequence[Row]) -> list[float]:
    return [row["median_us"] for row in rows if row["median_us"] is not None]


def _times(rows: Sequence[Row], over: Summary, size: int) -> Row:
    return {
        "median_us": over.median,
        "ci_us": [over.low, over.high],
        "min_us": min(row["min_us"] for row in rows),
        "max_us": max(row["max_us"] for row in rows),
        **bandwidths(rows[0]["collective"], rows[0]["bytes"], size, over.median),
    }


def _beside(rows: Sequence[Row], vendor: Sequence[Row] | None) -> Row:
    if vendor is None or len(_medians(vendor)) < len(rows):
        return {"vs_vendor": None, "vs_vendor_ci": None, "p": None}
    pairs = zip(_medians(vendor), _medians(rows), strict=True)
    ratios = summarize([theirs / own for theirs, own in pairs])
    return {
        "vs_vendor": ratios.median,
        "vs_vendor_ci": [ratios.low, ratios.high],
        "p": rank_test(_medians(rows), _medians(vendor)),
    }
