"""Collectives that a thread advances, and ways of waiting, on several ranks."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI

import mpicoll
from mpicoll.transport.waiting import wait_mode

pytestmark = pytest.mark.mpi

SIZE = MPI.COMM_WORLD.size
LAST = SIZE - 1
TOTAL = SIZE * (SIZE + 1) // 2
"""1 + 2 + ... + the number of ranks."""

needs_threads = pytest.mark.skipif(
    MPI.Query_thread() < MPI.THREAD_MULTIPLE,
    reason="MPI takes one thread at a time; use a library that grants MPI.THREAD_MULTIPLE",
)


@pytest.fixture
def driven() -> Iterator[Any]:
    """All ranks, with a thread."""
    with mpicoll.Communicator(MPI.COMM_WORLD, progress="thread") as comm:
        yield comm


def until(event: Callable[[], bool]) -> None:
    """Wait for an event, half a minute at most, without a call that makes progress."""
    end = time.monotonic() + 30
    while not event():
        assert time.monotonic() < end
        time.sleep(1e-3)


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate()]


@needs_threads
@pytest.mark.parametrize("count", [5, 100_000])
def test_a_request_completes_while_the_rank_does_something_else(driven: Any, count: int) -> None:
    mine = np.arange(count) + 1000.0 * driven.rank
    got = np.zeros(count)
    request = driven.Iallreduce(mine, got, algorithm="ring")
    until(lambda: request.done)
    assert (got == SIZE * np.arange(count) + 1000 * (SIZE * (SIZE - 1) // 2)).all()
    assert request.Wait() and "mpicoll-progress" in threads()


@needs_threads
@pytest.mark.mpi(min_size=2)
def test_a_request_completes_while_its_rank_is_in_a_call_of_mpi(driven: Any) -> None:
    """Rank 0 waits for a word that the last rank says after the sum, which needs rank 0."""
    got = np.zeros(1)
    request = driven.Iallreduce(np.array([driven.rank + 1.0]), got, algorithm="ring")
    if driven.rank == 0:
        assert driven.vendor.recv(source=LAST) == TOTAL
    request.Wait()
    if driven.rank == LAST:
        driven.vendor.send(got[0], 0)
    assert got[0] == TOTAL


@needs_threads
def test_a_started_plan_completes_by_itself_again_and_again(driven: Any) -> None:
    mine, got = np.zeros(3), np.zeros((2, 3))
    plans = [
        driven.Allreduce_init(mine, got[0], algorithm="ring"),
        driven.Scan_init(mine, got[1]),
    ]
    for turn in range(5):
        mine[:] = [turn, driven.rank, 1]
        mpicoll.Plan.Startall(plans)
        until(lambda: all(plan.done for plan in plans))
        assert got[0].tolist() == [turn * SIZE, TOTAL - SIZE, SIZE]
        before = driven.rank * (driven.rank + 1) // 2
        assert got[1].tolist() == [turn * (driven.rank + 1), before, driven.rank + 1]
        assert mpicoll.Request.Waitall(plans)
        plans[0].run()
    for plan in plans:
        plan.Free()


@needs_threads
def test_many_at_once_by_the_thread_and_by_calls(driven: Any) -> None:
    """Twenty under way, in other orders on other ranks, and blocking calls between them."""
    rank, requests, results = driven.rank, [], np.zeros((20, SIZE))
    for turn in range(20):
        mine = np.full(SIZE, 100.0 * turn + rank)
        got = results[turn]
        match turn % 4:
            case 0:
                requests.append(driven.Iallreduce(mine, got))
            case 1:
                requests.append(driven.Iallgather(mine[:1].copy(), got))
            case 2:
                requests.append(driven.Ialltoall(mine + SIZE * np.arange(SIZE), got))
            case _:
                got[:] = mine
                requests.append(driven.Ibcast(got, turn % SIZE))
        word = np.array([turn * (rank == LAST)])
        driven.Bcast(word, LAST)
        assert word[0] == turn and driven.allreduce(rank + 1) == TOTAL
    for request in requests[:: -1 if rank % 2 else 1]:
        request.Wait()
    ranks = np.arange(SIZE)
    for turn, got in enumerate(results):
        expected = [
            np.full(SIZE, SIZE * 100 * turn + TOTAL - SIZE),
            100 * turn + ranks,
            100 * turn + ranks + SIZE * rank,
            np.full(SIZE, 100 * turn + turn % SIZE),
        ]
        assert got.tolist() == expected[turn % 4].tolist()


@needs_threads
def test_an_operator_that_raises_in_the_thread(driven: Any) -> None:
    """The last rank of a scan keeps nobody waiting, so it alone may fail."""

    def combine(left: Any, right: Any) -> Any:
        if driven.rank == LAST:
            raise ArithmeticError("the fault")
        return left + right

    request = driven.Iscan(np.ones(2), np.zeros(2), op=combine, algorithm="linear")
    until(lambda: request.done)
    if SIZE > 1 and driven.rank == LAST:
        with pytest.raises(ArithmeticError, match="the fault"):
            request.Wait()
    else:
        assert request.Wait()
    assert driven.allreduce(1) == SIZE


@needs_threads
def test_the_thread_ends_with_the_last_that_asked_for_it() -> None:
    first = mpicoll.Communicator(MPI.COMM_WORLD, progress="thread")
    second = first.Dup()
    with mpicoll.Communicator(MPI.COMM_WORLD) as other:
        other.Ibarrier().Wait()
    assert "mpicoll-progress" not in threads()
    second.Ibarrier().Wait()
    first.free()
    first.free()
    assert "mpicoll-progress" in threads()
    late = np.zeros(1)
    request = second.Iallreduce(np.array([1.0]), late)
    second.free()
    assert "mpicoll-progress" not in threads()
    assert request.done and late[0] == SIZE
    assert request.Wait()


@pytest.mark.parametrize("mode", ["spin", "yield", "sleep"])
def test_every_way_of_waiting_gives_the_same(mode: str) -> None:
    with mpicoll.Communicator(MPI.COMM_WORLD, wait=mode) as comm, comm.Dup() as child:
        mine, got = np.arange(3) + comm.rank, np.zeros(3, int)
        expected = [SIZE * i + TOTAL - SIZE for i in range(3)]
        for same in (comm, child):
            for _ in range(2):
                same.Allreduce(mine, got)
                assert got.tolist() == expected
                got[:] = 0
            request = same.Iallreduce(mine, got)
            assert same.allreduce(same.rank + 1) == TOTAL
            word = np.array([same.rank + 7])
            same.Bcast(word)
            assert request.Wait() and got.tolist() == expected and word[0] == 7
            with same.Allreduce_init(mine, got, algorithm="ring") as plan:
                got[:] = 0
                plan.Start()
                assert plan.Wait() and got.tolist() == expected
                assert plan.ways.wait == mode


def test_ranks_yield_where_a_node_has_fewer_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """MPI's own word on the node counts; here all ranks are on one, or each is on its own."""
    monkeypatch.delenv("MPICOLL_WAIT", raising=False)
    node = MPI.COMM_WORLD.Split_type(MPI.COMM_TYPE_SHARED)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {node.rank})
    assert wait_mode(MPI.COMM_WORLD) == "spin"
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {max(1, node.rank)})
    assert wait_mode(MPI.COMM_WORLD) == ("yield" if node.size > 1 else "spin")
    node.Free()


@needs_threads
def test_the_vendor_s_plan_completes_by_itself_too(driven: Any) -> None:
    got = np.zeros(1)
    plan = driven.Allreduce_init(np.array([driven.rank + 1.0]), got, algorithm="vendor")
    plan.Start()
    until(lambda: plan.done)
    assert got[0] == TOTAL and plan.Wait()


def test_words_that_mean_nothing() -> None:
    with pytest.raises(ValueError, match="expected one of 'spin', 'yield', 'sleep'"):
        mpicoll.Communicator(MPI.COMM_WORLD, wait="nap")
    with pytest.raises(ValueError, match="expected one of 'calls', 'thread'"):
        mpicoll.Communicator(MPI.COMM_WORLD, progress="fibre")
