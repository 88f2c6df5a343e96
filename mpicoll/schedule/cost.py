"""What a schedule costs: rounds, messages, exact bytes, and time in the alpha-beta-gamma model.

The time of a round is that of its busiest rank: alpha for each message of its busier direction,
beta for each byte of its busier direction, gamma for each byte that it combines (Hockney 1994;
Thakur, Rabenseifner, Gropp 2005).  alpha in seconds, beta and gamma in seconds a byte.
``estimate`` knows more of links between nodes: a round's messages overlap, and bytes are dearer
where ranks pass on to several peers (``switch``); both were seen over TCP (bench/hosts).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from .algorithm import Algorithm
from .contract import Cut
from .forms import Count
from .steps import Recv, RecvReduce, Reduce, Round, Send, split

STRIPE = 1 << 20
"""The most bytes of a stripe, so that what is in flight stays in the cache."""

LINK_STRIPE = 1 << 18
"""The most bytes of a stripe between nodes, unless it takes less than ``BUSY`` times alpha."""

BUSY = 50
"""How many times alpha a stripe takes between nodes, at least."""

MOST = 128
"""The most stripes, or blocks of a pipeline, of a vector."""


class Machine(NamedTuple):
    """The constants of a machine: alpha in s, beta and gamma in s/byte.

    ``switch``: how many times as long a byte takes where ranks pass on to more peers than one.
    Over TCP what is still in the socket's buffer shares the link with the next peer's message.
    The defaults are those of two Python processes that share a node's memory, in round numbers.
    """

    alpha: float = 5e-6
    beta: float = 2e-10
    gamma: float = 1e-10
    switch: float = 1.0


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
        """The predicted time in seconds, by alpha, beta and gamma alone."""
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
    nodes: Sequence[int] | None = None,
) -> Cost:
    """Count an algorithm's messages and bytes; ``block_bytes`` has the bytes of each block."""
    every = [algorithm.generate(rank, size, root, nodes=nodes) for rank in range(size)]
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
    algorithm: Algorithm, size: int, nbytes: int, nodes: Sequence[int] | None = None
) -> list[int]:
    """The sizes of the blocks of ``nbytes`` in all, cut evenly: what ``cost`` counts by default.

    ``nbytes`` is n: the vector, the sum of all ranks' blocks, or all that one rank sends.  A
    barrier's messages carry none.
    """
    count = algorithm.block_count(size, nodes)
    if algorithm.contract.idempotent:
        return [0] * count
    if algorithm.contract.cut is Cut.PAIR:
        return split(nbytes, size) * size
    return split(nbytes, count)


def estimate(
    algorithm: Algorithm,
    size: int,
    nbytes: float,
    machine: Machine,
    nodes: Sequence[int] | None = None,
    inside: Machine | None = None,
) -> float:
    """The predicted time in seconds by the closed forms, in constant time.

    ``nodes``: the node of each rank; ``inside``: the constants between ranks of one node, whose
    alpha is also what each further message of a round takes.  A vector is cut as ``cut`` does it.
    In b stripes the first takes the whole schedule's time and each other one that of the busiest
    rank: fill(n/b) + (b-1) stage(n/b).
    """
    if size == 1:
        return 0.0
    entry = cut(algorithm, size, nbytes, machine, nodes, inside)
    stripes = entry.options.get("stripes", 1)
    whole, stage = _timers(entry, size, machine, nodes, inside)
    return whole(nbytes / stripes) + (stripes - 1) * stage(nbytes / stripes)


def cut(
    algorithm: Algorithm,
    size: int,
    nbytes: float,
    machine: Machine,
    nodes: Sequence[int] | None = None,
    inside: Machine | None = None,
) -> Algorithm:
    """The same algorithm with the best number of stripes or blocks, where none was given.

    The optimum of ``estimate``, whose arguments these are: b = sqrt(n D / (alpha S)) where D is the
    time a byte that a pipeline hides and S the messages that a stripe more takes; and, where
    stripes are combined, none larger than what stays in the cache.
    """
    if size == 1 or {"stripes", "blocks"} & algorithm.options.keys():
        return algorithm
    least = _least(nbytes, machine, nodes) if algorithm.contract.operates else 1
    if algorithm.pipelined:
        return _in_blocks(algorithm, size, nbytes, _steady(algorithm, size, machine, nodes), least)
    if "stripes" not in algorithm.choices:
        return algorithm
    whole, stage = _timers(algorithm, size, machine, nodes, inside)
    hidden = whole(nbytes) - whole(0) - (stage(nbytes) - stage(0))
    wanted = _optimum(hidden, stage(0))
    stripes = min(MOST, max(1, wanted, least))
    return algorithm if stripes == 1 else algorithm.variant(stripes=stripes)


def _least(nbytes: float, machine: Machine, nodes: Sequence[int] | None) -> int:
    """The fewest stripes that keep what is combined in the cache and, between nodes, links busy.

    While a round ends there, other stripes' messages are under way, as long as they take a while.
    """
    stripes = nbytes // STRIPE
    if nodes is not None and len(set(nodes)) > 1:
        longest = nbytes * machine.beta / (BUSY * machine.alpha) if machine.alpha else MOST
        stripes = max(stripes, min(nbytes // LINK_STRIPE, longest))
    return int(stripes)


def _in_blocks(
    algorithm: Algorithm, size: int, nbytes: float, machine: Machine, least: int
) -> Algorithm:
    """A pipeline of its own: (b-1+R) rounds of n/b bytes, R being those of one block."""
    rounds = algorithm.variant(blocks=1).count(size).rounds
    hidden = (rounds - 1) * (machine.beta + machine.gamma * algorithm.contract.operates)
    wanted = _optimum(nbytes * hidden, machine.alpha)
    return algorithm.variant(blocks=min(MOST, max(1, wanted, least)))


def _optimum(hidden: float, price: float) -> int:
    """The b that makes hidden / b + price b least; ``hidden`` and ``price`` in seconds."""
    if hidden <= 0:
        return 1
    return round((hidden / price) ** 0.5) if price * MOST * MOST > hidden else MOST


def _timers(
    entry: Algorithm,
    size: int,
    machine: Machine,
    nodes: Sequence[int] | None,
    inside: Machine | None,
) -> tuple[Callable[[float], float], Callable[[float], float]]:
    """The time of a schedule, and of the rank that has most in it, by the vector's bytes."""
    inside = inside or machine
    machine = _steady(entry, size, machine, nodes)

    def timer(whole: Count, local: Count) -> Callable[[float], float]:
        between = Count(*(a - b for a, b in zip(whole, local, strict=True)))
        overhead = inside.alpha
        return lambda n: _time(between, n, machine, overhead) + _time(local, n, inside, overhead)

    return (
        timer(entry.count(size, nodes), entry.local_count(size, nodes)),
        timer(entry.rank_count(size, nodes), entry.local_rank_count(size, nodes)),
    )


def _steady(entry: Algorithm, size: int, machine: Machine, nodes: Sequence[int] | None) -> Machine:
    """The machine as an algorithm finds it that may change peers, or share a node's link."""
    where = None if nodes is None else tuple(nodes)
    dearer = 1.0 if where is None else sharers(entry, size, where)
    if machine.switch != 1 and switches(entry, size, where):
        dearer *= machine.switch
    return machine if dearer == 1 else machine._replace(beta=machine.beta * dearer)


@cache
def sharers(entry: Algorithm, size: int, nodes: tuple[int, ...]) -> int:
    """The ranks of the fullest node that send to other nodes, and so share its link; at least 1."""
    fullest, count = Counter(nodes).most_common(1)[0]
    if count in (1, size):
        return 1
    ranks = (rank for rank in range(size) if nodes[rank] == fullest)
    schedules = ((rank, entry.generate(rank, size, nodes=nodes)) for rank in ranks)
    return max(1, sum(bool(_outside(rounds, rank, nodes)) for rank, rounds in schedules))


@cache
def switches(entry: Algorithm, size: int, nodes: tuple[int, ...] | None = None) -> bool:
    """Whether some rank that receives sends to several peers on other nodes.

    Of many ranks some are looked at.
    """
    looked_at = range(size) if size <= 32 else {0, 1, size // 3, size // 2, size - 2, size - 1}
    return any(_passes_on(entry, rank, size, nodes) for rank in looked_at)


def _passes_on(entry: Algorithm, rank: int, size: int, nodes: tuple[int, ...] | None) -> bool:
    rounds = entry.generate(rank, size, nodes=nodes)
    return any(map(_receives, rounds)) and len(_outside(rounds, rank, nodes)) > 1


def _outside(rounds: Iterable[Round], rank: int, nodes: tuple[int, ...] | None) -> set[int]:
    """The ranks on other nodes that a rank sends to."""
    peers = {step.peer for steps in rounds for step in _sends(steps)}
    return {peer for peer in peers if nodes is None or nodes[peer] != nodes[rank]}


def _time(count: Count, nbytes: float, machine: Machine, overhead: float) -> float:
    """alpha for a round's first message, an overhead for each further one of its busiest rank."""
    first = min(count.rounds, count.startups)
    return (
        machine.alpha * first
        + overhead * (count.startups - first)
        + machine.beta * nbytes * count.volume
        + machine.gamma * nbytes * count.reduced
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
