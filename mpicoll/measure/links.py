"""The constants of a machine's links: alpha and beta by ping-pong, gamma by timing an addition.

alpha is what a message takes with all that our plans do for it, so that it is the one of the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

import numpy as np
from mpi4py import MPI

from ..communicator import Communicator, Tuning
from ..schedule import Machine
from ..transport.buffers import vector
from ..transport.operators import operator
from .statistics import median

SIZES = (8, 512, 4096, 32768, 262144, 1048576)
"""The messages of a ping-pong, in bytes."""

SECONDS = 0.15
"""The time for a size, with no fewer than ``FEWEST`` exchanges and no more than ``MOST``."""

FEWEST, MOST = 4, 200

GATHERED = 1 << 18
"""The bytes from each rank of the allgathers that are compared."""

COMBINED = 1 << 18
"""The bytes of a vector whose addition is timed: they stay in the cache, as a stripe's do."""


def fit(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """alpha and beta of t = alpha + beta n, for points (n, t); neither is negative.

    alpha is the time of the shortest message, beta the slope of least squares through it, in which
    long messages count most.  A line fitted freely may begin below zero, where links let the first
    bytes through faster.  Raises ``ValueError`` for fewer than two sizes.
    """
    if len({nbytes for nbytes, _ in points}) < 2:
        raise ValueError(f"fit: got the points {list(points)}, expected two sizes or more")
    _, alpha = min(points)
    above = sum(nbytes * (time - alpha) for nbytes, time in points)
    return alpha, max(0.0, above / sum(nbytes**2 for nbytes, _ in points))


def pairs(nodes: Sequence[int]) -> dict[str, tuple[int, int]]:
    """Two ranks for each link class that there is: ``node``, in one; ``network``, between two."""
    first: dict[int, int] = {}
    found: dict[str, tuple[int, int]] = {}
    for rank, node in enumerate(nodes):
        if node in first:
            found.setdefault("node", (first[node], rank))
        elif first:
            found.setdefault("network", (nodes.index(nodes[0]), rank))
        first.setdefault(node, rank)
    return found


def measure_links(comm: Communicator) -> dict[str, Machine]:
    """The constants of each link class that the ranks have; collective, the same on every rank."""
    gamma = _gamma(comm.vendor)
    found = {name: _link(comm.vendor, pair, gamma) for name, pair in pairs(comm.nodes).items()}
    if "network" in found:
        found["network"] = found["network"]._replace(switch=_switch(comm))
    return found


def _link(vendor: MPI.Intracomm, pair: tuple[int, int], gamma: float) -> Machine:
    """A link's constants; the ranks that are not of the pair wait for them."""
    points = _ping_pong(vendor, pair)
    return Machine(*fit(vendor.bcast(points, root=pair[0])), gamma)


def _ping_pong(vendor: MPI.Intracomm, pair: tuple[int, int]) -> list[tuple[float, float]]:
    """(bytes, seconds) of a message, on the first of the pair; nothing elsewhere."""
    member = vendor.rank in pair
    both = vendor.Split(0 if member else MPI.UNDEFINED, pair.index(vendor.rank) if member else 0)
    if not member:
        return []
    with Communicator(both, tuning=Tuning()) as comm:
        points = [(float(nbytes), _one_way(comm, nbytes)) for nbytes in SIZES]
    both.Free()
    return points


def _one_way(comm: Communicator, nbytes: int) -> float:
    """The median of half of each exchange there and back, in seconds."""
    message = np.zeros(nbytes, np.uint8)
    there, back = (comm.Bcast_init(message, root, algorithm="linear:stripes=1") for root in (0, 1))

    def exchange() -> float:
        start = perf_counter()
        there.run()
        back.run()
        return (perf_counter() - start) / 2

    warm = [exchange() for _ in range(2)][-1]
    count = comm.vendor.bcast(min(MOST, max(FEWEST, int(SECONDS / 2 / warm))))
    times = [exchange() for _ in range(count)]
    there.Free()
    back.Free()
    return median(times)


def _switch(comm: Communicator) -> float:
    """How many times as long an allgather takes that changes peers as one that does not.

    Among one rank of each node, on two of which there is no difference.
    """
    first = comm.rank == comm.nodes.index(comm.nodes[comm.rank])
    leaders = comm.vendor.Split(0 if first else MPI.UNDEFINED, comm.rank)
    factor = 1.0
    if first:
        with Communicator(leaders, tuning=Tuning()) as heads:
            factor = _allgather(heads, "circulant") / _allgather(heads, "ring")
        leaders.Free()
    return max(1.0, float(comm.vendor.bcast(factor)))


def _allgather(comm: Communicator, algorithm: str) -> float:
    """The median time of an allgather of ``GATHERED`` bytes from each rank, on the slowest one."""
    mine, every = np.zeros(GATHERED, np.uint8), np.zeros(GATHERED * comm.size, np.uint8)
    times = []
    with comm.Allgather_init(mine, every, algorithm=algorithm) as plan:
        for _ in range(6):
            comm.vendor.Barrier()
            start = perf_counter()
            plan.run()
            times.append(perf_counter() - start)
    return float(comm.vendor.allreduce(median(times[1:]), MPI.MAX))


def _gamma(vendor: MPI.Intracomm) -> float:
    """Seconds for each byte of a sum, where all ranks add at once: the slowest rank's median."""
    left, right = np.ones(COMBINED // 4, np.float32), np.ones(COMBINED // 4, np.float32)
    combine = operator(MPI.SUM, vector(left, name="left", writable=True)).combine
    times = []
    for _ in range(20):
        vendor.Barrier()
        start = perf_counter()
        combine(left, right, left)
        times.append(perf_counter() - start)
    return float(vendor.allreduce(median(times), MPI.MAX)) / COMBINED
