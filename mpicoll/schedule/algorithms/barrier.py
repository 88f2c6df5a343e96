"""Barrier: no rank leaves before every rank has come; its messages carry no bytes."""

from __future__ import annotations

from ..catalogue import algorithm
from ..steps import Rounds, ceil_log2, recv_reduce, send
from . import bcast, reduce


@algorithm(rounds="q", volume="0")
def dissemination(rank: int, size: int) -> Rounds:
    """Each rank tells one further up, at twice the distance each round.

    Cost: q alpha, the lower bound.  Best on any number of ranks.
    Source: Hensgen, Finkel, Manber, IJPP 17(1), 1988.
    """
    for level in range(ceil_log2(size)):
        distance = 1 << level
        yield [send((rank + distance) % size, 0), recv_reduce((rank - distance) % size, 0)]


@algorithm(rounds="2", startups="2 * (p - 1)", volume="0")
def linear(rank: int, size: int) -> Rounds:
    """All tell rank 0, which tells all.

    Cost: 2(p-1) alpha.  The baseline.
    """
    if rank == 0:
        yield [recv_reduce(peer, 0) for peer in range(1, size)]
    else:
        yield [send(0, 0)]
    yield from bcast.linear(rank, size, 0)


@algorithm(rounds="2 * q", volume="0")
def tree(rank: int, size: int) -> Rounds:
    """A reduce and a broadcast of nothing, on a binomial tree.

    Cost: 2 q alpha, in 2(p-1) messages.  Best where a network is easily crowded.
    """
    yield from reduce.binomial(rank, size, 0)
    yield from bcast.binomial(rank, size, 0)
