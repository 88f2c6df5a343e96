"""The noise floor: what is measured where there is nothing to measure."""

from __future__ import annotations

from dataclasses import dataclass
from platform import node
from time import perf_counter

import numpy as np
from mpi4py import MPI

from ..communicator import Communicator
from ..schedule.steps import ceil_log2
from .patterns import Array
from .statistics import median
from .timing import slowest_rank
from .words import floor_noise_us

REPETITIONS = 200


@dataclass(frozen=True)
class Floor:
    """Medians in microseconds.

    ``empty_us``: a timed call that does nothing.  ``round_us``: a round of messages without bytes
    through the interpreter; an algorithm cannot be faster than its rounds times this.
    ``skew_us``: between the first and the last rank to leave the barrier that stands before each
    repetition; None on several hosts, whose clocks cannot be compared.
    """

    empty_us: float
    round_us: float
    skew_us: float | None


def measure_floor(comm: Communicator, one_host: bool) -> Floor:
    """Measure the floor; collective; the numbers are right on rank 0."""
    marks = _marks(comm)
    longest = slowest_rank(comm.vendor, np.diff(marks, axis=1))
    barrier, empty = (median(column) for column in longest.T.tolist())
    rounds = max(1, ceil_log2(comm.Get_size()))
    return Floor(
        empty, barrier / rounds, _skew(comm.vendor, marks[:, 1].copy()) if one_host else None
    )


def noise_of(comm: Communicator) -> float:
    """The difference below which two times are the same, in microseconds; collective."""
    hosts = set(comm.vendor.allgather(node()))
    floor = measure_floor(comm, one_host=len(hosts) == 1)
    return float(comm.vendor.bcast(floor_noise_us(vars(floor))))


def _marks(comm: Communicator) -> Array:
    """Clock readings before and after a barrier, and after nothing: a row a repetition."""
    plan = comm.Barrier_init(algorithm="dissemination")
    marks = np.zeros((REPETITIONS, 3))
    for row in marks:
        plan.run()
        row[0] = perf_counter()
        plan.run()
        row[1] = perf_counter()
        row[2] = perf_counter()
    plan.Free()
    return marks


def _skew(vendor: MPI.Intracomm, exits: Array) -> float:
    first, last = np.zeros_like(exits), np.zeros_like(exits)
    vendor.Allreduce(exits, first, MPI.MIN)
    vendor.Allreduce(exits, last, MPI.MAX)
    return median(((last - first) * 1e6).tolist())
