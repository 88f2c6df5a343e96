"""The check itself: that it finds what is wrong, made wrong on purpose, on one rank."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from mpi4py import MPI

from mpicoll import Communicator
from mpicoll.measure.cases import Case
from mpicoll.measure.checking import check, contenders
from mpicoll.measure.matrix import MODES, Probe, probes
from mpicoll.schedule import CONTRACTS

CASE = Case("allreduce", "Allreduce", (5,), "int64")


class Spoiled:
    """A communicator of one rank whose blocking calls are followed by ``spoil(receive buffer)``."""

    def __init__(self, spoil: Callable[[Any], None]) -> None:
        self.vendor, self._spoil = MPI.COMM_SELF, spoil
        self._comm = Communicator(MPI.COMM_SELF)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._comm, name)

    def Allreduce(self, send: Any, receive: Any, op: Any, algorithm: str = "ring") -> None:
        self.vendor.Allreduce(send, receive, op)
        if algorithm == "star":
            self._spoil(receive[0])


class Tired:
    """A plan whose result is wrong from the second run on."""

    def __init__(self, plan: Any, data: Any) -> None:
        self._plan, self._data, self._runs = plan, data, 0
        self.Start, self.Free = plan.Start, plan.Free

    def Wait(self) -> None:
        self._plan.Wait()
        self._data[0] += self._runs
        self._runs += 1


class Tiring(Spoiled):
    """A communicator of one rank whose persistent star is tired."""

    def Allreduce_init(self, send: Any, receive: Any, op: Any, algorithm: str = "ring") -> Any:
        plan = self._comm.Allreduce_init(send, receive, op, algorithm=algorithm)
        return Tired(plan, receive[0]) if algorithm == "star" else plan


def off_by_one(data: Any) -> None:
    data[4] += 1


def past_the_end(data: Any) -> None:
    ctypes.c_ubyte.from_address(data.ctypes.data + data.nbytes).value ^= 1


@pytest.mark.parametrize("spoil", [off_by_one, past_the_end])
def test_what_is_wrong_is_found_and_named(spoil: Callable[[Any], None]) -> None:
    spoiled: Any = Spoiled(spoil)
    tally = check(spoiled, "allreduce", [Probe(CASE, MODES)], None)
    assert tally.wrong == {"Allreduce star, blocking, counts 5 int64, sum": 1}
    assert tally.cells["star"] == tally.cells["vendor"] == 3
    assert tally.cells.total() == 3 * len(contenders(CASE, 1, None))


def test_a_persistent_call_must_be_right_twice() -> None:
    tiring: Any = Tiring(lambda data: None)
    tally = check(tiring, "allreduce", [Probe(CASE, MODES)], None)
    assert tally.wrong == {"Allreduce star, persistent, counts 5 int64, sum": 1}


def test_an_exception_names_the_cell() -> None:
    def fail(data: Any) -> None:
        raise KeyError("gone")

    spoiled: Any = Spoiled(fail)
    with pytest.raises(RuntimeError, match="Allreduce star, blocking, counts 5 int64, sum: KeyErr"):
        check(spoiled, "allreduce", [Probe(CASE, ("blocking",))], ["star"])


@pytest.mark.parametrize("collective", CONTRACTS)
def test_one_rank_is_right(collective: str) -> None:
    with Communicator(MPI.COMM_SELF) as comm:
        tally = check(comm, collective, probes(collective, 1, quick=True), None)
    assert tally.wrong == {}
    assert tally.cells.total() > 0


def test_who_runs_a_case() -> None:
    assert contenders(CASE, 3, None)[:2] == ["vendor", "auto"]
    assert contenders(CASE, 3, ["ring", "star"]) == ["star", "ring"]
    assert contenders(CASE, 3, ["ring:stripes=2", "bruck:radix=4"]) == ["ring:stripes=2"]
    assert {"recursive_multiplying", "recursive_multiplying:radix=5"} < {*contenders(CASE, 3, None)}
    ordered = Case("allreduce", "Allreduce", (5,), "complex64", "affine")
    assert "vendor" not in contenders(ordered, 3, None)
    assert "ring" not in contenders(ordered, 3, None)


HANG = """
import time
from mpi4py import MPI
from mpicoll.measure import checking
checking.PATIENCE = 0.5
with checking._watchdog(3) as say:
    say("Bcast ring, blocking")
    time.sleep(30)
"""


def test_a_cell_that_hangs_ends_the_job_with_its_name() -> None:
    hung = subprocess.run([sys.executable, "-c", HANG], capture_output=True, text=True, timeout=20)
    assert hung.returncode == 1
    assert hung.stderr == "check: rank 3 hangs in Bcast ring, blocking\n"
