"""How a time is taken.

One repetition of one contender is the longest of all ranks' own times, after a barrier of our
own.  Contenders take turns on the same buffers in an order that is shuffled from a seed which all
ranks share; results are checked before and after; garbage is not collected meanwhile.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np
from mpi4py import MPI

from ..communicator import Communicator
from ..schedule import VENDOR
from .cases import AUTO
from .patterns import Array
from .settings import LEAST
from .trial import Trial

WARM_UP = 2
MOST = 300
"""Rounds of warm-up at every size, and the most repetitions."""

Action: TypeAlias = Callable[[], Any]


@dataclass(frozen=True)
class Contender:
    """A way to run a trial: its name, the call to time, and what to do when it is done with.

    ``chosen``: the algorithm that runs, with its options; None where that is the vendor's business.
    """

    name: str
    run: Action
    free: Action
    chosen: str | None = None


@dataclass(frozen=True)
class Timing:
    """What was measured of one contender: microseconds a repetition, on rank 0; wrong elements.

    ``chosen`` as in ``Contender``.
    """

    name: str
    samples_us: list[float]
    wrong: int
    chosen: str | None = None


def contender(trial: Trial, comm: Communicator, name: str, persistent: bool = True) -> Contender:
    """A plan that is bound once, or the blocking call; the vendor's is always its blocking call."""
    if name == VENDOR:
        return Contender(name, trial.call(comm.vendor), _nothing)
    algorithm = None if name == AUTO else name
    plan = trial.call(comm, suffix="_init", algorithm=algorithm)()
    if persistent:
        return Contender(name, plan.run, plan.Free, plan.algorithm)
    plan.Free()
    return Contender(name, trial.call(comm, algorithm=algorithm), _nothing, plan.algorithm)


def measure(
    trial: Trial,
    comm: Communicator,
    contenders: Sequence[Contender],
    seconds: float,
    seed: str,
    fewest: int = LEAST,
) -> list[Timing]:
    """Time all contenders of one trial in about so many seconds; to be called by all ranks alike.

    Each has at least ``fewest`` repetitions; where those are fewer than usual, the check before
    them is all the warm-up.  One that gives a wrong result is not timed: its samples are empty.
    """
    before = [verify(trial, comm, one) for one in contenders]
    right = [one for one, wrong in zip(contenders, before, strict=True) if not wrong]
    samples = _samples(trial, comm, right, seconds, seed, fewest) if right else {}
    after = [verify(trial, comm, one) if one in right else 0 for one in contenders]
    return [
        Timing(one.name, samples.get(one.name, []), first + last, one.chosen)
        for one, first, last in zip(contenders, before, after, strict=True)
    ]


def verify(trial: Trial, comm: Communicator, one: Contender) -> int:
    """Run once on fresh data; the number of wrong elements on all ranks together."""
    trial.fill()
    one.run()
    return int(comm.vendor.allreduce(trial.wrong()))


def _samples(
    trial: Trial,
    comm: Communicator,
    contenders: Sequence[Contender],
    seconds: float,
    seed: str,
    fewest: int,
) -> dict[str, list[float]]:
    barrier = comm.Barrier_init(algorithm="dissemination")
    actions = [one.run for one in contenders]
    refill = trial.refill if trial.case.in_place else _nothing
    orders = _orders(len(actions), seed)
    with _without_garbage_collection():
        _take_turns(actions, barrier.run, refill, orders, WARM_UP if fewest >= LEAST else 0)
        start, parts, more = perf_counter(), list[Array](), fewest
        while more:
            parts.append(_take_turns(actions, barrier.run, refill, orders, more))
            spent = comm.vendor.allreduce(perf_counter() - start, MPI.MAX)
            more = _more(sum(map(len, parts)), spent, seconds)
    barrier.Free()
    longest = slowest_rank(comm.vendor, np.concatenate(parts))
    return {one.name: column for one, column in zip(contenders, longest.T.tolist(), strict=True)}


def _orders(count: int, seed: str) -> Iterator[list[int]]:
    """Endless orders of the contenders, each shuffled anew; the same on every rank."""
    random = Random(seed)
    while True:
        yield random.sample(range(count), count)


def _take_turns(
    actions: Sequence[Action],
    barrier: Action,
    refill: Action,
    orders: Iterator[list[int]],
    rounds: int,
) -> Array:
    """This rank's seconds: a row a repetition, a column an action."""
    times = np.zeros((rounds, len(actions)))
    for row in times:
        for index in next(orders):
            action = actions[index]
            refill()
            barrier()
            start = perf_counter()
            action()
            row[index] = perf_counter() - start
    return times


def _more(done: int, spent: float, seconds: float) -> int:
    """How many repetitions to add: at most as many again, as far as time and ``MOST`` allow."""
    affordable = int((seconds - spent) / spent * done)
    return max(0, min(done, affordable, MOST - done))


def slowest_rank(vendor: MPI.Intracomm, seconds: Array) -> Array:
    """The maximum over ranks of each time, in microseconds, on rank 0; zeros elsewhere."""
    longest = np.zeros_like(seconds)
    vendor.Reduce(seconds, longest, MPI.MAX, root=0)
    return longest * 1e6


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _nothing() -> None:
    pass
