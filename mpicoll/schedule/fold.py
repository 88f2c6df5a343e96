"""Folding: how algorithms for a power of two of ranks serve any other number.

With P the largest power of two and ``rest = size - P``, the first ``2 * rest`` ranks pair up as
(0, 1), (2, 3), ...; one of each pair, the extra, hands its data to the other, sits out and gets its
result at the end.  What is left are P *virtual* ranks in the order of the real ones, so rank order
is kept (Rabenseifner 2004; Thakur, Rabenseifner and Gropp 2005).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .steps import (
    DATA,
    LEFT,
    RIGHT,
    Blocks,
    Rounds,
    Step,
    ceil_log2,
    largest_power_of_two,
    recv,
    recv_reduce,
    send,
    sides,
)
from .steps import reduce as combine


@dataclass(frozen=True)
class Fold:
    """The fold of ``size`` ranks; ``keep`` names a rank that must not sit out.

    A pair's lower rank stays, or ``keep`` where that is the upper.  ``target``: the number of
    virtual ranks where that is not P; at least half of the size.
    """

    size: int
    keep: int = 0
    target: int = 0

    @property
    def power(self) -> int:
        """P, the number of virtual ranks."""
        return self.target or largest_power_of_two(self.size)

    @property
    def rest(self) -> int:
        """The number of ranks that sit out."""
        return self.size - self.power

    def members(self, virtual: int) -> tuple[int, ...]:
        """The ranks behind a virtual rank, the one that stays first."""
        if virtual >= self.rest:
            return (virtual + self.rest,)
        lower, upper = 2 * virtual, 2 * virtual + 1
        return (upper, lower) if upper == self.keep else (lower, upper)

    def actual(self, virtual: int) -> int:
        """The rank that acts as this virtual rank."""
        return self.members(virtual)[0]

    def behind(self, rank: int) -> int:
        """The virtual rank that this rank acts as or is folded into."""
        return rank // 2 if rank < 2 * self.rest else rank - self.rest

    def acts(self, rank: int) -> bool:
        """Whether this rank stays in."""
        return self.actual(self.behind(rank)) == rank

    def partner(self, rank: int) -> int | None:
        """The other rank of the pair, or None where there is none."""
        return next((other for other in self.members(self.behind(rank)) if other != rank), None)

    def enter(self, rank: int, blocks: Blocks) -> Rounds:
        """The round in which each extra hands its blocks to its partner, where there are extras."""
        partner = self.partner(rank)
        if partner is not None and self.acts(rank):
            yield [recv_reduce(partner, blocks, sides(rank, partner))]
        elif self.rest:
            yield [] if partner is None else [send(partner, blocks)]

    def leave(self, rank: int, blocks: Blocks) -> Rounds:
        """The round in which each extra gets its blocks back, where there are extras."""
        partner = self.partner(rank)
        if partner is not None:
            yield [send(partner, blocks) if self.acts(rank) else recv(partner, blocks)]
        elif self.rest:
            yield []

    def half(self, virtual: int, level: int) -> range:
        """The blocks, of P, that a virtual rank still answers for after a level of ``halve``."""
        start, length = 0, self.power
        for bit in range(level + 1):
            length //= 2
            start += length * (virtual >> bit & 1)
        return range(start, start + length)


def halve(fold: Fold, rank: int) -> Rounds:
    """Vector halving, distance doubling over virtual ranks: a reduce-scatter of P blocks.

    Groups that combine are neighbours, so rank order is kept, and at a power of two the bits are
    those of recursive doubling.
    """
    me = fold.behind(rank)
    for level in range(ceil_log2(fold.power)):
        peer = me ^ (1 << level)
        there = fold.actual(peer)
        yield [
            send(there, fold.half(peer, level)),
            recv_reduce(there, fold.half(me, level), sides(me, peer)),
        ]


def double(fold: Fold, rank: int) -> Rounds:
    """The mirror image of ``halve``: an allgather of what it left behind."""
    me = fold.behind(rank)
    for level in reversed(range(ceil_log2(fold.power))):
        peer = me ^ (1 << level)
        there = fold.actual(peer)
        yield [send(there, fold.half(me, level)), recv(there, fold.half(peer, level))]


def combine_spaces(block: int, spaces: Sequence[str]) -> list[Step]:
    """Combine what has come from all ranks, a space each, into ``DATA``, which is one of them.

    The pairs of the fold first, then neighbours: the canonical tree.
    """
    fold, steps = Fold(len(spaces)), list[Step]()
    level = [[spaces[rank] for rank in fold.members(virtual)] for virtual in range(fold.power)]
    while level:
        for lower, upper in (pair for pair in level if len(pair) == 2):
            last = (lower, upper, LEFT) if upper == DATA else (upper, lower, RIGHT)
            steps.append(combine(block, *last))
        held = [DATA if DATA in pair else pair[0] for pair in level]
        level = [held[i : i + 2] for i in range(0, len(held), 2)] if len(held) > 1 else []
    return steps
