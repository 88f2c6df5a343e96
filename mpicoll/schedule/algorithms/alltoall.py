"""Alltoall, alltoallv and alltoallw: every rank has a block for every other."""

from __future__ import annotations

from ..catalogue import algorithm
from ..radix import powers
from ..steps import Rounds, Step, largest_power_of_two, pair, recv, send

WINDOW = 32
"""The most messages that ``linear`` keeps in flight each way."""


@algorithm(rounds=f"ceil((p - 1) / {WINDOW})", startups="p - 1", volume="(p - 1) / p")
def linear(rank: int, size: int) -> Rounds:
    """Each rank sends to each other at once, with a bound on the messages in flight.

    Cost: (p-1) alpha + (p-1)/p n beta.  Best for middling blocks.
    Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005.
    """
    for first in range(1, size, WINDOW):
        window = range(first, min(first + WINDOW, size))
        targets = [(rank + distance) % size for distance in window]
        sources = [(rank - distance) % size for distance in window]
        yield [
            *(send(target, pair(rank, target, size)) for target in targets),
            *(recv(source, pair(source, rank, size)) for source in sources),
        ]


@algorithm(rounds="p - 1", volume="(p - 1) / p")
def pairwise(rank: int, size: int) -> Rounds:
    """Each rank sends to one and receives from one each round, a distance further each time.

    Cost: (p-1)(alpha + n beta / p).  At a power of two the two are the same rank, so that in place
    one block of scratch is enough.  Best for long blocks.
    Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005.
    """
    power = size == largest_power_of_two(size)
    for distance in range(1, size):
        target = rank ^ distance if power else (rank + distance) % size
        source = rank ^ distance if power else (rank - distance) % size
        yield [send(target, pair(rank, target, size)), recv(source, pair(source, rank, size))]


@algorithm(
    rounds="ceil_log(p, radix)",
    startups="hops(p, radix)",
    volume="sum(d // radix**i % radix > 0 for d in range(p) for i in range(q)) / p",
    equal_counts=True,
    options={"radix": "2"},
)
def bruck(rank: int, size: int, radix: int) -> Rounds:
    """Blocks travel by the digits of their distance in base radix, many in one message.

    Cost with radix k: (k-1) log_k(p) alpha + about (k-1)/k log_k(p) n beta, in log_k(p) rounds.
    Best for short blocks; a larger radix moves fewer bytes in more messages.
    Source: Bruck et al., IEEE TPDS 8(11), 1997.
    """
    for power in powers(size, radix):
        steps: list[Step] = []
        for hop in range(power, min(radix * power, size), power):
            distances = [one for one in range(size) if one // power % radix == hop // power]
            target, source = (rank + hop) % size, (rank - hop) % size
            steps += [
                send(target, [_travelling(rank, one, power, size) for one in distances]),
                recv(source, [_travelling(source, one, power, size) for one in distances]),
            ]
        yield steps


def _travelling(rank: int, distance: int, power: int, size: int) -> int:
    """The block with this distance to go in all that is at a rank before this power's round."""
    origin = rank - distance % power
    return pair(origin % size, (origin + distance) % size, size)
