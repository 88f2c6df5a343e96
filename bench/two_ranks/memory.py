"""Time the allreduce of 64 MiB beside two ranks that copy as much at once; run it on two ranks.

An allreduce of n bytes on two ranks reads n on each and the other's half, and writes its own half
and fetches the other: 5 n in all, 5/2 n a rank.  A copy of n bytes reads and writes n.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from platform import node
from time import perf_counter
from typing import Any

import numpy as np
from mpi4py import MPI

from mpicoll import Communicator
from mpicoll.measure.environment import library
from mpicoll.measure.statistics import median
from mpicoll.measure.timing import slowest_rank

COUNT = 16 << 20
"""Elements of float32: 64 MiB."""

REPETITIONS = 40
PINGS = 1000


def turns(comm: Communicator, actions: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """The median of the slowest rank's time of each action, in us, as they take turns."""
    barrier = comm.Barrier_init()
    times = np.zeros((REPETITIONS, len(actions)))
    for row in times:
        for column, action in enumerate(actions.values()):
            barrier.run()
            start = perf_counter()
            action()
            row[column] = perf_counter() - start
    barrier.Free()
    longest = slowest_rank(comm.vendor, times[REPETITIONS // 4 :])
    return dict(zip(actions, map(median, longest.T.tolist()), strict=True))


def latency(comm: MPI.Intracomm) -> float:
    """The seconds of a message of 8 bytes, half of a way there and back."""
    data, peer, times = np.zeros(1), 1 - comm.rank, []
    for _ in range(PINGS):
        start = perf_counter()
        if comm.rank:
            comm.Recv(data, peer)
        comm.Send(data, peer)
        if not comm.rank:
            comm.Recv(data, peer)
        times.append(perf_counter() - start)
    return median(times) / 2


def main() -> None:
    """Measure and print, on rank 0."""
    with Communicator(MPI.COMM_WORLD) as comm:
        send = np.arange(COUNT, dtype=np.float32) + comm.rank
        receive, copied = np.zeros_like(send), np.zeros_like(send)
        plan = comm.Allreduce_init(send, receive)
        actions = {
            "copy": partial(np.copyto, copied, send),
            f"auto ({plan.algorithm})": plan.run,
            "the vendor's": partial(comm.vendor.Allreduce, send, receive),
        }
        medians, alpha = turns(comm, actions), latency(comm.vendor)
        plan.Free()
        if comm.rank == 0:
            print("\n".join(lines(medians, alpha, send.nbytes)))


def lines(medians: dict[str, float], alpha: float, nbytes: int) -> list[str]:
    """What came out, and last the constants for ``mpicoll bench --machine``."""
    copy = medians.pop("copy")
    bandwidth, least = 4 * nbytes / copy / 1e3, 1.25 * copy
    head = f"{library()['vendor']}, two ranks on {node()}"
    return [
        f"# {head}: copying 64 MiB at once takes {copy / 1e3:.2f} ms: {bandwidth:.1f} GB/s",
        f"moving 5 n bytes at that bandwidth: {least / 1e3:.2f} ms",
        *(
            f"allreduce, {name}: {time / 1e3:.2f} ms, {time / least:.2f} times as long"
            for name, time in medians.items()
        ),
        f"machine: {alpha:.3g},{copy / 1e6 / nbytes:.3g}",
    ]


if __name__ == "__main__":
    main()
