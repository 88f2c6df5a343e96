"""Reduce: the root gets the combination of all vectors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ..catalogue import algorithm
from ..circulant import traffic
from ..fold import Fold, halve
from ..radix import powers
from ..steps import RIGHT, Round, Rounds, ceil_log2, recv, recv_reduce, send, sides
from ..teams import among, leaders, node_teams
from ..trees import TREES, Pair, halves


@algorithm(rounds="p - 1", volume="p - 1", reduced="p - 1")
def linear(rank: int, size: int, root: int, blocks: int = 1) -> Rounds:
    """The root takes one vector after another, those below it downwards, then those above.

    Cost: (p-1)(alpha + n beta + n gamma).  Keeps rank order.  The baseline.
    """
    everything = range(blocks)
    for peer in [*reversed(range(root)), *range(root + 1, size)]:
        if rank == root:
            yield [recv_reduce(peer, everything, sides(root, peer))]
        else:
            yield [send(root, everything)] if rank == peer else []


@algorithm(rounds="q", volume="q", reduced="q", canonical="p == P")
def binomial(rank: int, size: int, root: int, blocks: int = 1, ordered: bool = False) -> Rounds:
    """Ranks combine in pairs, at twice the distance each round.

    Cost: q (alpha + n beta + n gamma).  Where the operator does not commute, the tree stands at
    rank 0, which sends the result on to the root.  Best for short vectors.
    Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005.
    """
    everything = range(blocks)
    top = 0 if ordered else root
    place = (rank - top) % size
    for level in range(ceil_log2(size)):
        distance = 1 << level
        if place % (2 * distance) == distance:
            yield [send((rank - distance) % size, everything)]
        elif place % (2 * distance) == 0 and place + distance < size:
            yield [recv_reduce((rank + distance) % size, everything, RIGHT)]
        else:
            yield []
    yield from forward(rank, top, root, blocks)


@algorithm(
    rounds="ceil_log(p, radix)",
    startups="hops(p, radix)",
    volume="hops(p, radix)",
    reduced="hops(p, radix)",
    options={"radix": "4"},
)
def knomial(
    rank: int, size: int, root: int, radix: int, blocks: int = 1, ordered: bool = False
) -> Rounds:
    """As the binomial tree, but each rank combines the vectors of radix - 1 others a round.

    Cost with radix k: (k-1) log_k(p) (alpha + n beta + n gamma) in log_k(p) rounds.  Rank order is
    kept as in the binomial tree.  Best for short vectors where several messages travel at once.
    """
    everything = range(blocks)
    top = 0 if ordered else root
    place = (rank - top) % size
    for distance in powers(size, radix):
        digit, below = place // distance % radix, place % distance
        if below:
            yield []
        elif digit:
            yield [send((rank - digit * distance) % size, everything)]
        else:
            end = min(place + radix * distance, size)
            others = range(place + distance, end, distance)
            yield [recv_reduce((top + other) % size, everything, RIGHT) for other in others]
    yield from forward(rank, top, root, blocks)


def forward(rank: int, holder: int, root: int, blocks: int) -> Rounds:
    """One round from the rank that has the result to the root, where they differ."""
    if holder == root:
        return
    arrives: Round = [recv(holder, range(blocks))] if rank == root else []
    yield [send(root, range(blocks))] if rank == holder else arrives


@algorithm(rounds="p - 1", volume="p - 1", reduced="p - 1", rank=("1", "1", "1"))
def chain(rank: int, size: int, root: int, blocks: int = 1, ordered: bool = False) -> Rounds:
    """Each rank combines what came from above into its own and passes it down.

    Cost in b stripes: (p-2+b)(alpha + n/b (beta + gamma)).  Where the operator does not commute,
    the chain ends at rank 0, which sends the result on.  Best for long vectors and few ranks.
    """
    everything = range(blocks)
    top = 0 if ordered else root
    place, lower, upper = (rank - top) % size, (rank - 1) % size, (rank + 1) % size
    for sender in reversed(range(1, size)):
        sends = [send(lower, everything)] if place == sender else []
        yield sends + ([recv_reduce(upper, everything, RIGHT)] if place == sender - 1 else [])
    yield from forward(rank, top, root, blocks)


@algorithm(
    rounds="2 * Q + (p != P)",
    volume="2 * (P - 1) / P + (p != P)",
    reduced="(P - 1) / P + (p != P)",
    blocks="P",
    canonical="1",
)
def rabenseifner(rank: int, size: int, root: int) -> Rounds:
    """Reduce-scatter by recursive halving, then a gather along the same tree.

    Cost: 2 q alpha + 2 (p-1)/p n beta + (p-1)/p n gamma at a power of two; elsewhere the ranks
    beyond fold in first, for one round and n bytes more.  Keeps rank order.  Best for long vectors.
    Source: Rabenseifner, ICCS 2004.
    """
    fold = Fold(size, keep=root)
    yield from fold.enter(rank, tuple(range(fold.power)))
    if fold.acts(rank):
        yield from halve(fold, rank)
        yield from _gather_halves(fold, rank, root)
    else:
        yield from ([] for _ in range(2 * ceil_log2(fold.power)))


def _gather_halves(fold: Fold, rank: int, root: int) -> Rounds:
    """Undo ``halve`` towards the root: in each pair, the half that the root is not in sends."""
    me, target = fold.behind(rank), fold.behind(root)
    for level in reversed(range(ceil_log2(fold.power))):
        peer = me ^ (1 << level)
        if me >> (level + 1) != target >> (level + 1):
            yield []
        elif (me ^ target) >> level & 1:
            yield [send(fold.actual(peer), fold.half(me, level))]
        else:
            yield [recv(fold.actual(peer), fold.half(peer, level))]


@algorithm(
    rounds="q",
    startups="q + ceil_log(p - 1)",
    volume="(q + ceil_log(p - 1) + (p == 2)) / 2",
    reduced="(q + ceil_log(p - 1) + (p == 2)) / 2",
    rank=("2 - (p == 2)", "1", "1"),
    blocks="1 + (p > 2)",
)
def double_binary_tree(rank: int, size: int, root: int, ordered: bool = False) -> Rounds:
    """Each half of the vector is combined up a binary tree of its own.

    No rank is inner in both trees.  Cost in b stripes: (q-1+b)(2 alpha + n/b (beta + gamma)).
    Where the operator does not commute, the trees end at rank 0, which sends the result on.  Best
    for long vectors on many ranks.
    Source: Sanders, Speck, Träff, Parallel Computing 35(12), 2009.
    """
    top = 0 if ordered else root
    yield from Pair(rank, size, top, ordered).ascend()
    yield from forward(rank, top, root, 1 + (size > 2))


@algorithm(
    rounds="b - 1 + q",
    volume="(b - 1 + q) / b",
    reduced="(b - 1 + q) / b",
    blocks="q",
    commutes=True,
    pipelined=True,
)
def circulant(rank: int, size: int, root: int, blocks: int) -> Rounds:
    """The circulant broadcast run backwards, with reductions in place of copies.

    Cost in b blocks: (b-1+q)(alpha + n/b (beta + gamma)), at any number of ranks.
    Best for middling and long vectors on many ranks.  Source: Träff, arXiv 2407.18004.
    """
    for skip, arriving, leaving in reversed([*traffic((rank - root) % size, size, blocks)]):
        sends = [] if leaving is None else [send((rank - skip) % size, leaving)]
        yield sends + ([] if arriving is None else [recv_reduce((rank + skip) % size, arriving)])


@algorithm(
    rounds="ceil_log(N) + ceil_log(m)",
    startups="ceil_log(N) + ceil_log(N - 1) + ceil_log(m) + ceil_log(m - 1)",
    volume=f"{TREES.format('N')} + {TREES.format('m')}",
    reduced=f"{TREES.format('N')} + {TREES.format('m')}",
    rank=("min(N - 1, 2) + min(m - 1, 2)", "(N > 1) + (m > 1)", "(N > 1) + (m > 1)"),
    local=("ceil_log(m) + ceil_log(m - 1)", TREES.format("m"), TREES.format("m")),
    local_rank=("min(m - 1, 2)", "m > 1", "m > 1"),
    blocks="2",
    commutes=True,
)
def hierarchical(rank: int, size: int, root: int, nodes: Sequence[int]) -> Rounds:
    """Inside each node, then from node to node, in double binary trees.

    Cost: the double binary tree's on m ranks, then on N nodes; between nodes about n beta.  Best
    for long vectors where links between nodes are slower than memory.
    Source: Karonis et al., IPDPS 2000.
    """
    teams = node_teams(nodes, root)
    for stage in (teams, leaders(teams)):
        yield from among(rank, stage, partial(double_binary_tree, root=0), halves)
