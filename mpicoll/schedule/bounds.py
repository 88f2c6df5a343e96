"""The least that any algorithm can cost: what a measured time is held against.

A bound is in rounds of one message a rank, and in bytes of the busiest rank; no algorithm's closed
forms are below it.  None need reach all three numbers at once: an allreduce that moves the fewest
bytes takes 2 q rounds, and an alltoall of q rounds moves more than its share.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .contract import CONTRACTS
from .cost import Machine
from .errors import UnknownName
from .steps import ceil_log2


@dataclass(frozen=True)
class Bound:
    """The least number of rounds; the least bytes moved and combined by the busiest rank."""

    rounds: int
    nbytes: float
    reduced: float

    def time(self, machine: Machine) -> float:
        """The time in seconds that no algorithm beats.

        That is alpha a round, and then beta or gamma a byte, whichever takes longer, since one
        stripe may be reduced while another is on its way.
        """
        moving, reducing = machine.beta * self.nbytes, machine.gamma * self.reduced
        return machine.alpha * self.rounds + max(moving, reducing)


def bound(collective: str, size: int, nbytes: float) -> Bound:
    """The bound of a collective of n = ``nbytes`` on ``size`` ranks.

    n is the whole vector, the sum of all ranks' blocks, or all that one rank sends (alltoall).
    Raises ``UnknownName``, and ``ValueError`` where there is no rank.  Source: Chan, Heimlich,
    Purkayastha, van de Geijn, Concurrency and Computation 19(13), 2007; for scan and exscan: the
    last rank needs all contributions, and each result but the first is combined by somebody.
    """
    if collective not in _SHARES:
        raise UnknownName("collective", collective, tuple(CONTRACTS))
    if size < 1:
        raise ValueError(f"size {size}: expected at least 1 rank")
    if size == 1:
        return Bound(0, 0.0, 0.0)
    moved, reduced = _SHARES[collective]
    return Bound(ceil_log2(size), moved(size) * nbytes, reduced(size) * nbytes)


def _none(size: int) -> float:
    return 0.0


def _whole(size: int) -> float:
    return 1.0


def _others(size: int) -> float:
    """All blocks but one."""
    return (size - 1) / size


def _both_ways(size: int) -> float:
    return 2 * _others(size)


def _later(size: int) -> float:
    """All ranks but two, since rank 1 of an exscan gets what it is sent."""
    return (size - 2) / size


_SHARES: dict[str, tuple[Callable[[int], float], Callable[[int], float]]] = {
    "barrier": (_none, _none),
    "bcast": (_whole, _none),
    "scatter": (_others, _none),
    "gather": (_others, _none),
    "allgather": (_others, _none),
    "reduce": (_whole, _others),
    "allreduce": (_both_ways, _others),
    "reduce_scatter": (_others, _others),
    "alltoall": (_others, _none),
    "scan": (_whole, _others),
    "exscan": (_whole, _later),
}
"""For each collective, the share of n that the busiest rank moves, and that it combines."""
