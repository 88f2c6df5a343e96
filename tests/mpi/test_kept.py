"""Ordinary calls on the same memory replay one plan; on any other memory they never do."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI

import mpicoll
from mpicoll.communicator import kept
from mpicoll.transport import plan
from mpicoll.transport.program import Memory

pytestmark = pytest.mark.mpi
SIZE = MPI.COMM_WORLD.Get_size()
RANKS = range(SIZE)


@pytest.fixture
def fresh(comm: Any) -> Any:
    with mpicoll.Communicator(comm.vendor) as one:
        yield one


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The plans made from now on, by their algorithms."""
    names: list[str] = []
    bind = plan.Plan.__init__

    def init(self: Any, program: Any, binding: Any, algorithm: str) -> None:
        names.append(algorithm)
        bind(self, program, binding, algorithm)

    monkeypatch.setattr(plan.Plan, "__init__", init)
    return names


def test_the_same_call_makes_one_plan(fresh: Any, made: list[str]) -> None:
    mine, total = np.empty(5), np.empty(5)
    for turn in range(4):
        mine[:] = 100 * fresh.rank + np.arange(5) + turn
        fresh.Allreduce(mine, total)
        assert total.tolist() == [sum(100 * r + i + turn for r in RANKS) for i in range(5)]
    assert len(made) == 1
    fresh.Allreduce([mine, MPI.DOUBLE], total, MPI.SUM)
    fresh.Allreduce(mine, total, op=MPI.MAX)
    assert total[4] == 100 * (SIZE - 1) + 7
    assert len(made) == 3  # another spelling and another operator are other calls


def test_root_algorithm_and_determinism_make_other_calls(fresh: Any, made: list[str]) -> None:
    values = np.empty(3, np.int32)
    for root in (0, SIZE - 1):
        for algorithm in ("linear", "binomial"):
            values[:] = fresh.rank * 10 + np.arange(3)
            fresh.Bcast(values, root, algorithm=algorithm)
            assert values.tolist() == [10 * root + i for i in range(3)]
    assert len(made) == (4 if SIZE > 1 else 2)
    before = len(made)
    for fresh.deterministic in (False, True, False):
        fresh.Allreduce(MPI.IN_PLACE, values, MPI.MIN)
    assert len(made) - before == 2


def test_nothing_is_kept_alive(fresh: Any) -> None:
    mine, total = np.ones(7), np.empty(7)
    fresh.Allreduce(mine, total)
    assert len(fresh._kept) == 1
    gone = [weakref.ref(mine), weakref.ref(total)]
    del mine, total
    gc.collect()
    assert [ref() for ref in gone] == [None, None]


def test_freed_and_replaced_arrays(fresh: Any) -> None:
    """The allocator hands the same addresses out again, in other shapes and dtypes."""
    for turn in range(200):
        count, dtype = 1 + turn % 7, ("f8", "i4", "u1", "f4")[turn % 4]
        mine = np.full(count, 1 + turn % 3, dtype)
        total = np.full(count, 99, dtype)
        fresh.Allreduce(mine, total)
        assert total.tolist() == [SIZE * (1 + turn % 3)] * count


def test_a_resized_array(fresh: Any) -> None:
    mine, total = np.arange(4.0), np.empty(4)
    fresh.Allreduce(mine, total)
    mine.resize(9, refcheck=False)
    mine[:] = np.arange(9) + fresh.rank
    total.resize(9, refcheck=False)
    fresh.Allreduce(mine, total)
    assert total.tolist() == [SIZE * i + sum(RANKS) for i in range(9)]


def test_another_view_of_the_same_memory(fresh: Any, made: list[str]) -> None:
    memory, total = np.arange(12.0) + fresh.rank, np.empty(6)
    fresh.Allreduce(memory[:6], total)
    fresh.Allreduce(memory[::2], total)  # same address and count, other strides: never kept
    assert total.tolist() == [SIZE * 2 * i + sum(RANKS) for i in range(6)]
    fresh.Allreduce(memory[:6].view(np.int64), total.view(np.int64), MPI.BOR)
    assert len(made) == 3
    memory.setflags(write=False)
    fresh.Allreduce(memory[:6], total)
    assert total.tolist() == [SIZE * i + sum(RANKS) for i in range(6)]
    with pytest.raises(ValueError, match="read-only"):
        fresh.Allreduce(total, memory[:6])


def test_calls_that_are_never_kept(fresh: Any, made: list[str]) -> None:
    """An operator of one's own, counts in an array, and counts that must be asked for."""
    mine, total = np.arange(3.0), np.empty(3)
    for _ in range(2):
        fresh.Allreduce(mine, total, op=lambda a, b: a + b)
    counts = np.full(SIZE, 3)
    gathered = np.empty(3 * SIZE)
    for _ in range(2):
        fresh.Allgatherv(mine, [gathered, counts])
    for _ in range(2):
        fresh.Reduce_scatter(np.ones(SIZE), total[:1])
        assert total[0] == SIZE
    assert len(fresh._kept) == 0


def test_counts_that_only_the_root_knows(fresh: Any) -> None:
    """A relaying gatherv tells the counts first: two plans, so neither is kept."""
    mine = np.full(fresh.rank + 1, fresh.rank)
    counts = [rank + 1 for rank in RANKS]
    target = np.empty(sum(counts), mine.dtype)
    for turn in range(3):
        mine[:] = 10 * fresh.rank + turn
        spec = [target, counts] if fresh.rank == 0 else None
        fresh.Gatherv(mine, spec, root=0, algorithm="binomial")
        if fresh.rank == 0:
            assert target.tolist() == [10 * r + turn for r in RANKS for _ in range(r + 1)]


def test_the_oldest_makes_room(fresh: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MOST", 3)
    arrays = [np.full(2, 5.0) for _ in range(5)]
    total = np.empty(2)
    for array in [*arrays, *arrays]:
        fresh.Allreduce(array, total)
        assert total.tolist() == [5 * SIZE] * 2
    assert len(fresh._kept) == 3


def test_a_failed_call_is_forgotten(fresh: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    mine, total = np.ones(2), np.empty(2)
    fresh.Allreduce(mine, total)

    def fail(self: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(plan.Plan, "run", fail)
        fresh.Allreduce(mine, total)
    assert len(fresh._kept) == 0
    fresh.Allreduce(mine, total)
    assert total.tolist() == [SIZE] * 2


def test_scratch_is_shared(fresh: Any) -> None:
    """Plans of blocking calls never run together, so one stretch serves them all."""
    for count in (1000, 100, 900):
        mine, total = np.full(count, 2.0), np.empty(count)
        fresh.Allreduce(mine, total, algorithm="recursive_doubling")
        assert total.tolist() == [2 * SIZE] * count
    plans = fresh._kept._plans.values()
    used = [plan._bound._memory[Memory.SCRATCH] for plan in plans if plan.scratch]
    assert len(used) in ((0, 3) if SIZE != 2 else (3,))  # who folds into another needs none
    assert all(np.shares_memory(fresh._scratch.take(1), one) for one in used)


def test_free_frees_what_was_kept(comm: Any) -> None:
    one = mpicoll.Communicator(comm.vendor)
    values = np.arange(4)
    one.Bcast(values)
    (plan,) = one._kept._plans.values()
    one.free()
    with pytest.raises(RuntimeError, match="run of a plan that was freed"):
        plan.run()
    with pytest.raises(RuntimeError, match="freed"):
        one.Bcast(values)


def test_counts_in_an_array_count_by_their_content(fresh: Any) -> None:
    """Wherever the counts stand; the same sums in the same memory, cut in another way each time."""
    counts, starts, total = np.zeros(SIZE, int), np.zeros(SIZE, int), SIZE + 1
    mine, got, every = np.arange(SIZE + 1.0), np.empty(2), np.empty(total)
    for taker in RANKS:
        counts[:] = [1 + (rank == taker) for rank in RANKS]
        starts[:] = np.cumsum(counts) - counts
        own = slice(starts[fresh.rank], starts[fresh.rank] + counts[fresh.rank])
        for how in ("by place", "by name"):
            got.fill(-1)
            if how == "by place":
                fresh.Reduce_scatter(mine, got, counts)
            else:
                fresh.Reduce_scatter(mine, got, recvcounts=counts)
            assert got[: counts[fresh.rank]].tolist() == (SIZE * mine[own]).tolist()
        every.fill(-1)
        fresh.Allgatherv([mine[own], MPI.DOUBLE], [every, (counts, starts), MPI.DOUBLE])
        assert every.tolist() == mine.tolist()


def test_plans_of_much_scratch_are_not_kept(fresh: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "LIMIT", 0)
    mine, total = np.arange(9.0), np.empty(9)
    fresh.Allreduce(mine, total, algorithm="allgather_reduce")
    assert total.tolist() == [SIZE * i for i in range(9)]
    assert len(fresh._kept) == (1 if SIZE == 1 else 0)
