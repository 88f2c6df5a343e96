"""A thread that advances collectives while their rank computes, or waits in MPI's own calls.

It sleeps while nothing of its own is under way; while something is, it polls, less and less often
the longer nothing moves.  Each call of ours has a tag to itself among those under way, and each
task is advanced by one thread at a time, so that the thread needs no communicator of its own.
"""

from __future__ import annotations

import atexit
import os
import time
from contextlib import suppress
from functools import cache
from threading import Condition, Thread, current_thread

from mpi4py import MPI

from .progress import Task, under_way
from .settings import setting

CALLS, THREAD = WORDS = ("calls", "thread")
"""What makes progress: our calls that test or wait, or a thread as well."""

POLLS = 20
"""The polls between which the thread only yields, each time that something has moved."""

SHORTEST_S, LONGEST_S = 1e-5, 2e-4
"""The first and the longest sleep between polls, in seconds."""

PATIENCE_S = 5.0
"""How long the end of the thread is waited for, in seconds: an operator of the user's may hang."""


class BackgroundThread:
    """One thread that is there while anybody holds it and something was under way."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._holders = 0
        self._thread: Thread | None = None

    def hold(self) -> None:
        """Count one more that wants it; the thread starts when there is something to do."""
        self._holders += 1

    def release(self) -> None:
        """Count one less; the last one ends the thread, even if something is under way."""
        self._holders -= 1
        if not self._holders:
            self.stop()

    def wake(self) -> None:
        """A task of its own is under way now."""
        with self._changed:
            if self._thread is None and self._holders:
                self._thread = Thread(target=self._run, name="mpicoll-progress", daemon=True)
                self._thread.start()
            self._changed.notify()

    def stop(self) -> None:
        """End the thread; what is under way goes on in the calls that test or wait."""
        with self._changed:
            thread, self._thread = self._thread, None
            self._changed.notify()
        if thread is not None:
            thread.join(PATIENCE_S)

    def _run(self) -> None:
        rest = _Rest()
        while self._wait_for_work():
            rest(moved=self._turn())

    def _wait_for_work(self) -> bool:
        """Sleep until something is under way; False where the thread shall end."""
        with self._changed:
            while self._thread is current_thread() and not self._tasks():
                self._changed.wait()
            return self._thread is current_thread()

    def _turn(self) -> bool:
        """Advance all once; whether anything has moved."""
        moved = False
        for task in self._tasks():
            stage, complete = task.stage, True
            with suppress(BaseException):  # the task keeps it for who waits for it
                complete = task.step()
            moved = moved or complete or task.stage != stage
        return moved

    def _tasks(self) -> list[Task]:
        return [task for task in under_way() if task.ways.driver is self]


class _Rest:
    """What the thread does between two turns."""

    def __init__(self) -> None:
        self._polls, self._seconds = 0, SHORTEST_S

    def __call__(self, moved: bool) -> None:
        """Yield, or sleep, longer and longer while nothing moves."""
        if moved:
            self._polls, self._seconds = 0, SHORTEST_S
        self._polls += 1
        if self._polls <= POLLS:
            os.sched_yield()
            return
        time.sleep(self._seconds)
        self._seconds = min(2 * self._seconds, LONGEST_S)


def hold(given: str | None = None) -> BackgroundThread | None:
    """This process's thread, held once more, where it is wanted: ``given``, or MPICOLL_PROGRESS.

    A word that is none of ``WORDS`` is a ``ValueError``; ``RuntimeError`` where MPI lets only one
    thread at a time call it.
    """
    if setting("progress", given, WORDS) != THREAD:
        return None
    if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
        raise RuntimeError(
            f"progress={THREAD!r} needs MPI.THREAD_MULTIPLE, but MPI was initialized with less: "
            "leave mpi4py.rc.thread_level at 'multiple', or use an MPI library that grants it"
        )
    thread = _thread()
    thread.hold()
    return thread


@cache
def _thread() -> BackgroundThread:
    """The one of this process; ended before MPI is."""
    thread = BackgroundThread()
    atexit.register(thread.stop)
    return thread
