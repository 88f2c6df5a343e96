"""Allreduce: every rank gets the combination of all vectors."""

from __future__ import annotations

import itertools

from ..catalogue import algorithm
from ..fold import Fold, double, halve
from ..steps import DATA, LEFT, Round, Rounds, ceil_log2, copy, recv, recv_reduce, send, sides
from ..steps import reduce as combine
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
    yield fold.enter(rank, (0,))
    for level in range(ceil_log2(fold.power)):
        peer = me ^ (1 << level)
        there = fold.actual(peer)
        exchange: Round = [send(there, 0), recv_reduce(there, 0, sides(me, peer))]
        yield exchange if fold.acts(rank) else []
    yield fold.leave(rank, (0,))


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
    yield fold.enter(rank, everything)
    if fold.acts(rank):
        yield from halve(fold, rank)
        yield from double(fold, rank)
    else:
        yield from ([] for _ in range(2 * ceil_log2(fold.power)))
    yield fold.leave(rank, everything)


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
        copy(0, DATA, spaces[rank]),
        *(combine(0, space, following, LEFT) for space, following in itertools.pairwise(spaces)),
        copy(0, spaces[-1], DATA),
    ]
