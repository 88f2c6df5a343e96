"""The communicator beside mpi4py's own: what it gives back, and whose messages are whose."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from calls import Case
from methods import METHODS, MODES
from mpi4py import MPI

import mpicoll
from mpicoll.communicator import communicator

pytestmark = pytest.mark.mpi

SIZE = MPI.COMM_WORLD.size


def total(comm: Any) -> int:
    got = np.zeros(1, "i8")
    comm.Allreduce(np.array([comm.rank + 1]), got)
    return int(got[0])


def test_is_an_intracommunicator_over_the_same_ranks(comm: Any) -> None:
    assert isinstance(comm, MPI.Intracomm)
    assert (comm.rank, comm.size) == (MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size)
    assert not isinstance(comm.vendor, mpicoll.Communicator)
    assert comm.vendor.size == SIZE


def test_everything_else_is_mpi4py_s(comm: Any) -> None:
    right, left = (comm.rank + 1) % SIZE, (comm.rank - 1) % SIZE
    assert comm.sendrecv(comm.rank, dest=right, source=left) == left
    assert comm.Get_group().Get_size() == SIZE


def test_duplicates(comm: Any) -> None:
    for make in (
        lambda: comm.Dup(),
        lambda: comm.Clone(),
        lambda: comm.Dup_with_info(MPI.INFO_NULL),
    ):
        with make() as other:
            assert isinstance(other, mpicoll.Communicator)
            assert total(other) == SIZE * (SIZE + 1) // 2


def test_a_duplicate_that_is_not_waited_for_at_once(comm: Any) -> None:
    for other, request in (comm.Idup(), comm.Idup_with_info(MPI.INFO_NULL)):
        assert request.Test()
        assert isinstance(other, mpicoll.Communicator)
        assert total(other) == SIZE * (SIZE + 1) // 2
        other.free()


def test_what_is_no_intracommunicator() -> None:
    with pytest.raises(ValueError, match="COMM_NULL"):
        mpicoll.Communicator(MPI.COMM_NULL)
    with pytest.raises(TypeError, match="NoneType"):
        mpicoll.Communicator(None)  # type: ignore[arg-type]


def test_disconnecting_frees_all(comm: Any) -> None:
    for _ in range(3):
        other = comm.Dup()
        total(other)
        other.Disconnect()
        assert other == MPI.COMM_NULL
        with pytest.raises((RuntimeError, MPI.Exception)):
            total(other)


def test_split_into_evens_and_odds(comm: Any) -> None:
    with comm.Split(comm.rank % 2, comm.rank) as half:
        assert isinstance(half, mpicoll.Communicator)
        assert total(half) == half.size * (half.size + 1) // 2
        assert half.size == (SIZE + 1 - comm.rank % 2) // 2


def test_split_reverses_by_key(comm: Any) -> None:
    with comm.Split(0, -comm.rank) as turned:
        assert turned.rank == SIZE - 1 - comm.rank
        got = np.zeros(SIZE, "i8")
        turned.Allgather(np.array([comm.rank]), got)
        assert got.tolist() == list(range(SIZE))[::-1]


def test_left_out_of_a_split(comm: Any) -> None:
    part = comm.Split(MPI.UNDEFINED if comm.rank == 0 else 0)
    if comm.rank == 0:
        assert part == MPI.COMM_NULL
    else:
        assert total(part) == SIZE * (SIZE - 1) // 2
        part.free()


def test_split_by_shared_memory(comm: Any) -> None:
    with comm.Split_type(MPI.COMM_TYPE_SHARED) as node:
        assert isinstance(node, mpicoll.Communicator)
        assert total(node) == node.size * (node.size + 1) // 2


def test_create_from_a_group(comm: Any) -> None:
    group = comm.Get_group().Incl([0])
    first = comm.Create(group)
    if comm.rank == 0:
        assert isinstance(first, mpicoll.Communicator) and total(first) == 1
        first.free()
    else:
        assert first == MPI.COMM_NULL
    group.Free()


def test_freed_communicators_say_so(comm: Any) -> None:
    other = mpicoll.Communicator(comm)
    other.free()
    other.free()
    with pytest.raises(RuntimeError, match="on a communicator that was freed; make a new one"):
        total(other)
    with pytest.raises(RuntimeError, match="on a communicator that was freed"):
        other.allreduce(1)


def test_many_are_made_and_freed(comm: Any) -> None:
    for _ in range(50):
        with mpicoll.Communicator(MPI.COMM_WORLD) as other:
            total(other)


@pytest.mark.mpi(min_size=2)
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_a_wildcard_receive_never_sees_our_messages(comm: Any, method: Any) -> None:
    got = np.full(1, -1, "i8")
    with comm.Dup() as user:
        for mode in MODES:
            waiting = user.Irecv(got, MPI.ANY_SOURCE, MPI.ANY_TAG)
            call = method.build(Case(comm.rank, SIZE, 13))
            method.call(user, mode, call, None)
            call.check(f"{method.name} {mode}")
            assert not user.Iprobe(MPI.ANY_SOURCE, MPI.ANY_TAG)
            comm.vendor.Barrier()
            user.Send(np.array([comm.rank]), (comm.rank + 1) % SIZE, tag=5)
            waiting.Wait()
            assert got[0] == (comm.rank - 1) % SIZE


def test_several_at_once_complete_in_any_order(comm: Any) -> None:
    results = [np.zeros(5, "i8") for _ in range(4)]
    requests = [comm.Iallreduce(np.full(5, comm.rank + turn), results[turn]) for turn in range(4)]
    for turn in (2, 0, 3, 1):
        requests[turn].Wait()
        assert (results[turn] == SIZE * (SIZE - 1) // 2 + SIZE * turn).all()


LONG = 30000
"""Elements of a vector whose messages are not sent before they are received."""


def started(comm: Any, count: int) -> tuple[list[Any], list[np.ndarray]]:
    """Two allreduces under way, each of which takes several rounds, and their results."""
    results = [np.zeros(count), np.zeros(count)]
    mine = np.full(count, comm.rank + 1.0)
    return [comm.Iallreduce(mine, got, algorithm="ring") for got in results], results


@pytest.mark.parametrize("count", [5, LONG])
def test_ranks_may_wait_in_different_orders(comm: Any, count: int) -> None:
    requests, results = started(comm, count)
    for request in requests[:: -1 if comm.rank % 2 else 1]:
        request.Wait()
    requests, more = started(comm, count)
    for request in requests[:: -1 if comm.rank % 2 else 1]:
        while not request.Test():
            pass
    for got in results + more:
        assert (got == SIZE * (SIZE + 1) / 2).all()


@pytest.mark.parametrize("count", [5, LONG])
def test_plans_of_two_communicators_are_waited_for_in_different_orders(
    comm: Any, count: int
) -> None:
    with comm.Dup() as other:
        got = np.zeros((2, count))
        mine = np.full(count, comm.rank + 1.0)
        plans = [comm.Allreduce_init(mine, got[0], algorithm="ring"),
                 other.Allreduce_init(mine, got[1], algorithm="ring")]  # fmt: skip
        for plan in plans:
            plan.Start()
        for plan in plans[:: -1 if comm.rank % 2 else 1]:
            plan.Wait()
            plan.Free()
        assert (got == SIZE * (SIZE + 1) / 2).all()


@pytest.mark.parametrize("count", [5, LONG])
def test_a_blocking_call_advances_what_is_under_way(comm: Any, count: int) -> None:
    """Rank 0 completes its requests before it comes to the broadcasts that the others wait in."""
    requests, results = started(comm, count)
    got = np.full(count, float(comm.rank))
    for turn in range(2):
        if comm.rank == 0:
            requests[turn].Wait()
        if turn == 0:
            comm.Bcast(got)
        else:
            assert comm.bcast(comm.rank) == 0
    for request in requests:
        request.Wait()
    assert (got == 0).all() and (np.array(results) == SIZE * (SIZE + 1) / 2).all()


def test_waiting_for_any_reports_each_once(comm: Any) -> None:
    requests, _ = started(comm, 5)
    both = [*requests, MPI.REQUEST_NULL]
    assert {mpicoll.Request.Waitany(both), mpicoll.Request.Waitany(both)} == {0, 1}
    assert mpicoll.Request.Waitany(both) == MPI.UNDEFINED


@pytest.mark.parametrize("count", [5, LONG])
def test_more_calls_under_way_than_tags(
    comm: Any, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(communicator, "TAGS", 4)
    results = np.zeros((11, count))
    mine = np.full(count, comm.rank + 1.0)
    with comm.Dup() as other:
        requests = [other.Iallreduce(turn * mine, results[turn], algorithm="ring")
                    for turn in range(11)]  # fmt: skip
        comm.vendor.Barrier()
        for request in requests[:: -1 if comm.rank % 2 else 1]:
            request.Wait()
    for turn, got in enumerate(results):
        assert (got == turn * SIZE * (SIZE + 1) / 2).all()


def test_testing_alone_completes_a_request(comm: Any) -> None:
    got = np.zeros(SIZE, "i8")
    request = comm.Iallgather(np.array([comm.rank]), got)
    while not request.Test():
        pass
    assert got.tolist() == list(range(SIZE))


def test_plans_interleave(comm: Any) -> None:
    first, second = np.zeros(3, "i8"), np.zeros(3, "i8")
    mine = np.arange(3) + comm.rank
    plans = [comm.Allreduce_init(mine, first), comm.Scan_init(mine, second)]
    for _ in range(5):
        for plan in plans:
            plan.Start()
        for plan in reversed(plans):
            plan.Wait()
        assert first.tolist() == [SIZE * (SIZE - 1) // 2 + SIZE * i for i in range(3)]
        prefix = comm.rank * (comm.rank + 1) // 2
        assert second.tolist() == [prefix + (comm.rank + 1) * i for i in range(3)]
    for plan in plans:
        plan.Free()


def test_a_plan_under_way_is_not_started_again(comm: Any) -> None:
    plan = comm.Allreduce_init(np.ones(3), np.zeros(3))
    plan.Start()
    if SIZE > 1:
        with pytest.raises(RuntimeError, match="Start"):
            plan.Start()
    plan.Wait()
    plan.Free()
    with pytest.raises(RuntimeError, match="freed"):
        plan.Start()


@pytest.mark.parametrize("name", mpicoll.algorithms("barrier"))
def test_nobody_leaves_a_barrier_before_the_last_enters(comm: Any, name: str) -> None:
    for late in range(SIZE):
        time.sleep(0.01 if comm.rank == late else 0)
        entered = time.monotonic()
        comm.Barrier(algorithm=name)
        left = time.monotonic()
        assert left >= max(comm.vendor.allgather(entered))


def test_nodes(comm: Any) -> None:
    """All ranks of these tests share a node; a given map goes on to what is made of it."""
    assert comm.nodes == (0,) * comm.size
    nodes = [rank % 2 for rank in range(comm.size)]
    with mpicoll.Communicator(comm.vendor, nodes=nodes) as mapped:
        assert mapped.nodes == tuple(nodes)
        with mapped.Split(0, -mapped.rank) as backwards:  # rank r is p - 1 - r there
            assert backwards.nodes == tuple(abs(node - nodes[-1]) for node in reversed(nodes))
