"""Reduce_scatter and reduce_scatter_block: each rank gets its block of the combination."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from ..catalogue import algorithm
from ..circulant import skips
from ..fold import Fold, combine_spaces
from ..steps import DATA, LEFT, Round, Rounds, ceil_log2, recv, recv_reduce, send, sides
from . import reduce, scatter


@algorithm(rounds="p - 1", volume="(p - 1) / p", reduced="(p - 1) / p", commutes=True)
def ring(rank: int, size: int, shift: int = 0) -> Rounds:
    """Each rank adds its own to the partial block from the left and passes it to the right.

    Cost: (p-1)(alpha + n/p (beta + gamma)), the fewest bytes.  Best for long vectors.
    ``shift``: rank r ends with block r + shift.
    Source: Patarasuk and Yuan, JPDC 69(2), 2009.
    """
    left, right = (rank - 1) % size, (rank + 1) % size
    for k in range(size - 1):
        leaving = rank + shift - 1 - k
        yield [send(right, leaving % size), recv_reduce(left, (leaving - 1) % size, LEFT)]


@algorithm(rounds="p - 1", volume="(p - 1) / p", reduced="(p - 1) / p", commutes=True)
def pairwise(rank: int, size: int) -> Rounds:
    """Each rank sends every other its block, a distance a round, and adds what it gets.

    Cost: (p-1)(alpha + n/p (beta + gamma)).  No rank waits for another's result, so it stands
    delays better than the ring.  Best for long vectors on ranks that run unevenly.
    Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005.
    """
    for distance in range(1, size):
        target, source = (rank + distance) % size, (rank - distance) % size
        yield [send(target, target), recv_reduce(source, rank, LEFT)]


_FOLDED = "(P - 1 + sum(min(p - P, 2**i) for i in range(Q))) / p + (p != P) * {}"
_STRIDED = "sum(P // 2**i + -(-(p - P) // 2**i) for i in range(1, Q + 1)) / p + (p != P) * {}"


@algorithm(
    rounds="Q + 2 * (p != P)",
    volume=_FOLDED.format("(1 + 1 / p)"),
    reduced=_FOLDED.format("1"),
    commutes=True,
)
def recursive_halving(rank: int, size: int) -> Rounds:
    """Ranks exchange the half that the other side answers for, at half the distance each round.

    Cost: q alpha + (p-1)/p n (beta + gamma) at a power of two; elsewhere the ranks beyond fold in
    and out, for two rounds and up to 2n more bytes.  Best for short and middling vectors.
    Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005.
    """
    fold = Fold(size)
    me, distance = fold.behind(rank), fold.power // 2
    yield from fold.enter(rank, tuple(range(size)))
    while distance:
        peer = me ^ distance
        mine, theirs = me & -distance, peer & -distance
        yield _trade(
            fold, rank, peer, range(mine, mine + distance), range(theirs, theirs + distance)
        )
        distance //= 2
    yield _deliver(fold, rank)


@algorithm(
    rounds="Q + 2 * (p != P)",
    volume=_STRIDED.format("(1 + 1 / p)"),
    reduced=_STRIDED.format("1"),
    canonical="1",
)
def recursive_doubling(rank: int, size: int) -> Rounds:
    """Neighbouring groups exchange what the other still answers for, at twice the distance.

    Cost: as recursive halving, for any operator: groups that combine are neighbours, so rank order
    is kept, at the price of blocks that do not lie side by side.  Best where the operator does not
    commute.
    Source: Träff, EuroPVM/MPI 2005, LNCS 3666.
    """
    fold = Fold(size)
    me = fold.behind(rank)
    yield from fold.enter(rank, tuple(range(size)))
    for level in range(ceil_log2(fold.power)):
        distance = 1 << level
        peer = me ^ distance
        mine = range(me % (2 * distance), fold.power, 2 * distance)
        theirs = range(peer % (2 * distance), fold.power, 2 * distance)
        yield _trade(fold, rank, peer, mine, theirs)
    yield _deliver(fold, rank)


def _trade(fold: Fold, rank: int, peer: int, mine: Iterable[int], theirs: Iterable[int]) -> Round:
    """Send the blocks that virtual ranks ``theirs`` answer for, combine those of ``mine``."""
    if not fold.acts(rank):
        return []
    there = fold.actual(peer)
    return [
        send(there, (block for virtual in theirs for block in fold.members(virtual))),
        recv_reduce(
            there,
            (block for virtual in mine for block in fold.members(virtual)),
            sides(fold.behind(rank), peer),
        ),
    ]


def _deliver(fold: Fold, rank: int) -> Round:
    """Hand each rank that sat out its own block."""
    partner = fold.partner(rank)
    if partner is None:
        return []
    return [send(partner, partner)] if fold.acts(rank) else [recv(partner, rank)]


@algorithm(rounds="q", volume="(p - 1) / p", reduced="(p - 1) / p", commutes=True)
def circulant(rank: int, size: int) -> Rounds:
    """Each rank hands the upper half of its partial blocks to a rank that far to the right.

    Cost: q alpha + (p-1)/p n (beta + gamma), the lower bound of both, at any number of ranks.
    Best wherever the operator commutes and p is no power of two.
    Source: Träff, arXiv 2410.14234.
    """
    for held, left_over in itertools.pairwise(reversed(skips(size))):
        source, target = (rank - left_over) % size, (rank + left_over) % size
        yield [
            send(target, ((rank + i) % size for i in range(left_over, held))),
            recv_reduce(source, ((rank + i) % size for i in range(held - left_over)), LEFT),
        ]


@algorithm(rounds="1", startups="p - 1", volume="(p - 1) / p", reduced="(p - 1) / p", canonical="1")
def alltoall_reduce(rank: int, size: int) -> Rounds:
    """Each rank sends every other its block at once, then combines what it got in a tree.

    Cost: (p-1) alpha + (p-1)/p n (beta + gamma), with p-1 blocks of scratch.  Keeps rank order, and
    its bits are those of the canonical tree.  Best for long vectors where the operator does not
    commute or the bits must not depend on the algorithm, and p is no power of two.
    """
    spaces = [DATA if peer == rank else f"from_{peer}" for peer in range(size)]
    targets = [(rank + distance) % size for distance in range(1, size)]
    yield [
        *(send(peer, peer) for peer in targets),
        *(recv(peer, rank, spaces[peer]) for peer in reversed(targets)),
        *combine_spaces(rank, spaces),
    ]


@algorithm(rounds="2 * q", volume="q + (p - 1) / p", reduced="q", canonical="p == P")
def reduce_scatterv(rank: int, size: int) -> Rounds:
    """Reduce to rank 0, then scatter.

    Cost: 2 q alpha + (q + (p-1)/p) n beta + q n gamma.  Keeps rank order.  The baseline.
    """
    yield from reduce.binomial(rank, size, 0, size)
    yield from scatter.binomial(rank, size, 0)
