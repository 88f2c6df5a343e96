"""A program for four ranks of MPICH: what betrays the algorithms of its collectives.

Its argument is what is expected of bcast, which says how long to wait.  Rank 0 prints as JSON:
allreduce: the sums of 1e16, 1, 1, -1e16 that came out, of 1 KiB and of 4 KiB.  Summed in pairs of
neighbours they make 0; one after the other from rank 0, 1, 2 or 3 on, as a ring does in its
blocks, 0, 2, 1 and 2.
bcast: for vectors of 1, 2, 3 ... KiB, whether rank 1 has its vector before rank 3 takes part, rank
2 before rank 1, and rank 3 before rank 2.  Whoever has it so does not have it from there.
reduce_scatter: the lengths of the vectors that an operator in Python got on rank 0, as allreduce.
"""

from __future__ import annotations

import json
import sys
from time import monotonic
from typing import Any

import numpy as np
from mpi4py import MPI

COMM = MPI.COMM_WORLD

SIZES = (1024, 4096)

PAIRS = ((1, 3), (2, 1), (3, 2))
"""Who must have the vector before whom takes part."""

PATIENCE = {True: 20.0, False: 0.3}
"""Seconds that a rank waits for word from another before it takes part, as that is expected."""


def allreduce() -> list[list[float]]:
    return [_sums(nbytes) for nbytes in SIZES]


def _sums(nbytes: int) -> list[float]:
    mine = np.full(nbytes // 8, [1e16, 1.0, 1.0, -1e16][COMM.rank])
    total = np.empty_like(mine)
    COMM.Allreduce(mine, total)
    return sorted(set(total.tolist()))


def bcast() -> list[list[bool]]:
    every = json.loads(sys.argv[1])
    return [
        [_is_early(1024 * size, pair, wait) for pair, wait in zip(PAIRS, waits, strict=True)]
        for size, waits in enumerate(every, 1)
    ]


def _is_early(nbytes: int, pair: tuple[int, int], expected: bool) -> bool:
    """Whether the first of a pair has a vector of rank 0 before the second takes part."""
    first, second = pair
    vector = np.full(nbytes // 8, float(COMM.rank))
    COMM.Barrier()
    early = _hears_from(first, PATIENCE[expected]) if COMM.rank == second else False
    COMM.Bcast(vector)
    assert not vector.any()
    if COMM.rank == first:
        COMM.send(None, second, 7)
    if COMM.rank == second:
        COMM.recv(source=first, tag=7)
    return bool(COMM.bcast(early, second))


def _hears_from(rank: int, seconds: float) -> bool:
    """Whether a message comes in so many seconds; it is left where it is."""
    end = monotonic() + seconds
    while monotonic() < end:
        if COMM.iprobe(source=rank, tag=7):
            return True
    return False


def reduce_scatter() -> list[list[int]]:
    return [_lengths(nbytes) for nbytes in SIZES]


def _lengths(nbytes: int) -> list[int]:
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
    found = {test.__name__: test() for test in (allreduce, bcast, reduce_scatter)}
    if COMM.rank == 0:
        print(json.dumps(found))


main()
