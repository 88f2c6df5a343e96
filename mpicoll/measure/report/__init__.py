"""Reports: pure functions from a record to text, one module a format.

A format has ``header(record)``, ``section(record, rows)`` for the rows of one collective, and
``footer(record)``; each gives lines of text.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module
from itertools import groupby
from types import ModuleType
from typing import Any

from ...schedule import UnknownName


def formats() -> tuple[str, ...]:
    """The names of all formats, found by listing the folder."""
    return tuple(
        module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")
    )


def render(record: dict[str, Any], name: str) -> list[str]:
    """The whole report of a complete record."""
    out, rows = report_format(name), record["rows"]
    sections = groupby(rows, key=lambda row: str(row["collective"]))
    tables = [line for _, own in sections for line in out.section(record, list(own))]
    return [*out.header(record), *tables, *out.footer(record)]


def report_format(name: str) -> ModuleType:
    """The format of that name; raises ``UnknownName``, listing the choices."""
    if name not in formats():
        raise UnknownName("format", name, formats())
    return import_module(f".{name}", __name__)
