"""The thread that advances what is under way, on plans without messages."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from mpi4py import MPI

from mpicoll.transport import Request, background
from mpicoll.transport.background import BackgroundThread, hold
from mpicoll.transport.progress import PLAIN, TASKS, Task, Ways, under_way


class Countdown:
    """A plan that is complete at its n-th test, or raises then."""

    algorithm = "countdown"

    def __init__(self, tests: int, error: BaseException | None = None) -> None:
        self.left, self.error, self.threads = tests, error, set[str]()

    @property
    def stage(self) -> int:
        return self.left

    def begin(self) -> None:
        pass

    def advance(self) -> bool:
        self.threads.add(threading.current_thread().name)
        self.left -= 1
        if self.left <= 0 and self.error is not None:
            raise self.error
        return self.left <= 0

    def finish(self) -> None:
        while not self.advance():
            pass

    def Free(self) -> None:
        pass


Start = Callable[[Countdown], Request]


@pytest.fixture
def thread() -> Iterator[BackgroundThread]:
    one = BackgroundThread()
    one.hold()
    yield one
    one.stop()


@pytest.fixture
def start(thread: BackgroundThread) -> Start:
    """Makes a request of a plan, for the thread."""
    plain: Any = Request
    return lambda plan: plain(iter([plan]), ways=Ways(driver=thread))


def until(event: Callable[[], bool]) -> None:
    """Wait for an event, half a minute at most, without a call of ours."""
    end = time.monotonic() + 30
    while not event():
        assert time.monotonic() < end
        time.sleep(1e-3)


def names() -> list[str]:
    return [thread.name for thread in threading.enumerate()]


def test_a_request_completes_while_nobody_asks(start: Start) -> None:
    for _ in range(2):
        plan = Countdown(50)
        request = start(plan)
        until(lambda request=request: request.done)  # type: ignore[misc]
        assert request.algorithm is None and request.awaited
        assert plan.threads == {"mpicoll-progress"}
        assert request.Wait() and not request.awaited


def test_only_its_own_are_advanced(start: Start) -> None:
    plain: Any = Request
    plan, theirs = Countdown(50), Countdown(50)
    other = plain(iter([theirs]), ways=PLAIN)
    request = start(plan)
    until(lambda: request.done)
    assert not theirs.threads
    other.Wait()


@pytest.mark.parametrize("error", [KeyError("op"), SystemExit(3)])
def test_what_goes_wrong_in_the_thread_is_raised_by_wait(
    start: Start, error: BaseException
) -> None:
    request = start(Countdown(3, error))
    until(lambda: request.done)
    other = start(Countdown(3))
    until(lambda: other.done)
    with pytest.raises(type(error)):
        Request.Waitall([other, request])
    with pytest.raises(type(error)):
        request.Test()


def test_it_is_there_from_the_first_request_to_the_last_release(
    thread: BackgroundThread, start: Start
) -> None:
    assert "mpicoll-progress" not in names()
    start(Countdown(1)).Wait()
    thread.hold()
    thread.release()
    assert "mpicoll-progress" in names()
    thread.release()
    assert "mpicoll-progress" not in names()


def test_it_ends_with_something_under_way_which_goes_on_in_wait(
    thread: BackgroundThread, start: Start
) -> None:
    endless = Countdown(1 << 60)
    request = start(endless)
    until(lambda: bool(endless.threads))
    thread.release()
    assert "mpicoll-progress" not in names() and request in under_way()
    endless.left = 2
    assert request.Wait()
    start(Countdown(2)).Wait()
    assert "mpicoll-progress" not in names()


def test_it_and_the_calls_that_wait_are_never_at_one_task_at_once(start: Start) -> None:
    at_work = threading.Lock()

    class Alone(Countdown):
        def advance(self) -> bool:
            assert at_work.acquire(blocking=False)
            time.sleep(1e-5)
            at_work.release()
            return super().advance()

    plan = Alone(200)
    request = start(plan)
    until(lambda: bool(plan.threads))
    while not request.Test():
        pass
    assert {"mpicoll-progress", "MainThread"} == plan.threads


def test_what_came_late_to_a_complete_task_leaves_it_alone() -> None:
    """Its owner may start it again at that very moment."""

    class Restarted(Task):
        def advance(self) -> bool:
            raise AssertionError("it was not under way")

        finish = advance  # type: ignore[assignment]

        @property
        def done(self) -> bool:
            was = super().done
            self.register()
            return was

    task = Restarted()
    assert task.step()
    assert under_way() == [task]
    del TASKS[id(task)]


def test_it_polls_less_and_less_often_until_something_moves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log: list[Any] = []
    monkeypatch.setattr(time, "sleep", log.append)
    monkeypatch.setattr(os, "sched_yield", lambda: log.append("yield"))
    rest = background._Rest()
    for moved in [False] * 27 + [True] + [False] * 20:
        rest(moved)
    doubled = [1e-5, 2e-5, 4e-5, 8e-5, 1.6e-4, 2e-4, 2e-4]
    assert [log[:20], log[27:47]] == [["yield"] * 20] * 2
    assert log[20:27] == pytest.approx(doubled) and log[47:] == [1e-5]


def test_it_is_there_for_those_who_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MPICOLL_PROGRESS", raising=False)
    assert hold() is None and hold("calls") is None
    one = hold("thread")
    assert isinstance(one, BackgroundThread) and hold("thread") is one
    monkeypatch.setenv("MPICOLL_PROGRESS", "thread")
    assert hold() is one and hold("calls") is None
    for _ in range(3):
        one.release()
    with pytest.raises(ValueError, match="progress is 'threads', expected one of 'calls', 't"):
        hold("threads")


def test_where_mpi_takes_one_thread_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MPI, "Query_thread", lambda: MPI.THREAD_SERIALIZED)
    with pytest.raises(RuntimeError, match=r"needs MPI\.THREAD_MULTIPLE, but"):
        hold("thread")
    assert hold("calls") is None


def test_a_program_may_end_with_something_under_way(
    mpiexec: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    """The thread is at work until the interpreter ends, and no longer: then MPI is finalized."""
    program = """
import atexit, threading
import numpy as np
from mpi4py import MPI
import mpicoll

def say():
    names = [thread.name for thread in threading.enumerate()]
    print("ended" if names == ["MainThread"] else names)

atexit.register(say)  # those that were registered later come first
comm = mpicoll.Communicator(MPI.COMM_WORLD, progress="thread")
if comm.rank == 1:
    request = comm.Ibcast(np.zeros(3))  # which nobody will send
    assert threading.active_count() == 2
"""
    done = mpiexec(2, "-c", program)
    assert (done.returncode, done.stdout) == (0, "ended\nended\n"), done.stderr
