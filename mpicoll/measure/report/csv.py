"""One row a cell, for spreadsheets and data frames."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

from ..words import Row

_LEFT_OUT = ("samples_us", "ci_us", "vs_vendor_ci")


def header(record: dict[str, Any]) -> list[str]:
    """Nothing: the first section names the columns."""
    return []


def section(record: dict[str, Any], rows: Sequence[Row]) -> list[str]:
    """The rows of one collective, under the names of the columns where they are the first."""
    first = record["rows"][0]["collective"] == rows[0]["collective"]
    flat = [_flat(row) for row in rows]
    return [*([_join(flat[0])] if first else []), *(_join(row.values()) for row in flat)]


def footer(record: dict[str, Any]) -> list[str]:
    """Nothing: every line is a row."""
    return []


def _flat(row: Row) -> Row:
    intervals = {
        f"{name}_{end}": row[name] and row[name][index]
        for name in ("ci_us", "vs_vendor_ci")
        for index, end in enumerate(("low", "high"))
    }
    return {name: value for name, value in row.items() if name not in _LEFT_OUT} | intervals


def _join(values: Iterable[Any]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(values)
    return text.getvalue()
