"""Time plans and drop-in calls beside the bare MPI calls that they make; run it on two ranks.

The bare loop starts and waits for the same persistent requests, and combines by the same ufunc.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from mpi4py import MPI

from mpicoll import Communicator
from mpicoll.measure.environment import library
from mpicoll.measure.statistics import median
from mpicoll.measure.timing import slowest_rank

REPETITIONS = 4000
COUNT = 2
"""Elements of float32: 8 bytes."""

Action = Callable[[], Any]


class Case(NamedTuple):
    """A collective of so many rounds: the bare MPI calls, the plan, and the drop-in call."""

    name: str
    rounds: int
    bare: Action
    plan: Action
    call: Action


def exchange(comm: MPI.Intracomm, send: Any, receive: Any) -> Action:
    """A start and a wait of one message each way."""
    peer = 1 - comm.rank
    requests: list[Any] = [comm.Recv_init(receive, peer), comm.Send_init(send, peer)]
    start, wait = partial(MPI.Prequest.Startall, requests), partial(MPI.Request.Waitall, requests)

    def run() -> None:
        start()
        wait()

    return run


def cases(comm: Communicator, bare: MPI.Intracomm) -> list[Case]:
    """A barrier, and an allreduce of one round and of two; ``bare`` carries the bare messages."""
    send, receive = np.arange(COUNT, dtype=np.float32), np.zeros(COUNT, np.float32)
    other, half = np.zeros(COUNT, np.float32), COUNT // 2
    mine, theirs = (slice(half * r, half * (r + 1)) for r in (comm.rank, 1 - comm.rank))
    signal = exchange(bare, np.zeros(0), np.zeros(0))
    swap = exchange(bare, send, other)
    scatter = exchange(bare, send[theirs], other[mine])
    gather = exchange(bare, receive[mine], receive[theirs])

    def one_round() -> None:
        swap()
        np.add(send, other, receive)

    def two_rounds() -> None:
        scatter()
        np.add(send[mine], other[mine], receive[mine])
        gather()

    def allreduce(name: str | None, rounds: int, bare: Action) -> Case:
        plan = comm.Allreduce_init(send, receive, algorithm=name)
        call = partial(comm.Allreduce, send, receive, **({"algorithm": name} if name else {}))
        return Case(
            f"allreduce, {name or f'auto ({plan.algorithm})'}", rounds, bare, plan.run, call
        )

    barrier = comm.Barrier_init()
    return [
        Case(f"barrier, auto ({barrier.algorithm})", 1, signal, barrier.run, comm.Barrier),
        allreduce(None, 1, one_round),
        allreduce("recursive_doubling:stripes=1", 1, one_round),
        allreduce("ring:stripes=1", 2, two_rounds),
    ]


def turns(actions: list[Action], barrier: Action, vendor: MPI.Intracomm) -> list[float]:
    """The median of the slowest rank's time of each action, in us, as they take turns."""
    times = np.zeros((REPETITIONS, len(actions)))
    gc.disable()
    for row in times:
        for column, action in enumerate(actions):
            barrier()
            start = perf_counter()
            action()
            row[column] = perf_counter() - start
    gc.enable()
    longest = slowest_rank(vendor, times[REPETITIONS // 10 :])
    return list(map(median, longest.T.tolist()))


def main() -> None:
    """Measure and print, on rank 0."""
    with Communicator(MPI.COMM_WORLD) as comm:
        every, barrier = cases(comm, comm.vendor.Dup()), comm.Barrier_init()
        actions = [action for case in every for action in (case.bare, case.plan, case.call)]
        medians = turns(actions, barrier.run, comm.vendor)
        if comm.rank == 0:
            print("\n".join(lines(every, medians)))


def lines(every: list[Case], medians: list[float]) -> list[str]:
    """The table, in us."""
    walk = "compiled replay" if os.environ.get("MPICOLL_JIT") == "1" else "interpreted replay"
    rows = [
        f"{case.name:<40}{case.rounds:>7}{bare:>9.2f}{plan:>9.2f}{call:>9.2f}"
        f"{(plan - bare) / case.rounds:>17.2f}{call - plan:>16.2f}"
        for case, bare, plan, call in zip(
            every, medians[::3], medians[1::3], medians[2::3], strict=True
        )
    ]
    return [
        f"# {library()['vendor']}, 2 ranks, {4 * COUNT} bytes, {walk}; us",
        f"{'':<40}{'rounds':>7}{'bare MPI':>9}{'plan':>9}{'call':>9}"
        f"{'plan more/round':>17}{'call more/plan':>16}",
        *rows,
    ]


if __name__ == "__main__":
    main()
