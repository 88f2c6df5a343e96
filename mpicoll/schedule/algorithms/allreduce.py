"""Allreduce: every rank gets the combination of all vectors."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial

from ..catalogue import algorithm
from ..fold import Fold, double, halve
from ..radix import factors, smooth
from ..steps import DATA, LEFT, RIGHT, Round, Rounds, ceil_log2, recv, recv_reduce, send, sides
from ..steps import reduce as combine
from ..teams import among, leaders, node_teams, shares
from ..trees import TREES, Pair, halves
from . import allgather, bcast, reduce, reduce_scatter


@algorithm(rounds="p", startups="2 * (p - 1)", volume="2 * (p - 1)", reduced="p - 1")
def star(rank: int, size: int) -> Rounds:
    """Rank 0 takes one vector after another, then sends the result to each: a parameter server.

    Cost: 2(p-1)(alpha + n beta) + (p-1) n gamma at the server.  Keeps rank order.  The baseline of
    the whole subject.  Source: Li et al., OSDI 2014.
    """
    yield from reduce.linear(rank, size, 0)
    yield from bcast.linear(rank, size, 0)


@algorithm(
    rounds="2 * (p - 1)",
    volume="2 * (p - 1) * ceil(servers / p) / servers",
    reduced="(p - 1) * ceil(servers / p) / servers",
    blocks="servers",
    commutes=True,
    options={"servers": "(p + 1) // 2"},
)
def servers(rank: int, size: int, servers: int) -> Rounds:
    """Several ranks serve a block of the vector each: all send it there and get it back.

    Cost with S servers, one a block: 2(p-1)(alpha + n beta / S) + (p-1) n gamma / S.  The sharded
    parameter server, a baseline as the star is: S = 1 costs as much, S = p moves the fewest bytes.
    Source: Li et al., OSDI 2014.
    """
    mine = range(rank, servers, size)
    for distance in range(1, size):
        target, source = (rank + distance) % size, (rank - distance) % size
        theirs = range(target, servers, size)
        sends: Round = [send(target, theirs)] if theirs else []
        yield [*sends, *([recv_reduce(source, mine, LEFT)] if mine else [])]
    for distance in range(1, size):
        target, source = (rank + distance) % size, (rank - distance) % size
        theirs = range(source, servers, size)
        sends = [send(target, mine)] if mine else []
        yield [*sends, *([recv(source, theirs)] if theirs else [])]


@algorithm(rounds="2 * q", volume="2 * q", reduced="q", canonical="p == P")
def reduce_bcast(rank: int, size: int) -> Rounds:
    """Reduce to rank 0, then broadcast, both on a binomial tree.

    Cost: 2 q (alpha + n beta) + q n gamma.  Keeps rank order.  The baseline of the trees.
    """
    yield from reduce.binomial(rank, size, 0)
    yield from bcast.binomial(rank, size, 0)


@algorithm(
    rounds="Q + 2 * (p != P)", volume="Q + 2 * (p != P)", reduced="Q + (p != P)", canonical="1"
)
def recursive_doubling(rank: int, size: int) -> Rounds:
    """Ranks exchange all that they have combined, at twice the distance each round.

    Cost: q (alpha + n beta + n gamma) at a power of two; elsewhere the ranks beyond fold in and
    out, for two rounds more.  Keeps rank order.  Best for short vectors.
    Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005.
    """
    fold = Fold(size)
    me = fold.behind(rank)
    yield from fold.enter(rank, (0,))
    for level in range(ceil_log2(fold.power)):
        peer = me ^ (1 << level)
        there = fold.actual(peer)
        exchange: Round = [send(there, 0), recv_reduce(there, 0, sides(me, peer))]
        yield exchange if fold.acts(rank) else []
    yield from fold.leave(rank, (0,))


_MULTIPLYING = "sum(f - 1 for f in factors(p, radix)) + {} * (smooth(p, radix) < p)"


@algorithm(
    rounds="len(factors(p, radix)) + 2 * (smooth(p, radix) < p)",
    startups=_MULTIPLYING.format(2),
    volume=_MULTIPLYING.format(2),
    reduced=_MULTIPLYING.format(1),
    options={"radix": "3"},
)
def recursive_multiplying(rank: int, size: int, radix: int) -> Rounds:
    """Groups of up to radix ranks exchange all that they have combined, and groups grow so.

    Cost with factors f of p up to the radix: the sum of f - 1, times (alpha + n beta + n gamma), in
    one round a factor; where p has others, ranks beyond fold in and out, for two rounds more.
    Keeps rank order.  Best for short vectors on 3, 6, 9, 12, ... ranks.
    Source: Ruefenacht, Bull, Booth, Parallel Computing 69, 2017.
    """
    fold = Fold(size, target=smooth(size, radix))
    me, distance = fold.behind(rank), 1
    yield from fold.enter(rank, (0,))
    for factor in factors(size, radix):
        first = me - me // distance % factor * distance
        group = [fold.actual(first + i * distance) for i in range(factor)]
        yield from among(rank, [group], allgather_reduce, lambda team: [(0,)])
        distance *= factor
    yield from fold.leave(rank, (0,))


@algorithm(
    rounds="2 * Q + 2 * (p != P)",
    volume="2 * (P - 1) / P + 2 * (p != P)",
    reduced="(P - 1) / P + (p != P)",
    blocks="P",
    canonical="1",
)
def rabenseifner(rank: int, size: int) -> Rounds:
    """Reduce-scatter by recursive halving, then allgather by recursive doubling.

    Cost: 2 q alpha + 2 (p-1)/p n beta + (p-1)/p n gamma at a power of two; elsewhere the ranks
    beyond fold in and out, at up to twice the bytes.  Distance doubles while the vector halves, so
    rank order is kept and at a power of two the bits are those of recursive doubling.
    Best for long vectors at a power of two.  Source: Rabenseifner, ICCS 2004.
    """
    fold = Fold(size)
    everything = tuple(range(fold.power))
    yield from fold.enter(rank, everything)
    if fold.acts(rank):
        yield from halve(fold, rank)
        yield from double(fold, rank)
    else:
        yield from ([] for _ in range(2 * ceil_log2(fold.power)))
    yield from fold.leave(rank, everything)


@algorithm(
    rounds="2 * (p - 1)",
    volume="2 * (p - 1) / p",
    reduced="(p - 1) / p",
    blocks="p",
    commutes=True,
)
def ring(rank: int, size: int) -> Rounds:
    """Reduce-scatter round the ring, then allgather round the ring.

    Cost: 2(p-1) alpha + 2 (p-1)/p n beta + (p-1)/p n gamma, the fewest bytes, with every rank
    equally busy.  Best for long vectors.  After the first phase rank r has block r + 1.

    On 5 ranks, block 0 goes 0 > 1 > 2 > 3 > 4, gathering a contribution at each, and then from
    rank 4, which has it whole, 4 > 0 > 1 > 2 > 3; the other blocks go likewise, a rank apart.
    Source: Patarasuk and Yuan, JPDC 69(2), 2009.
    """
    yield from reduce_scatter.ring(rank, size, shift=1)
    yield from allgather.ring(rank, size, shift=1)


@algorithm(
    rounds="2 * q",
    volume="2 * (p - 1) / p",
    reduced="(p - 1) / p",
    blocks="p",
    commutes=True,
)
def circulant(rank: int, size: int) -> Rounds:
    """The circulant reduce-scatter, then its mirror image.

    Cost: 2 q alpha + 2 (p-1)/p n beta + (p-1)/p n gamma, at any number of ranks.
    Best for middling vectors, above all where p is no power of two.
    Source: Träff, arXiv 2410.14234.
    """
    yield from reduce_scatter.circulant(rank, size)
    yield from allgather.circulant(rank, size)


@algorithm(
    rounds="2 * Q",
    startups="4 * Q - 2 * (p == P)",
    volume="2 * Q - (p == P)",
    reduced="Q - (p == P) / 2",
    rank=("min(p, 4)", "min(p, 4) / 2", "min(p - 1, 2) / 2"),
    blocks="2",
)
def double_binary_tree(rank: int, size: int, ordered: bool = False) -> Rounds:
    """Each half of the vector is combined up a binary tree of its own, then goes down it.

    No rank is inner in both trees.  Cost in b stripes: (2 Q - 1 + b)(4 alpha + 2 n beta / b + n
    gamma / b).  Keeps rank order where it must.  Best for long vectors on very many ranks, and
    for those whose operator does not commute.
    Source: Sanders, Speck, Träff, Parallel Computing 35(12), 2009.
    """
    pair = Pair(rank, size, None, ordered)
    yield from pair.ascend()
    yield from pair.descend()


@algorithm(
    rounds="2 * (N - 1 + ceil_log(m))",
    startups="2 * (N - 1 + ceil_log(m) + ceil_log(m - 1))",
    volume=f"2 * (N - 1) / N + 2 * {TREES.format('m')}",
    reduced=f"(N - 1) / N + {TREES.format('m')}",
    rank=(
        "max(2 * (N - 1) + min(m - 1, 2), min(m, 4) - (m < 3))",
        "max(2 * (N - 1) / N + (m > 1), min(m, 4) / 2)",
        "(N - 1) / N + (m > 1)",
    ),
    local=("2 * (ceil_log(m) + ceil_log(m - 1))", f"2 * {TREES.format('m')}", TREES.format("m")),
    local_rank=("min(m - 1, 2)", "m > 1", "m > 1"),
    blocks="2 * N",
    commutes=True,
)
def hierarchical(rank: int, size: int, blocks: int, nodes: Sequence[int]) -> Rounds:
    """Reduce inside each node, ring allreduce between nodes, broadcast inside each node.

    Cost between N nodes: 2 (N-1) alpha + 2 (N-1)/N n beta; inside, that of double binary trees of
    m ranks each way.  Best where links between nodes are slower than memory.
    Source: Karonis et al., IPDPS 2000.
    """
    teams = node_teams(nodes)
    inside = partial(halves, blocks=blocks)
    yield from among(rank, teams, partial(reduce.double_binary_tree, root=0), inside)
    yield from among(rank, leaders(teams), ring, lambda team: shares(blocks, len(team)))
    yield from among(rank, teams, partial(bcast.double_binary_tree, root=0), inside)


@algorithm(
    rounds="1 + q",
    startups="p - 1 + q",
    volume="2 * (p - 1) / p",
    reduced="(p - 1) / p",
    blocks="p",
    canonical="1",
)
def alltoall_allgather(rank: int, size: int) -> Rounds:
    """All send every other its block, each combines its own in a tree, then circulant allgather.

    Cost: (p-1+q) alpha + 2 (p-1)/p n beta + (p-1)/p n gamma.  Keeps rank order, and its bits are
    those of the canonical tree.  Best for long vectors where the operator does not commute or the
    bits must not depend on the algorithm, and p is no power of two.
    """
    yield from reduce_scatter.alltoall_reduce(rank, size)
    yield from allgather.circulant(rank, size)


@algorithm(rounds="1", startups="p - 1", volume="p - 1", reduced="p - 1")
def allgather_reduce(rank: int, size: int) -> Rounds:
    """Each rank sends its vector to each other, then all combine in rank order.

    Cost: (p-1)(alpha + n beta + n gamma) in a single phase; scratch is p-1 vectors.
    Best for tiny vectors.  Keeps rank order.
    """
    spaces = [f"from_{peer}" for peer in range(size)]
    others = [peer for peer in range(size) if peer != rank]
    yield [
        *(send(peer, 0) for peer in others),
        *(recv(peer, 0, spaces[peer]) for peer in others),
        *(combine(0, *pair, LEFT) for pair in itertools.pairwise([*spaces[:rank], DATA])),
        *(combine(0, space, DATA, RIGHT) for space in spaces[rank + 1 :]),
    ]
