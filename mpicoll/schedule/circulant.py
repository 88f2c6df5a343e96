"""The circulant graph: each rank talks to those a skip up and down, and the skips about double.

On it stand the circulant reduce-scatter and allgather, and the broadcast of b blocks in the fewest
rounds that there can be, b - 1 + q, at any number of ranks (Träff, "Round-optimal n-block broadcast
schedules in logarithmic time", arXiv 2312.11236).  In that broadcast, round k uses skip k modulo q;
in any q rounds on end a rank gets q different blocks, and it only passes on what it already has.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache
from math import inf

from .steps import ceil_log2


@cache
def skips(size: int) -> tuple[int, ...]:
    """The skips, rising from 1 to the size: each is half of the next, rounded up."""
    falling = [size]
    while falling[-1] > 1:
        falling.append((falling[-1] + 1) // 2)
    return tuple(reversed(falling))


def base_block(rank: int, size: int) -> int:
    """The first block to reach a rank: the number of the last skip on its greedy path from rank 0.

    Rank 0 itself has the number of the skip that leads all the way round, q.
    """
    rest = rank or size
    for number, skip in reversed([*enumerate(skips(size))]):
        if skip <= rest:
            rest -= skip
            if rest == 0:
                return number
    raise AssertionError("skip 1 closes any gap")


class _Search:
    """A depth-first search for the q paths from rank 0 by which blocks come to one rank.

    The paths are laid out to ``goal``, which is the rank one turn further round.  The rank before
    the last on path k stands between skip k and skip k + 1 short of the goal, and nearer to the
    start than that of path k - 1; the block that comes by it is the skip that led there, and no
    skip serves twice.
    """

    def __init__(self, rank: int, size: int) -> None:
        self._skips: tuple[float, ...] = (*skips(size), inf)
        self._goal = size + rank
        self._unused = set(range(len(skips(size)))) - {base_block(rank, size)}
        self.found: list[int] = []
        self._visit(0, inf, len(skips(size)) - 1)

    def _visit(self, place: float, bound: float, last: int) -> None:
        for number in range(last, -1, -1):
            there = place + self._skips[number]
            if number not in self._unused or there >= bound or self._passes(there, 0):
                continue
            if not self._passes(there, 1):
                self._visit(there, bound, number)
            if self._passes(place, 1):
                return
            self.found.append(number)
            self._unused.remove(number)
            bound = there

    def _passes(self, place: float, ahead: int) -> bool:
        """Whether a place is too near to the goal for the path that is next, or the one after."""
        return place > self._goal - self._skips[len(self.found) + ahead]


@lru_cache(maxsize=65536)
def receive_order(rank: int, size: int) -> tuple[int, ...]:
    """The blocks that reach a rank other than 0 in rounds 0 .. q - 1 of an endless broadcast.

    Negative ones belong to the q rounds before, where they count from q.
    """
    q = ceil_log2(size)
    found = _Search(rank, size).found
    return tuple(base_block(rank, size) if number == q else number - q for number in found)


@lru_cache(maxsize=4096)
def arrivals(rank: int, size: int, blocks: int) -> tuple[int | None, ...]:
    """The block that is new to a rank in each round of the broadcast from rank 0, or None."""
    q = ceil_log2(size)
    idle = (1 - blocks) % q
    seen: set[int | None] = {None}
    new: list[int | None] = []
    for number in range(idle, idle + blocks - 1 + q):
        block = receive_order(rank, size)[number % q] + number // q * q - idle if rank else -1
        last = min(block, blocks - 1) if block >= 0 else None
        new.append(None if last in seen else last)
        seen.add(last)
    return tuple(new)


def traffic(rank: int, size: int, blocks: int) -> Iterator[tuple[int, int | None, int | None]]:
    """The broadcast from rank 0, round by round: (skip, block sent up, block got from below).

    None stands for no message.
    """
    q = ceil_log2(size)
    mine = arrivals(rank, size, blocks)
    for number, arriving in enumerate(mine):
        skip = skips(size)[(number + 1 - blocks) % q]
        yield skip, arrivals((rank + skip) % size, size, blocks)[number], arriving
