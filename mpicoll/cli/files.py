"""Files that a command writes: looked at before it measures, by rank 0 alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

import click

if TYPE_CHECKING:
    from mpi4py import MPI

T = TypeVar("T")


def require_new(path: Path | None) -> None:
    """Raise ``click.UsageError`` where a file is there already, or no folder for it."""
    if path is not None and path.exists():
        raise click.UsageError(f"{path} is there already and is not overwritten; name another")
    require_folder(path)


def require_folder(path: Path | None) -> None:
    """Raise ``click.UsageError`` where there is no folder for a file."""
    if path is not None and not path.parent.is_dir():
        raise click.UsageError(f"{path}: there is no directory {path.parent}; make it first")


def agree(world: MPI.Intracomm, look: Callable[[], T]) -> T:
    """Let rank 0 alone look at what only it will touch; what it finds or raises, all ranks do."""
    found: tuple[T | None, click.ClickException | None] = None, None
    if world.Get_rank() == 0:
        try:
            found = look(), None
        except click.ClickException as error:
            found = None, error
    value, problem = world.bcast(found)
    if problem is not None:
        raise problem
    return cast(T, value)
