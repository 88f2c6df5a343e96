"""Gather and gatherv: the root gets every rank's block."""

from __future__ import annotations

from ..catalogue import algorithm
from ..steps import Rounds, ceil_log2, recv, send


@algorithm(rounds="1", startups="p - 1", volume="(p - 1) / p")
def linear(rank: int, size: int, root: int) -> Rounds:
    """Each rank sends its block to the root.

    Cost: (p-1) alpha + (p-1)/p n beta.  Best for long blocks, and for unequal ones: no rank needs
    to know another's size.
    """
    if rank == root:
        yield [recv(peer, peer) for peer in range(size) if peer != root]
    else:
        yield [send(root, rank)]


@algorithm(rounds="q", volume="(p - 1) / p")
def binomial(rank: int, size: int, root: int) -> Rounds:
    """Each rank hands on all that it has, at twice the distance each round.

    Cost: q alpha + (p-1)/p n beta, the lower bound of both.  Best for short blocks.
    Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005.
    """
    place = (rank - root) % size
    for level in range(ceil_log2(size)):
        distance = 1 << level
        if place % (2 * distance) == distance:
            subtree = range(place, min(place + distance, size))
            yield [send((rank - distance) % size, ((root + i) % size for i in subtree))]
        elif place % (2 * distance) == 0 and place + distance < size:
            subtree = range(place + distance, min(place + 2 * distance, size))
            yield [recv((rank + distance) % size, ((root + i) % size for i in subtree))]
        else:
            yield []
