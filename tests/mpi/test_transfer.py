"""How messages travel: long ones, many short pieces of one, and none that MPI may buffer."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from calls import Case
from methods import METHODS, MODES, Method
from mpi4py import MPI

from mpicoll.transport import binding, plan

pytestmark = pytest.mark.mpi

SIZE = MPI.COMM_WORLD.size
PAIRS = [
    pytest.param(method, algorithm, id=f"{method.name}-{algorithm}")
    for method in METHODS
    for algorithm in method.algorithms(SIZE)
    if algorithm not in (None, "vendor")
]
EVERY_PAIR = pytest.mark.parametrize(("method", "algorithm"), PAIRS)


class Synchronous:
    """A communicator whose sends complete only when they are received."""

    def __init__(self, comm: MPI.Intracomm) -> None:
        self.Recv_init = comm.Recv_init
        self.Send_init = comm.Ssend_init


@pytest.fixture
def synchronous(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every send of every plan a synchronous one."""
    bind = plan.Plan.__init__

    def init(self: plan.Plan, program: Any, to: binding.Binding, *rest: Any) -> None:
        bind(self, program, to._replace(comm=Synchronous(to.comm)), *rest)

    monkeypatch.setattr(plan.Plan, "__init__", init)


@pytest.fixture(autouse=True)
def fresh(comm: Any) -> None:
    """Replay no plan of an earlier test: each makes plans of another kind."""
    comm._kept.free()


def run(comm: Any, method: Method, algorithm: str, case: Case, mode: str = "blocking") -> None:
    call = method.build(case)
    method.call(comm, mode, call, algorithm)
    call.check(f"{method.name} {algorithm} {mode} {case}")


@EVERY_PAIR
def test_synchronous_sends(comm: Any, method: Method, algorithm: str, synchronous: None) -> None:
    for case in method.cases(comm.rank, SIZE):
        if case.n in (1, 13):
            run(comm, method, algorithm, case)


@EVERY_PAIR
def test_synchronous_sends_of_long_vectors(
    comm: Any, method: Method, algorithm: str, synchronous: None
) -> None:
    whole = METHODS_OF_A_VECTOR.isdisjoint({method.name})
    run(comm, method, algorithm, Case(comm.rank, SIZE, 10**6 // SIZE if whole else 10**6))


METHODS_OF_A_VECTOR = {"Bcast", "Reduce", "Allreduce", "Scan", "Exscan"}


@EVERY_PAIR
def test_messages_in_pieces(
    comm: Any, method: Method, algorithm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binding, "MESSAGE_LIMIT", 7 * 8)
    for case in method.cases(comm.rank, SIZE):
        if case.n in (SIZE + 1, 13):
            run(comm, method, algorithm, case)
    run(comm, method, algorithm, Case(comm.rank, SIZE, 50))


@pytest.mark.parametrize("mode", MODES)
@EVERY_PAIR
def test_stripes_and_pieces(
    comm: Any, method: Method, algorithm: str, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_module("mpicoll.schedule.cost"), "STRIPE", 5 * 8)
    monkeypatch.setattr(binding, "MESSAGE_LIMIT", 3 * 8)
    for in_place in {False, method.in_place}:
        run(comm, method, algorithm, Case(comm.rank, SIZE, 61, SIZE - 1, in_place), mode)


@pytest.mark.parametrize("in_place", [False, True])
def test_a_vector_of_odd_bytes(comm: Any, in_place: bool) -> None:
    count = 10**6 + 1
    mine = (np.arange(count) % 100 + comm.rank).astype("u1")
    got = mine.copy() if in_place else np.zeros(count, "u1")
    comm.Allreduce(MPI.IN_PLACE if in_place else mine, got)
    expected = SIZE * (np.arange(count) % 100) + SIZE * (SIZE - 1) // 2
    np.testing.assert_array_equal(got, (expected % 256).astype("u1"))


@pytest.mark.skipif(SIZE != 2, reason="moves 2 GiB: run on 2 ranks")
def test_more_bytes_than_an_int_counts(comm: Any) -> None:
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if not comm.vendor.allreduce(free > 6 << 30, MPI.LAND):
        pytest.skip("needs 6 GiB of free memory")
    count = 2**31 + 5
    data = np.empty(count, "u1")
    places = np.array([0, 1, 2**30 - 1, 2**30, 2**31 - 1, 2**31, count - 1])
    data[places] = np.arange(1, 8) if comm.rank == 1 else 0
    comm.Bcast(data, root=1, algorithm="binomial")
    assert data[places].tolist() == [1, 2, 3, 4, 5, 6, 7]
