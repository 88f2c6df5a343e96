"""The words of a schedule: blocks, steps and rounds.

A *block* is a part of the vector that a collective works on, named by a number.  A *step* is one
thing that one rank does with some blocks.  A *round* is a list of steps that progress together;
it is over when all of them are.  The rounds of all ranks are aligned: both ends of a message stand
in the same round, so a rank that has nothing to do in a round yields an empty list.

Within a round every send reads what was there when the round began, messages land while the round
lasts, and what arrives for combining, then the local steps, take effect in listed order at its end.

Blocks live in *spaces*.  ``DATA`` is the user's vector; any other name is scratch of the rank.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import NamedTuple, TypeAlias

DATA = "data"
"""The space that holds the user's vector."""

AUX = "aux"
"""The customary name of a second space, for algorithms that need one."""

Blocks: TypeAlias = tuple[int, ...]


class Side(Enum):
    """Where a value stands relative to the one that it is combined with."""

    LEFT = "left"
    RIGHT = "right"


LEFT, RIGHT = Side.LEFT, Side.RIGHT


class Send(NamedTuple):
    """Send blocks to a peer, in one message."""

    peer: int
    blocks: Blocks
    space: str


class Recv(NamedTuple):
    """Receive blocks from a peer, in one message, in place of what was there."""

    peer: int
    blocks: Blocks
    space: str


class RecvReduce(NamedTuple):
    """Receive blocks from a peer and combine them into mine; ``side`` is where theirs stand."""

    peer: int
    blocks: Blocks
    space: str
    side: Side


class Copy(NamedTuple):
    """Copy blocks of this rank from one space to another."""

    blocks: Blocks
    source: str
    target: str


class Reduce(NamedTuple):
    """Combine blocks of one space of mine into another; ``side`` is where the source stands."""

    blocks: Blocks
    source: str
    target: str
    side: Side


Step: TypeAlias = Send | Recv | RecvReduce | Copy | Reduce
Round: TypeAlias = Sequence[Step]
Rounds: TypeAlias = Iterator[Round]


def _blocks(blocks: int | Iterable[int]) -> Blocks:
    return (blocks,) if isinstance(blocks, int) else tuple(blocks)


def send(peer: int, blocks: int | Iterable[int], space: str = DATA) -> Send:
    """Send one block or several to a peer."""
    return Send(peer, _blocks(blocks), space)


def recv(peer: int, blocks: int | Iterable[int], space: str = DATA) -> Recv:
    """Receive one block or several from a peer."""
    return Recv(peer, _blocks(blocks), space)


def recv_reduce(
    peer: int, blocks: int | Iterable[int], side: Side = LEFT, space: str = DATA
) -> RecvReduce:
    """Receive blocks from a peer and combine them, standing on ``side``, into mine."""
    return RecvReduce(peer, _blocks(blocks), space, side)


def copy(blocks: int | Iterable[int], source: str, target: str) -> Copy:
    """Copy blocks from one space to another."""
    return Copy(_blocks(blocks), source, target)


def reduce(
    blocks: int | Iterable[int], source: str, target: str = DATA, side: Side = LEFT
) -> Reduce:
    """Combine the source's blocks, standing on ``side``, into the target's."""
    return Reduce(_blocks(blocks), source, target, side)


def sides(mine: int, theirs: int) -> Side:
    """Where a peer's contribution stands beside mine, in rank order."""
    return LEFT if theirs < mine else RIGHT


def pair(source: int, target: int, size: int) -> int:
    """The number of the block that one rank owes another in an alltoall."""
    return source * size + target


def split(count: int, parts: int) -> list[int]:
    """Cut a count into parts that differ by at most one, the larger ones first."""
    quotient, rest = divmod(count, parts)
    return [quotient + 1] * rest + [quotient] * (parts - rest)


def largest_power_of_two(size: int) -> int:
    """The largest power of two that is not above the size."""
    return 1 << (size.bit_length() - 1)


def ceil_log2(size: int) -> int:
    """The number of rounds in which one rank can reach all others: q in the literature."""
    return (size - 1).bit_length()
