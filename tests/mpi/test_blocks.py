"""Blocks with displacements: those to send may overlap, those to receive may not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from guarded import Guarded, poison
from mpi4py import MPI

pytestmark = pytest.mark.mpi

SIZE = MPI.COMM_WORLD.size


@pytest.mark.mpi(min_size=2)
def test_blocks_to_receive_that_overlap_are_refused(comm: Any) -> None:
    target = Guarded(poison(2 * SIZE))
    counts, displacements = [2] * SIZE, list(range(SIZE))
    spec = [target.array, counts, displacements, MPI.INT64_T]
    in_bytes = [target.array, counts, [8 * start for start in displacements], [MPI.INT64_T] * SIZE]
    every = [np.zeros(2 * SIZE, "i8"), counts]
    with pytest.raises(ValueError, match="ranks 0 and 1 overlap"):
        comm.Allgatherv(np.zeros(2, "i8"), spec)
    with pytest.raises(ValueError, match="overlap"):
        comm.Alltoallv(every, spec)
    with pytest.raises(ValueError, match="overlap"):
        comm.Alltoallw(in_bytes, in_bytes)
    assert target.unchanged


def test_blocks_to_send_may_overlap(comm: Any) -> None:
    mine = np.array([comm.rank, comm.rank + 1])
    got = poison(2 * SIZE)
    comm.Alltoallv([mine, [2] * SIZE, [0] * SIZE, MPI.INT64_T], [got, [2] * SIZE])
    assert got.reshape(SIZE, 2).tolist() == [[rank, rank + 1] for rank in range(SIZE)]
