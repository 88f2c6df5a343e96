"""What a schedule costs: rounds, messages, exact bytes, and time in the alpha-beta-gamma model.

The time of a round is that of its busiest rank: alpha for each message of its busier direction,
beta for each byte of its busier direction, gamma for each byte that it combines (Hockney 1994;
Thakur, Rabenseifner, Gropp 2005).  alpha in seconds, beta and gamma in seconds a byte.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .catalogue import Algorithm
from .contract import Cut
from .steps import Recv, RecvReduce, Reduce, Round, Send, split


class Machine(NamedTuple):
    """The constants of a machine: alpha in s, beta and gamma in s/byte.

    The defaults are those of two Python processes that share a node's memory, in round numbers.
    """

    alpha: float = 5e-6
    beta: float = 2e-10
    gamma: float = 1e-10


@dataclass(frozen=True)
class Cost:
    """The exact cost of a schedule, in bytes; lists have one entry a rank.

    ``rounds`` counts those in which a message is sent.  ``startups``, ``volume`` and ``reduced``
    are sums over the rounds of the busiest rank's messages, bytes moved and bytes combined.
    """

    rounds: int
    startups: int
    volume: int
    reduced: int
    messages: list[int]
    bytes_sent: list[int]
    bytes_received: list[int]

    def time(self, machine: Machine) -> float:
        """The predicted time in seconds."""
        return (
            machine.alpha * self.startups
            + machine.beta * self.volume
            + machine.gamma * self.reduced
        )


def cost(
    algorithm: Algorithm,
    size: int,
    block_bytes: Sequence[int],
    root: int = 0,
    blocks: int | None = None,
) -> Cost:
    """Count an algorithm's messages and bytes; ``block_bytes`` has the bytes of each block."""
    every = [algorithm.generate(rank, size, root, blocks) for rank in range(size)]
    columns = list(zip(*every, strict=True))
    return Cost(
        rounds=sum(any(_sends(steps) for steps in column) for column in columns),
        startups=_busiest(columns, _startups),
        volume=_busiest(columns, lambda steps: _moved(steps, block_bytes)),
        reduced=_busiest(columns, lambda steps: _combined(steps, block_bytes)),
        messages=[sum(len(_sends(steps)) for steps in mine) for mine in every],
        bytes_sent=[sum(_bytes(_sends(steps), block_bytes) for steps in mine) for mine in every],
        bytes_received=[
            sum(_bytes(_receives(steps), block_bytes) for steps in mine) for mine in every
        ],
    )


def even_blocks(
    algorithm: Algorithm, size: int, nbytes: int, blocks: int | None = None
) -> list[int]:
    """The sizes of the blocks of ``nbytes`` in all, cut evenly: what ``cost`` counts by default.

    ``nbytes`` is n: the vector, the sum of all ranks' blocks, or all that one rank sends.  A
    barrier's messages carry none.
    """
    count = algorithm.block_count(size, blocks)
    if algorithm.contract.idempotent:
        return [0] * count
    if algorithm.contract.cut is Cut.PAIR:
        return split(nbytes, size) * size
    return split(nbytes, count)


def estimate(
    algorithm: Algorithm, size: int, nbytes: float, machine: Machine, blocks: int | None = None
) -> float:
    """The predicted time in seconds by the closed forms, in constant time."""
    if size == 1:
        return 0.0
    cut = algorithm.vector_blocks(size, blocks)
    return (
        machine.alpha * algorithm.startups(size, cut)
        + machine.beta * nbytes * algorithm.volume(size, cut)
        + machine.gamma * nbytes * algorithm.reduced(size, cut)
    )


def _sends(steps: Round) -> list[Send]:
    return [step for step in steps if isinstance(step, Send)]


def _receives(steps: Round) -> list[Recv | RecvReduce]:
    return [step for step in steps if isinstance(step, Recv | RecvReduce)]


def _bytes(steps: Iterable[Send | Recv | RecvReduce | Reduce], sizes: Sequence[int]) -> int:
    return sum(sizes[block] for step in steps for block in step.blocks)


def _startups(steps: Round) -> int:
    return max(len(_sends(steps)), len(_receives(steps)))


def _moved(steps: Round, sizes: Sequence[int]) -> int:
    return max(_bytes(_sends(steps), sizes), _bytes(_receives(steps), sizes))


def _combined(steps: Round, sizes: Sequence[int]) -> int:
    return _bytes([step for step in steps if isinstance(step, RecvReduce | Reduce)], sizes)


def _busiest(columns: Iterable[tuple[Round, ...]], count: Callable[[Round], int]) -> int:
    return sum(max(count(steps) for steps in column) for column in columns)
