"""A program for four ranks of MPICH: what betrays the algorithms of its collectives.

Rank 0 prints as JSON, for 1 KiB and for 4 KiB each:
allreduce: the sums of 1e16, 1, 1, -1e16 that came out.  Summed in pairs of neighbours they make 0;
one after the other from rank 0, 1, 2 or 3 on, as a ring does in its blocks, 0, 2, 1 and 2.
bcast: whether rank 1 has its vector before rank 3 takes part.  In a tree it has it from rank 0.
reduce_scatter: the lengths of the vectors that an operator in Python got on rank 0.
"""

from __future__ import annotations

import json
from time import monotonic
from typing import Any

import numpy as np
from mpi4py import MPI

COMM = MPI.COMM_WORLD

PATIENCE = {1024: 0.3, 4096: 20.0}
"""Seconds that rank 3 waits for word from rank 1 before it takes part, by size."""


def allreduce(nbytes: int) -> list[float]:
    mine = np.full(nbytes // 8, [1e16, 1.0, 1.0, -1e16][COMM.rank])
    total = np.empty_like(mine)
    COMM.Allreduce(mine, total)
    return sorted(set(total.tolist()))


def bcast(nbytes: int) -> bool:
    vector = np.full(nbytes // 8, float(COMM.rank))
    COMM.Barrier()
    early = _hears_from(1, PATIENCE[nbytes]) if COMM.rank == 3 else False
    COMM.Bcast(vector)
    assert not vector.any()
    if COMM.rank == 1:
        COMM.send(None, 3, 7)
    if COMM.rank == 3:
        COMM.recv(source=1, tag=7)
    return bool(COMM.bcast(early, 3))


def _hears_from(rank: int, seconds: float) -> bool:
    """Whether a message comes in so many seconds; it is left where it is."""
    end = monotonic() + seconds
    while monotonic() < end:
        if COMM.iprobe(source=rank, tag=7):
            return True
    return False


def reduce_scatter(nbytes: int) -> list[int]:
    lengths = list[int]()

    def add(left: Any, right: Any, datatype: MPI.Datatype) -> None:
        lengths.append(len(left) // 8)
        np.frombuffer(right, np.float64)[:] += np.frombuffer(left, np.float64)

    operator = MPI.Op.Create(add, commute=True)
    mine, total = np.full(nbytes // 8, 10.0**COMM.rank), np.empty(nbytes // 32)
    COMM.Reduce_scatter_block(mine, total, operator)
    operator.Free()
    assert (total == 1111.0).all()
    return lengths


def main() -> None:
    found = {test.__name__: [test(n) for n in PATIENCE] for test in TESTS}
    if COMM.rank == 0:
        print(json.dumps(found))


TESTS = (allreduce, bcast, reduce_scatter)

main()
