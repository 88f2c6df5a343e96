"""Allgather and allgatherv: every rank gets every rank's block."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from ..catalogue import algorithm
from ..circulant import skips
from ..steps import Rounds, ceil_log2, recv, send
from . import bcast, gather


@algorithm(rounds="p - 1", volume="(p - 1) / p")
def ring(rank: int, size: int, shift: int = 0) -> Rounds:
    """Each rank passes on to the right what came from the left, its own block first.

    Cost: (p-1)(alpha + n beta / p), the fewest bytes.  Best for long blocks.
    ``shift``: rank r starts with block r + shift.
    Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005.
    """
    left, right = (rank - 1) % size, (rank + 1) % size
    for k in range(size - 1):
        newest = rank + shift - k
        yield [send(right, newest % size), recv(left, (newest - 1) % size)]


@algorithm(rounds="p // 2", volume="(p - 1) / p", even=True)
def neighbor_exchange(rank: int, size: int) -> Rounds:
    """Neighbours exchange the newest two blocks, left and right in turn.

    Cost: p/2 alpha + (p-1)/p n beta: half the ring's messages.  Best for middling blocks.
    Source: Chen, Zhang, Zhang, Yuan, HPC Asia 2005.
    """
    mine, direction = rank // 2, -1 if rank % 2 else 1
    yield [send(rank + direction, rank), recv(rank + direction, rank + direction)]
    for k in range(1, size // 2):
        step = direction if k % 2 == 0 else -direction
        peer = (rank + step) % size
        yield [
            send(peer, _pair_got(mine, direction, k - 1, size)),
            recv(peer, _pair_got(peer // 2, -direction, k - 1, size)),
        ]


def _pair_got(home: int, direction: int, k: int, size: int) -> tuple[int, int]:
    """The pair of blocks that a rank of the pair ``home`` got in round k."""
    away = -direction * (k + 1) // 2 if k % 2 else direction * k // 2
    first = 2 * (home + away) % size
    return first, first + 1


@algorithm(rounds="q", volume="(p - 1) / p", power_of_two=True)
def recursive_doubling(rank: int, size: int) -> Rounds:
    """Ranks exchange all that they have, at twice the distance each round.

    Cost: q alpha + (p-1)/p n beta, the lower bound of both.  Best wherever it may run.
    Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005.
    """
    for level in range(ceil_log2(size)):
        distance = 1 << level
        peer = rank ^ distance
        mine, theirs = rank & -distance, peer & -distance
        yield [
            send(peer, range(mine, mine + distance)),
            recv(peer, range(theirs, theirs + distance)),
        ]


@algorithm(rounds="q", volume="(p - 1) / p")
def bruck(rank: int, size: int) -> Rounds:
    """Ranks pass all that they have downwards, at twice the distance each round.

    Cost: q alpha + (p-1)/p n beta, at any number of ranks.  Blocks go by index, so there is no
    final rotation.  Best for short blocks.  Source: Bruck et al., IEEE TPDS 8(11), 1997.
    """
    yield from _downwards(rank, size, [*(1 << level for level in range(ceil_log2(size))), size])


@algorithm(rounds="q", volume="(p - 1) / p")
def circulant(rank: int, size: int) -> Rounds:
    """The circulant reduce-scatter run backwards, with copies in place of reductions.

    Cost: q alpha + (p-1)/p n beta, at any number of ranks.
    Best for short and middling blocks, each in one run or two.  Source: Träff, arXiv 2410.14234.
    """
    yield from _downwards(rank, size, skips(size))


def _downwards(rank: int, size: int, held: Sequence[int]) -> Rounds:
    """Pass blocks on from upper to lower ranks; ``held``: how many a rank has before each round."""
    for distance, after in itertools.pairwise(held):
        lower, upper = (rank - distance) % size, (rank + distance) % size
        run = range(after - distance)
        yield [
            send(lower, ((rank + i) % size for i in run)),
            recv(upper, ((upper + i) % size for i in run)),
        ]


@algorithm(rounds="2 * q", volume="(p - 1) / p + q")
def gather_bcast(rank: int, size: int) -> Rounds:
    """Gather, then broadcast.

    Cost: 2 q alpha + ((p-1)/p + q) n beta.  The baseline: no other should be slower.
    """
    yield from gather.binomial(rank, size, 0)
    yield from bcast.binomial(rank, size, 0, size)
