"""Reports: pure functions from a record to text, one module a format.

A format has ``header(record)``, ``section(record, rows)`` for the rows of one collective, and
``footer(record)``; each gives lines of text.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module
from types import ModuleType

from ...schedule import UnknownName


def formats() -> tuple[str, ...]:
    """The names of all formats, found by listing the folder."""
    return tuple(
        module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")
    )


def report_format(name: str) -> ModuleType:
    """The format of that name; raises ``UnknownName``, listing the choices."""
    if name not in formats():
        raise UnknownName("format", name, formats())
    return import_module(f".{name}", __name__)
