"""Broadcast: the root's vector reaches every rank."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ..catalogue import algorithm
from ..circulant import traffic
from ..radix import powers
from ..steps import Rounds, Send, Step, largest_power_of_two, recv, send
from ..teams import among, leaders, node_teams
from ..trees import TREES, Pair, halves
from . import allgather, scatter


@algorithm(rounds="1", startups="p - 1", volume="p - 1")
def linear(rank: int, size: int, root: int, blocks: int = 1) -> Rounds:
    """The root sends the vector to each rank.

    Cost: (p-1)(alpha + n beta).  Best for very few ranks; the baseline of the others.
    """
    everything = range(blocks)
    if rank == root:
        yield [send(peer, everything) for peer in range(size) if peer != root]
    else:
        yield [recv(root, everything)]


@algorithm(rounds="q", volume="q")
def binomial(rank: int, size: int, root: int, blocks: int = 1) -> Rounds:
    """Each rank that has the vector passes it on, at half the distance each round.

    Cost: q (alpha + n beta), the fewest rounds that there can be.  Best for short vectors.
    Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005.
    """
    everything = range(blocks)
    place = (rank - root) % size
    distance = largest_power_of_two(max(size - 1, 1))
    while distance:
        if place % (2 * distance) == distance:
            yield [recv((rank - distance) % size, everything)]
        elif place % (2 * distance) == 0 and place + distance < size:
            yield [send((rank + distance) % size, everything)]
        else:
            yield []
        distance //= 2


@algorithm(
    rounds="ceil_log(p, radix)",
    startups="hops(p, radix)",
    volume="hops(p, radix)",
    options={"radix": "4"},
)
def knomial(rank: int, size: int, root: int, radix: int, blocks: int = 1) -> Rounds:
    """As the binomial tree, but each rank passes the vector on to radix - 1 others a round.

    Cost with radix k: (k-1) log_k(p) (alpha + n beta) in log_k(p) rounds.  Best for short vectors
    where a rank can send several messages at once.
    """
    everything = range(blocks)
    place = (rank - root) % size
    for distance in reversed([*powers(size, radix)]):
        digit, below = place // distance % radix, place % distance
        if below:
            yield []
        elif digit:
            yield [recv((rank - digit * distance) % size, everything)]
        else:
            top = min(place + radix * distance, size)
            yield [
                send((root + other) % size, everything)
                for other in range(place + distance, top, distance)
            ]


@algorithm(rounds="p - 1", volume="p - 1", rank=("1", "1", "0"))
def chain(rank: int, size: int, root: int, blocks: int = 1) -> Rounds:
    """Each rank passes the vector on to the next.

    Cost in b stripes: (p-2+b)(alpha + n beta / b), so about n beta: the fewest bytes.
    Best for long vectors and few ranks.
    Source: Pješivac-Grbović et al., Cluster Computing 10(2), 2007.
    """
    everything = range(blocks)
    place, left, right = (rank - root) % size, (rank - 1) % size, (rank + 1) % size
    for sender in range(size - 1):
        sends = [send(right, everything)] if place == sender else []
        yield sends + ([recv(left, everything)] if place == sender + 1 else [])


@algorithm(
    rounds="Q",
    startups="2 * Q - (p == P)",
    volume="2 * Q - (p == P)",
    rank=("1 + (p > 2)", "1 + (p > 2)", "0"),
)
def binary_tree(rank: int, size: int, root: int, blocks: int = 1) -> Rounds:
    """Each rank of a complete binary tree passes the vector to its two children.

    Cost in b stripes: about 2(q+b)(alpha + n beta / b).  Best for middling vectors on many ranks.
    Source: Pješivac-Grbović et al., Cluster Computing 10(2), 2007.
    """
    everything = range(blocks)
    place = (rank - root) % size
    children = [child for child in (2 * place + 1, 2 * place + 2) if child < size]
    depth = (place + 1).bit_length() - 1
    for level in range(size.bit_length() - 1):
        sends = [send((root + child) % size, everything) for child in children]
        parent = (root + (place - 1) // 2) % size
        arrives = depth == level + 1
        yield [recv(parent, everything)] if arrives else sends if depth == level else []


@algorithm(
    rounds="q",
    startups="q + ceil_log(p - 1)",
    volume="(q + ceil_log(p - 1) + (p == 2)) / 2",
    rank=("2 - (p == 2)", "1", "0"),
    blocks="1 + (p > 2)",
)
def double_binary_tree(rank: int, size: int, root: int) -> Rounds:
    """Each half of the vector goes down a binary tree of its own.

    No rank is inner in both trees.  Cost in b stripes: (q-1+b)(2 alpha + n beta / b), so about
    n beta at any number of ranks.  Best for long vectors on many ranks.
    Source: Sanders, Speck, Träff, Parallel Computing 35(12), 2009.
    """
    yield from Pair(rank, size, root).descend()


@algorithm(
    rounds="2 * q if p == P else q + p - 1",
    volume="2 * (p - 1) / p",
    blocks="p",
)
def scatter_allgather(rank: int, size: int, root: int) -> Rounds:
    """Scatter, then allgather (van de Geijn).

    Cost: 2 q alpha + 2 (p-1)/p n beta at a power of two; by the ring, (q + p - 1) alpha elsewhere.
    Nothing is sent to the root, which has everything: its buffer may be read-only.
    Best for long vectors.  Source: Barnett, Shuler, van de Geijn et al., SHPCC 1994.
    """
    power = size == largest_power_of_two(size)
    yield from scatter.binomial(rank, size, root)
    for steps in (allgather.recursive_doubling if power else allgather.ring)(rank, size):
        yield [step for step in steps if _target(step, rank) != root]


def _target(step: Step, rank: int) -> int:
    """The rank that a message goes to."""
    return step.peer if isinstance(step, Send) else rank


@algorithm(rounds="b - 1 + q", volume="(b - 1 + q) / b", blocks="q", pipelined=True)
def circulant(rank: int, size: int, root: int, blocks: int) -> Rounds:
    """Blocks spread over the circulant graph, a new one at the root each round.

    Cost in b blocks: (b-1+q)(alpha + n beta / b), the fewest rounds that there can be, at any
    number of ranks.  Best for middling and long vectors on many ranks.
    Source: Träff, arXiv 2312.11236.
    """
    for skip, leaving, arriving in traffic((rank - root) % size, size, blocks):
        sends = [] if leaving is None else [send((rank + skip) % size, leaving)]
        yield sends + ([] if arriving is None else [recv((rank - skip) % size, arriving)])


@algorithm(
    rounds="ceil_log(N) + ceil_log(m)",
    startups="ceil_log(N) + ceil_log(N - 1) + ceil_log(m) + ceil_log(m - 1)",
    volume=f"{TREES.format('N')} + {TREES.format('m')}",
    rank=("min(N - 1, 2) + min(m - 1, 2)", "(N > 1) + (m > 1)", "0"),
    local=("ceil_log(m) + ceil_log(m - 1)", TREES.format("m"), "0"),
    local_rank=("min(m - 1, 2)", "m > 1", "0"),
    blocks="2",
)
def hierarchical(rank: int, size: int, root: int, nodes: Sequence[int]) -> Rounds:
    """From node to node, then inside each node, in double binary trees.

    Cost: the double binary tree's on N nodes, then on m ranks; between nodes about n beta.  Best
    for long vectors where links between nodes are slower than memory.
    Source: Karonis et al., IPDPS 2000.
    """
    teams = node_teams(nodes, root)
    for stage in (leaders(teams), teams):
        yield from among(rank, stage, partial(double_binary_tree, root=0), halves)
