"""Progress: whoever waits for one collective advances all others that are under way.

MPI lets ranks wait for non-blocking operations in any order, and call blocking ones meanwhile,
since each of its calls makes progress in all of them (MPI 4.1, section 2.9).  So do ours.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cache
from threading import Lock
from typing import Any, NamedTuple, Protocol

from mpi4py import MPI

from .waiting import ALONE, SPIN, Pause

TASKS: dict[int, Task] = {}
"""All that was started and is not complete."""


class Driver(Protocol):
    """What advances tasks while their rank does something else."""

    def wake(self) -> None:
        """A task of its own is under way now."""

    def release(self) -> None:
        """A communicator that wanted it is no more."""


class Ways(NamedTuple):
    """How the tasks of a communicator wait, and what else advances them."""

    wait: str = SPIN
    driver: Driver | None = None


PLAIN = Ways()
"""Waiting inside MPI, and no progress but in our calls."""


class Task(ABC):
    """Something that takes several turns: a plan that was started, or a request.

    ``awaited``: it was started, and nobody has been told yet that it is complete.
    """

    def __init__(self, ways: Ways = PLAIN) -> None:
        self.ways = ways
        self.awaited = False
        self._error: BaseException | None = None
        self._busy = Lock()  # held by the thread, or by the operator, that is at work on it

    @abstractmethod
    def advance(self) -> bool:
        """Go as far as possible without waiting; whether it is complete."""

    @abstractmethod
    def finish(self) -> None:
        """Go to the end, waiting for nothing else."""

    @property
    def stage(self) -> Any:
        """What is different once the task has gone on."""
        return None

    @property
    def done(self) -> bool:
        """Whether it is not under way, seen without making progress."""
        return id(self) not in TASKS

    def Test(self, status: MPI.Status | None = None) -> bool:
        """Go as far as possible without waiting, all others too; whether it is complete."""
        complete = self.poll()
        if not complete:
            advance_all(but=[self])
        return complete

    def poll(self) -> bool:
        """As ``Test``, but this one alone."""
        if not self.step():
            return False
        self.awaited = False
        self._raise()
        return True

    def Wait(self, status: MPI.Status | None = None) -> bool:
        """Wait until it is complete; True, as mpi4py's requests say it."""
        self.complete()
        self.awaited = False
        self._raise()
        return True

    def test(self, status: MPI.Status | None = None) -> tuple[bool, None]:
        """As ``Test``; with it None, the object that was received."""
        return self.Test(), None

    def wait(self, status: MPI.Status | None = None) -> None:
        """As ``Wait``; None, the object that was received."""
        self.Wait()

    def complete(self) -> None:
        """Wait until it is complete, without reporting that or what went wrong."""
        pause = Pause(self.ways.wait)
        while not self.step():
            if self.ways.wait != SPIN or len(TASKS) > 1 or not self._finish():
                advance_all(but=[self])
                pause()

    def register(self) -> None:
        """Count as under way from now on."""
        self.awaited = True
        TASKS[id(self)] = self
        if self.ways.driver is not None:
            self.ways.driver.wake()

    def step(self) -> bool:
        """Advance, unless somebody is at it; whether it is complete.

        What it raises ends it, and is kept for those who test it or wait for it.
        """
        return self._guarded(self.advance)

    def _finish(self) -> bool:
        """Finish, unless somebody is at work on it; whether it was done."""
        return self._guarded(self._finished)

    def _finished(self) -> bool:
        self.finish()
        return True

    def _guarded(self, work: Callable[[], bool]) -> bool:
        """Do some work on it, if nobody is at it and it is under way; whether it is complete."""
        if not self._busy.acquire(blocking=False):
            return False
        try:
            return self.done or self._worked(work)
        finally:
            self._busy.release()

    def _worked(self, work: Callable[[], bool]) -> bool:
        complete = True  # what raises never goes on
        try:
            complete = work()
        except BaseException as error:
            self._error = error
            if not isinstance(error, Exception):
                raise
        finally:
            if complete:
                TASKS.pop(id(self), None)
        return complete

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error


def under_way() -> list[Task]:
    """All that was started and is not complete."""
    return list(TASKS.values())


def advance_all(but: Sequence[Any] = ()) -> None:
    """Advance everything that is under way, but for some that somebody else sees to."""
    for task in under_way():
        if task not in but:
            task.step()


@cache
def waiter(mode: str) -> Callable[[Sequence[Any]], None]:
    """What waits for MPI's own requests, and meanwhile advances everything that is under way."""
    wait_alone = ALONE[mode]

    def wait(requests: Sequence[Any]) -> None:
        if TASKS:
            pause = Pause(mode)
            while TASKS:
                if MPI.Request.Testall(requests):
                    return
                advance_all()
                pause()
        wait_alone(requests)

    return wait


def receive(comm: MPI.Intracomm, source: int, tag: int, mode: str = SPIN) -> Any:
    """Receive an object; meanwhile advance everything that is under way."""
    pause = Pause(mode)
    while TASKS or mode != SPIN:
        message = comm.improbe(source, tag)
        if message is not None:
            return message.recv()
        advance_all()
        pause()
    return comm.recv(None, source, tag)
