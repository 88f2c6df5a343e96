"""The same bits on all ranks, always; with ``deterministic=True`` also in all algorithms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from mpi4py import MPI

import mpicoll
from mpicoll.schedule import serving

pytestmark = pytest.mark.mpi

SIZE = MPI.COMM_WORLD.size


def awkward(rank: int, count: int, dtype: str) -> np.ndarray:
    """Numbers of mixed sign and size, whose sum depends on the order of the additions."""
    generator = np.random.default_rng(rank)
    magnitudes = 10.0 ** generator.integers(-6, 6, count)
    return (generator.standard_normal(count) * magnitudes).astype(dtype)


def sums(comm: Any, mine: np.ndarray) -> dict[str, bytes]:
    """Algorithm -> bits of the sum, for each that this communicator lets run."""
    results = {}
    for entry in serving("allreduce", SIZE):
        got = np.empty_like(mine)
        try:
            comm.Allreduce(mine, got, algorithm=entry.name)
        except mpicoll.Unserved:
            continue
        results[entry.name] = got.tobytes()
    return results


@pytest.mark.parametrize("count", [1, 1000])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_every_rank_has_the_same_bits(comm: Any, count: int, dtype: str) -> None:
    for name, bits in sums(comm, awkward(comm.rank, count, dtype)).items():
        assert len(set(comm.vendor.allgather(bits))) == 1, name


@pytest.mark.parametrize("count", [1, 7, 1000, 50000])
def test_every_algorithm_has_the_same_bits_where_asked_for(count: int) -> None:
    with mpicoll.Communicator(MPI.COMM_WORLD, deterministic=True) as comm:
        results = sums(comm, awkward(comm.rank, count, "f4"))
        assert results
        assert len(set(results.values())) == 1, sorted(results)
        assert len(set(comm.vendor.allgather(next(iter(results.values()))))) == 1
        automatic = np.empty(count, "f4")
        comm.Allreduce(awkward(comm.rank, count, "f4"), automatic)
        assert automatic.tobytes() in results.values()


def test_bits_do_not_depend_on_how_a_vector_is_cut() -> None:
    whole = awkward(MPI.COMM_WORLD.rank, 4096, "f4")
    with mpicoll.Communicator(MPI.COMM_WORLD, deterministic=True) as comm:
        at_once, in_parts = np.empty(4096, "f4"), np.empty(4096, "f4")
        comm.Allreduce(whole, at_once)
        for start in range(0, 4096, 100):
            comm.Allreduce(whole[start : start + 100], in_parts[start : start + 100])
        assert at_once.tobytes() == in_parts.tobytes()


def test_the_vendors_bits_are_not_promised(comm: Any) -> None:
    mine, total = np.ones(3), np.zeros(3)
    for call in (comm.Allreduce, comm.Iallreduce, comm.Allreduce_init):
        with pytest.raises(mpicoll.Unserved, match=r"allreduce 'vendor'.*deterministic=True"):
            call(mine, total, algorithm="vendor", deterministic=True)
    assert total.tolist() == [0, 0, 0]
    gathered = np.zeros((SIZE, 3))
    comm.Allgather(mine, gathered, algorithm="vendor", deterministic=True)
    assert (gathered == 1).all()
