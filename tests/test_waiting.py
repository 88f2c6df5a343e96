"""Ways of waiting: which one, as told or as the cores need it, and what a wait does meanwhile."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from mpi4py import MPI

from mpicoll.transport import waiting
from mpicoll.transport.progress import receive, waiter
from mpicoll.transport.waiting import MODES, SLEEP, SPIN, YIELD, Pause, wait_mode

JOBS = Path(__file__).parent.parent / "jobs"


@pytest.mark.parametrize(
    ("given", "variable", "expected"),
    [(None, None, SPIN), ("sleep", None, SLEEP), (None, "yield", YIELD), ("spin", "sleep", SPIN)],
)
def test_the_mode_is_as_told_first_by_the_argument(
    monkeypatch: pytest.MonkeyPatch, given: str | None, variable: str | None, expected: str
) -> None:
    monkeypatch.delenv("MPICOLL_WAIT", raising=False)
    if variable is not None:
        monkeypatch.setenv("MPICOLL_WAIT", variable)
    assert wait_mode(MPI.COMM_SELF, given) == expected


def test_a_word_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="wait is 'nap', expected one of 'spin', 'yield', 'sleep'"):
        wait_mode(MPI.COMM_SELF, "nap")
    with pytest.raises(ValueError, match="wait is '', expected one of"):
        wait_mode(MPI.COMM_SELF, "")
    monkeypatch.setenv("MPICOLL_WAIT", "")
    with pytest.raises(ValueError, match="MPICOLL_WAIT is '', expected one of"):
        wait_mode(MPI.COMM_SELF)


@pytest.mark.parametrize(("cores", "expected"), [(set[int](), YIELD), ({5}, SPIN), ({0, 5}, SPIN)])
def test_a_rank_without_a_core_of_its_own_yields(
    monkeypatch: pytest.MonkeyPatch, cores: set[int], expected: str
) -> None:
    monkeypatch.delenv("MPICOLL_WAIT", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: cores)
    assert wait_mode(MPI.COMM_SELF) == expected


def test_systems_that_bind_nothing_count_their_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    assert waiting._cores() == {0, 1, 2}


def test_sleeps_grow_from_1_us_to_1_ms(monkeypatch: pytest.MonkeyPatch) -> None:
    log: list[Any] = []
    monkeypatch.setattr(time, "sleep", log.append)
    monkeypatch.setattr(os, "sched_yield", lambda: log.append("yield"))
    for mode, expected in ((SPIN, ["yield"] * 3), (YIELD, ["yield"] * 3), (SLEEP, ["yield"] * 3)):
        log.clear()
        pause = Pause(mode)
        for _ in range(3):
            pause()
        assert log == expected
    for _ in range(109):
        pause()
    assert log[:100] == ["yield"] * 100
    assert log[100:] == pytest.approx([1e-6 * 2**n for n in range(10)] + [1e-3] * 2)


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_waits_for_all_messages(mode: str) -> None:
    """A message to oneself is there at once; nothing but MPI's own requests is under way."""
    got = [bytearray(3), bytearray(3)]
    requests = [MPI.COMM_SELF.Irecv(buffer, 0, tag) for tag, buffer in enumerate(got)]
    for tag, sent in enumerate((b"abc", b"def")):
        requests.append(MPI.COMM_SELF.Isend(sent, 0, tag))
    waiter(mode)(requests)
    assert requests == [MPI.REQUEST_NULL] * 4
    assert got == [b"abc", b"def"]


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_receives_objects(mode: str) -> None:
    sent = MPI.COMM_SELF.isend({"a": 1}, 0, 7)
    assert receive(MPI.COMM_SELF, 0, 7, mode) == {"a": 1}
    sent.wait()


@pytest.mark.parametrize(
    ("cores", "variable", "expected"),
    [(8, None, "spin"), (7, None, "yield"), (7, "sleep", "sleep")],
)
def test_hosts_on_one_machine_that_share_cores(
    cores: int, variable: str | None, expected: str
) -> None:
    """Each of the 8 hosts has one rank, which cannot see the others."""
    code = (
        "import os; from onehost.spec import Spec, environment\n"
        f"os.sched_getaffinity = lambda process: set(range({cores}))\n"
        "print(environment(Spec(hosts=8)).get('MPICOLL_WAIT'))"
    )
    given = {name: value for name, value in os.environ.items() if name != "MPICOLL_WAIT"}
    told = {} if variable is None else {"MPICOLL_WAIT": variable}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=JOBS, env=given | told, capture_output=True, text=True
    )
    assert done.stdout == f"{expected}\n", done.stderr
