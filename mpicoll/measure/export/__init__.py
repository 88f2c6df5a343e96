"""Exports: the winners of a tuning as a file by which an MPI library chooses, one module a library.

A module has ``OPTIONS``, how the library is told of the file, and ``export(tuning)``, which gives
the text and notes in words on what the library lacks.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module
from types import ModuleType

from ...schedule import UnknownName


def libraries() -> tuple[str, ...]:
    """The names of all libraries, found by listing the folder."""
    return tuple(one.name for one in pkgutil.iter_modules(__path__) if not one.name.startswith("_"))


def exporter(name: str) -> ModuleType:
    """The module of a library; raises ``UnknownName``, listing the choices."""
    if name not in libraries():
        raise UnknownName("library", name, libraries())
    return import_module(f".{name}", __name__)
