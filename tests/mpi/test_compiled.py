"""Compiled plans give what the interpreted ones give, bit for bit."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI

import mpicoll
from mpicoll.transport import compiled
from mpicoll.transport.table import DTYPES

pytestmark = [
    pytest.mark.mpi,
    pytest.mark.skipif(
        importlib.util.find_spec("numba") is None,
        reason="Numba is not here; install mpicoll[jit] to test compiled plans",
    ),
]
SIZE = MPI.COMM_WORLD.Get_size()
OPERATORS = {"sum": MPI.SUM, "prod": MPI.PROD, "max": MPI.MAX, "min": MPI.MIN}


@pytest.fixture
def spinning(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A communicator whose plans are compiled where they can be, however few the cores."""
    monkeypatch.setenv("MPICOLL_JIT", "1")
    compiled.kernel.cache_clear()
    with mpicoll.Communicator(MPI.COMM_WORLD, wait="spin") as comm:
        yield comm
    compiled.kernel.cache_clear()


def is_compiled(plan: mpicoll.Plan) -> bool:
    return [getattr(step[0], "__name__", "") for step in plan._steps] == ["run"]


def combines(plan: mpicoll.Plan) -> bool:
    """Whether this rank combines anything; one that folds into another only sends and receives."""
    steps = (step for entry in plan._rounds for step in (*entry.during, *entry.after))
    return any(function is not np.copyto for function, _ in steps)


def serves(dtype: Any, op: Any) -> bool:
    """Extremes of floating point are left to NumPy, for the sake of signed zeros."""
    return op not in (MPI.MAX, MPI.MIN) or dtype.kind == "i"


def results(comm: Any, monkeypatch: pytest.MonkeyPatch, name: str, *given: Any, **how: Any) -> Any:
    """What a compiled and an interpreted plan of one call leave in the receive buffer."""
    found = []
    for jit in ("1", "0"):
        monkeypatch.setenv("MPICOLL_JIT", jit)
        compiled.kernel.cache_clear()
        send, receive = (np.array(buffer) for buffer in given)
        with getattr(comm, f"{name}_init")(send, receive, **how) as plan:
            if jit == "0" or serves(send.dtype, how.get("op")):
                assert is_compiled(plan) is (jit == "1")
            for _ in range(3):
                receive[:] = given[1]
                plan.run()
        found.append(receive)
    return found


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.parametrize("algorithm", ["recursive_doubling", "ring", "allgather_reduce"])
def test_allreduce(
    spinning: Any, monkeypatch: pytest.MonkeyPatch, dtype: Any, op: str, algorithm: str
) -> None:
    values = (np.arange(-20, 17) * (spinning.rank + 1) / 3).astype(dtype)
    how = {"op": OPERATORS[op], "algorithm": algorithm}
    fast, slow = results(spinning, monkeypatch, "Allreduce", values, np.zeros_like(values), **how)
    assert fast.tobytes() == slow.tobytes()
    if op == "max":
        every = [(np.arange(-20, 17) * (rank + 1) / 3).astype(dtype) for rank in range(SIZE)]
        assert fast.tolist() == np.max(every, axis=0).tolist()


def test_a_nan_wins_and_integers_wrap(spinning: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    special = np.array([np.nan if spinning.rank == SIZE - 1 else 1.0, float(spinning.rank), np.inf])
    for op in (MPI.MAX, MPI.MIN):
        fast, _ = results(spinning, monkeypatch, "Allreduce", special, np.zeros(3), op=op)
        assert np.isnan(fast[0])
        assert fast[1:].tolist() == [SIZE - 1 if op == MPI.MAX else 0, np.inf]
    large = np.array([2**31 - 1, -(2**31)], "i4")
    fast, slow = results(spinning, monkeypatch, "Allreduce", large, np.zeros_like(large))
    wrapped = [(SIZE * value + 2**31) % 2**32 - 2**31 for value in (2**31 - 1, -(2**31))]
    assert fast.tolist() == slow.tolist() == wrapped


def test_what_only_copies(spinning: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = np.arange(SIZE * 3) + 100 * spinning.rank
    for algorithm in mpicoll.algorithms("alltoall"):
        fast, slow = results(
            spinning, monkeypatch, "Alltoall", mine, np.zeros_like(mine), algorithm=algorithm
        )
        assert fast.tolist() == slow.tolist()
        assert fast.tolist() == [
            100 * r + 3 * spinning.rank + i for r in range(SIZE) for i in range(3)
        ]


@pytest.mark.skipif(SIZE == 1, reason="one rank combines nothing; start more")
def test_what_is_interpreted(spinning: Any) -> None:
    """Operators and dtypes that compiled code has not, long stretches, and ranks that yield."""
    cases = [
        (np.ones(4, "u2"), MPI.SUM),
        (np.ones(4), np.hypot),
        (np.ones(4), lambda a, b: a + b),
        (np.ones(compiled.LARGEST), MPI.SUM),
    ]
    whole = "recursive_doubling:stripes=1"
    for values, op in cases:
        out = np.zeros_like(values)
        with spinning.Allreduce_init(values, out, op=op, algorithm=whole) as plan:
            assert not (combines(plan) and is_compiled(plan))
            plan.run()
    with (
        mpicoll.Communicator(spinning.vendor, wait="yield") as yielding,
        yielding.Allreduce_init(np.ones(4), np.zeros(4)) as plan,
    ):
        assert not is_compiled(plan)
        plan.run()


def test_beside_what_is_under_way(spinning: Any) -> None:
    """A compiled plan waits inside MPI, so where something else is under way it is interpreted."""
    mine, total, other = np.full(4, 1.0 + spinning.rank), np.zeros(4), np.zeros(4)
    with spinning.Allreduce_init(mine, total) as plan:
        request = spinning.Iallreduce(mine, other, op=MPI.MAX)
        plan.run()
        request.Wait()
        plan.Start()
        plan.Wait()
    assert total.tolist() == [SIZE * (SIZE + 1) / 2] * 4
    assert other.tolist() == [SIZE] * 4


def test_numba_that_does_not_work(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled.kernel.cache_clear()
    monkeypatch.setenv("MPICOLL_JIT", "1")
    monkeypatch.setitem(sys.modules, "mpicoll.transport.kernel", None)
    with pytest.warns(RuntimeWarning, match="plans are interpreted, since Numba does not work"):
        assert compiled.kernel() is None
    compiled.kernel.cache_clear()
    monkeypatch.setenv("MPICOLL_JIT", "yes")
    with pytest.raises(ValueError, match="MPICOLL_JIT is 'yes', expected one of '0', '1'"):
        compiled.kernel()
    compiled.kernel.cache_clear()
