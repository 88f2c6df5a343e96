"""Barrier: no rank leaves before every rank has come; its messages carry no bytes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ..catalogue import algorithm
from ..radix import powers
from ..steps import Blocks, Rounds, recv_reduce, send
from ..teams import Team, among, leaders, node_teams
from . import bcast, reduce


@algorithm(
    rounds="ceil_log(p, radix)",
    startups="hops(p, radix)",
    volume="0",
    options={"radix": "2"},
)
def dissemination(rank: int, size: int, radix: int = 2) -> Rounds:
    """Each rank tells radix - 1 others further up, at radix times the distance each round.

    Cost: q alpha, the lower bound; with radix k, (k-1) log_k(p) alpha in log_k(p) rounds.  Best on
    any number of ranks.  Source: Hensgen, Finkel, Manber, IJPP 17(1), 1988.
    """
    for power in powers(size, radix):
        hops = range(power, min(radix * power, size), power)
        yield [
            *(send((rank + hop) % size, 0) for hop in hops),
            *(recv_reduce((rank - hop) % size, 0) for hop in hops),
        ]


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


@algorithm(
    rounds="ceil_log(N) + 2 * ceil_log(m)",
    volume="0",
    local=("2 * ceil_log(m)", "0", "0"),
)
def hierarchical(rank: int, size: int, nodes: Sequence[int]) -> Rounds:
    """A tree to each node's leader, dissemination between the leaders, and the trees back.

    Cost: ceil(log2 N) alpha between N nodes and 2 ceil(log2 m) inside, of m ranks.  Best where
    links between nodes are slower than memory.
    Source: Karonis et al., IPDPS 2000.
    """
    teams = node_teams(nodes)
    yield from among(rank, teams, partial(reduce.binomial, root=0), _one)
    yield from among(rank, leaders(teams), dissemination, _one)
    yield from among(rank, teams, partial(bcast.binomial, root=0), _one)


def _one(team: Team) -> Sequence[Blocks]:
    return [(0,)]
