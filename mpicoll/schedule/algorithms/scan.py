"""Scan: rank r gets the combination of the vectors of ranks 0 to r."""

from __future__ import annotations

from ..catalogue import algorithm
from ..steps import (
    AUX,
    DATA,
    LEFT,
    Round,
    Rounds,
    Step,
    ceil_log2,
    copy,
    recv,
    recv_reduce,
    send,
    sides,
)
from ..steps import reduce as combine

THEIRS = "theirs"
"""The space in which another group's total arrives."""


@algorithm(rounds="p - 1", volume="p - 1", reduced="p - 1", rank=("1", "1", "1"))
def linear(rank: int, size: int) -> Rounds:
    """Each rank adds its own to what came from below and passes it up.

    Cost: (p-1)(alpha + n beta + n gamma).  Best for very few ranks.
    """
    for sender in range(size - 1):
        arrives: Round = [recv_reduce(rank - 1, 0, LEFT)] if rank == sender + 1 else []
        yield [send(rank + 1, 0)] if rank == sender else arrives


@algorithm(rounds="q", volume="q", reduced="q")
def hillis_steele(rank: int, size: int) -> Rounds:
    """Each rank sends all that it has upwards, at twice the distance each round.

    Cost: q (alpha + n beta + n gamma), with one vector of scratch.  Best in general.
    Source: Hillis and Steele, CACM 29(12), 1986.
    """
    for level in range(ceil_log2(size)):
        yield upwards(rank, size, 1 << level, first=0)


def upwards(rank: int, size: int, distance: int, first: int) -> Round:
    """Send my vector ``distance`` up, combine the one from below, among ranks from ``first`` on."""
    sends: list[Step] = [send(rank + distance, 0)] if first <= rank < size - distance else []
    return sends + ([recv_reduce(rank - distance, 0, LEFT)] if rank - distance >= first else [])


@algorithm(rounds="q", volume="q", reduced="q + sum(3 * 2**i < p for i in range(q))", canonical="1")
def recursive_doubling(rank: int, size: int) -> Rounds:
    """Neighbouring groups exchange their totals; the upper one's ranks take them into account.

    Cost: q (alpha + n beta) + 2 q n gamma, with two vectors of scratch.  Its bits are those of the
    canonical tree.  Best where results must not depend on the algorithm.
    Source: Grama, Gupta, Karypis, Kumar, Introduction to Parallel Computing, 2003, section 4.3.
    """
    yield [copy(0, DATA, AUX)]
    for level in range(ceil_log2(size)):
        yield [*group_totals(rank, size, level), *add_lower_total(rank, size, level)]


def add_lower_total(rank: int, size: int, level: int) -> Round:
    """Combine a lower group's total into my own prefix."""
    peer = rank ^ (1 << level)
    return [combine(0, THEIRS, DATA, LEFT)] if peer < min(rank, size) else []


def group_totals(rank: int, size: int, level: int, theirs: str = THEIRS) -> Round:
    """Exchange the totals of two groups, each rank's in ``AUX``, where somebody needs them.

    ``theirs`` is the space in which the other group's arrives.
    """
    peer = rank ^ (1 << level)
    if peer >= size:
        return []
    needed = _passes_on(rank, size, level)
    steps: list[Step] = []
    if peer > rank or _passes_on(peer, size, level):
        steps += [send(peer, 0, AUX)]
    if peer < rank or needed:
        steps += [recv(peer, 0, theirs)]
    if needed:
        steps += [combine(0, theirs, AUX, sides(rank, peer))]
    return steps


def _passes_on(rank: int, size: int, level: int) -> bool:
    """Whether a rank's total is needed after this level, by itself or by another."""
    later = ((above, rank ^ (1 << above)) for above in range(level + 1, ceil_log2(size)))
    return any(
        peer < size and (peer > rank or _passes_on(peer, size, above)) for above, peer in later
    )
