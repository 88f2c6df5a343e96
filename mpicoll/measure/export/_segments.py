"""The winners of a collective as runs of sizes, in algorithms that an MPI library has too."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from ...communicator.tuning import Winner
from ...schedule import VENDOR, Algorithm, find
from ..words import size_words

Theirs = TypeVar("Theirs")

Make = Callable[[Algorithm, int, int], Theirs | None]
"""An algorithm of ours, ranks, a size in bytes -> the library's own; None where it has none."""


@dataclass(frozen=True)
class Segment(Generic[Theirs]):
    """The sizes above ``above`` and up to ``up_to`` bytes, and the library's algorithm for them.

    ``theirs`` is None where the library is left to choose by itself.
    """

    above: int
    up_to: int
    theirs: Theirs | None


def segments(
    collective: str, rows: Sequence[Winner], ranks: int, makes: Mapping[str, Make[Theirs]]
) -> tuple[list[Segment[Theirs]], list[str]]:
    """The runs of sizes of a collective, and in words where the winner gave way to another.

    ``makes``: by our algorithm's name without options, what makes the library's of it.
    Where the library lacks the winner, the best that was measured of those it has takes its place;
    where the winner is the library's own choice, or it has nothing that was measured, it chooses.
    """
    found: list[Segment[Theirs]] = []
    notes = []
    for above, row in zip([-1, *(row.up_to for row in rows)], rows, strict=False):
        name, theirs = _translated(collective, row, ranks, makes)
        if name != row.use:
            notes.append(f"{collective} up to {size_words(row.up_to)}: {_note(row.use, name)}")
        if found and found[-1].theirs == theirs:
            found[-1] = replace(found[-1], up_to=row.up_to)
        else:
            found.append(Segment(above, row.up_to, theirs))
    return found, notes


def _translated(
    collective: str, row: Winner, ranks: int, makes: Mapping[str, Make[Theirs]]
) -> tuple[str, Theirs | None]:
    """Our name of what takes the row, ``vendor`` for the library's choice, and the library's."""
    by_time = sorted((name for name in row.times if name != VENDOR), key=row.times.__getitem__)
    for name in [row.use, *by_time]:
        if name == VENDOR:
            break
        entry = find(collective, name)
        make = makes.get(entry.base)
        theirs = make(entry, ranks, row.up_to) if make else None
        if theirs is not None:
            return name, theirs
    return VENDOR, None


def _note(winner: str, name: str) -> str:
    if name == VENDOR:
        return f"{winner} won, and nothing like it is there; the library chooses"
    return f"{winner} won, which is not there; {name} is the best that is"
