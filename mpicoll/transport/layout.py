"""Where a collective's blocks lie in the user's two vectors, and how large each block is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from ..schedule.contract import Contract, Cut
from ..schedule.steps import split
from .program import Memory, Span

Slots: TypeAlias = tuple[tuple[int, int], ...]
"""(start, count) in elements: one for a whole vector, or one a rank."""


@dataclass(frozen=True)
class Layout:
    """Spans of the blocks that a rank starts and ends with, and the size of every known block."""

    start: Mapping[int, Span]
    end: Mapping[int, Span]
    sizes: Mapping[int, int]


@dataclass(frozen=True)
class Place:
    """One side of a call on this rank: its slots, and which memory they lie in."""

    slots: Slots
    memory: Memory

    def span(self, index: int) -> Span:
        """The slot of a rank; a vector's only slot serves every rank."""
        start, count = self.slots[index if len(self.slots) > 1 else 0]
        return Span(self.memory, start, count)

    def part(self, start: int, count: int) -> Place:
        """A stretch of a vector."""
        return Place(((self.slots[0][0] + start, count),), self.memory)


def layout(
    contract: Contract,
    rank: int,
    size: int,
    root: int,
    blocks: int,
    send: Place | None,
    recv: Place | None,
    sizes: Mapping[int, int] | None = None,
    granule: int = 1,
) -> Layout:
    """Lay a contract out over the user's memory.

    ``sizes``: of blocks that this rank neither starts nor ends with; a vector is cut evenly, in
    multiples of ``granule``.
    """
    starting = contract.start(rank, size, root, blocks)
    ending = contract.end(rank, size, root, blocks)
    if contract.cut is Cut.VECTOR:
        whole = send or recv
        count = whole.slots[0][1] if whole else 0
        sizes = dict(enumerate(part * granule for part in split(count // granule, blocks)))
        start = _cut(starting, send, sizes)
        end = _cut(ending, recv, sizes)
    else:
        start = {b: send.span(_index(contract, b, rank, size)) for b in starting} if send else {}
        end = {b: recv.span(_index(contract, b, rank, size)) for b in ending} if recv else {}
    known = {block: span.length for block, span in [*start.items(), *end.items()]}
    return Layout(start, end, {**(sizes or {}), **known})


def _index(contract: Contract, block: int, rank: int, size: int) -> int:
    """The slot of a block: the rank that it belongs to, or the other rank of its pair."""
    if contract.cut is Cut.RANK:
        return block
    source, target = divmod(block, size)
    return target if source == rank else source


def _cut(blocks: Iterable[int], place: Place | None, sizes: Mapping[int, int]) -> dict[int, Span]:
    """The spans of a vector's blocks, side by side."""
    if place is None:
        return {}
    begin = place.slots[0][0]
    starts = {}
    for block, count in sizes.items():
        starts[block] = Span(place.memory, begin, count)
        begin += count
    return {block: starts[block] for block in blocks}
