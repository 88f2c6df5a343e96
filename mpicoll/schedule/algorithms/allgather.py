"""Allgather and allgatherv: every rank gets every rank's block."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial

from ..catalogue import algorithm
from ..circulant import skips
from ..radix import powers
from ..steps import Rounds, Step, ceil_log2, recv, send
from ..teams import among, leaders, node_teams
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


@algorithm(
    rounds="ceil_log(p, radix)",
    startups="hops(p, radix)",
    volume="(p - 1) / p",
    options={"radix": "2"},
)
def bruck(rank: int, size: int, radix: int) -> Rounds:
    """Ranks pass all that they have to radix - 1 others below, at radix times the distance.

    Cost: q alpha + (p-1)/p n beta, at any number of ranks; with radix k, (k-1) log_k(p) alpha in
    log_k(p) rounds.  Blocks go by index, so there is no final rotation.  Best for short blocks.
    Source: Bruck et al., IEEE TPDS 8(11), 1997.
    """
    for held in powers(size, radix):
        steps: list[Step] = []
        for distance in range(held, min(radix * held, size), held):
            steps += _downwards(rank, size, distance, min(held, size - distance))
        yield steps


@algorithm(rounds="q", volume="(p - 1) / p")
def circulant(rank: int, size: int) -> Rounds:
    """The circulant reduce-scatter run backwards, with copies in place of reductions.

    Cost: q alpha + (p-1)/p n beta, at any number of ranks.
    Best for short and middling blocks, each in one run or two.  Source: Träff, arXiv 2410.14234.
    """
    for held, after in itertools.pairwise(skips(size)):
        yield _downwards(rank, size, held, after - held)


def _downwards(rank: int, size: int, distance: int, count: int) -> list[Step]:
    """Pass the first ``count`` blocks of mine on to a lower rank, and get those of an upper one."""
    lower, upper = (rank - distance) % size, (rank + distance) % size
    return [
        send(lower, ((rank + i) % size for i in range(count))),
        recv(upper, ((upper + i) % size for i in range(count))),
    ]


@algorithm(rounds="2 * q", volume="(p - 1) / p + q")
def gather_bcast(rank: int, size: int) -> Rounds:
    """Gather, then broadcast.

    Cost: 2 q alpha + ((p-1)/p + q) n beta.  The baseline: no other should be slower.
    """
    yield from gather.binomial(rank, size, 0)
    yield from bcast.binomial(rank, size, 0, size)


@algorithm(
    rounds="ceil_log(N) + 2 * ceil_log(m)",
    volume="(m - 1 + m * (N - 1)) / p + ceil_log(m)",
    local=("2 * ceil_log(m)", "(m - 1) / p + ceil_log(m)", "0"),
)
def hierarchical(rank: int, size: int, nodes: Sequence[int]) -> Rounds:
    """Gather inside each node, circulant allgather between nodes, broadcast inside each node.

    Cost between N nodes: ceil(log2 N) alpha + (N-1)/N n beta.  Best for short and middling blocks
    where links between nodes are slower than memory.
    Source: Karonis et al., IPDPS 2000.
    """
    teams = node_teams(nodes)
    everything = [tuple(range(size))]
    yield from among(rank, teams, partial(gather.binomial, root=0), lambda team: [*zip(team)])
    yield from among(rank, leaders(teams), circulant, lambda team: [*map(tuple, teams)])
    yield from among(rank, teams, partial(bcast.binomial, root=0), lambda team: everything)
