"""The table that the OSU micro-benchmarks print: size, microseconds, Pass or Fail."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from ..words import Row, call_words, title_lines


def header(record: dict[str, Any]) -> list[str]:
    """Where the run was taken."""
    return [*title_lines(record), call_words(record)]


def section(record: dict[str, Any], rows: Sequence[Row]) -> list[str]:
    """One table for each algorithm of one collective."""
    ordered = sorted(rows, key=lambda row: row["algorithm"])
    tables = groupby(ordered, key=lambda row: row["algorithm"])
    return [line for name, table in tables for line in _table(name, list(table))]


def footer(record: dict[str, Any]) -> list[str]:
    """Nothing: tools read this format to the end."""
    return []


def _table(name: str, rows: list[Row]) -> list[str]:
    collective = rows[0]["collective"].capitalize()
    return [
        "",
        f"# OSU-style MPI {collective} Latency Test, algorithm {name}",
        f"{'# Size':<10}{'Median Latency(us)':>20}{'Validation':>20}",
        *(f"{row['bytes']:<10}{_time(row):>20}{_validation(row):>20}" for row in rows),
    ]


def _time(row: Row) -> str:
    return "nan" if row["median_us"] is None else f"{row['median_us']:.2f}"


def _validation(row: Row) -> str:
    return "Fail" if row["wrong"] else "Pass"
