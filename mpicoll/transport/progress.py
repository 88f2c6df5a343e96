"""Progress: whoever waits for one collective advances all others that are under way.

MPI lets ranks wait for non-blocking operations in any order, and call blocking ones meanwhile,
since each of its calls makes progress in all of them (MPI 4.1, section 2.9).  So do ours.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from threading import Lock
from typing import Any

from mpi4py import MPI

_under_way: dict[int, Task] = {}


class Task(ABC):
    """Something that takes several turns: a plan that was started, or a request.

    ``awaited``: it was started, and nobody has been told yet that it is complete.
    """

    def __init__(self) -> None:
        self.awaited = False
        self._busy = Lock()  # held by the thread, or by the operator, that is at work on it

    @abstractmethod
    def advance(self) -> bool:
        """Go as far as possible without waiting; whether it is complete."""

    @abstractmethod
    def finish(self) -> None:
        """Go to the end, waiting for nothing else."""

    def Test(self, status: MPI.Status | None = None) -> bool:
        """Go as far as possible without waiting, all others too; whether it is complete."""
        complete = self.poll()
        if not complete:
            advance_all(but=[self])
        return complete

    def poll(self) -> bool:
        """As ``Test``, but this one alone."""
        complete = self._step()
        if complete:
            self.awaited = False
        return complete

    def Wait(self, status: MPI.Status | None = None) -> bool:
        """Wait until it is complete; True, as mpi4py's requests say it."""
        self.complete()
        return self.poll()

    def complete(self) -> None:
        """As ``Wait``, but without reporting it."""
        while not self._step():
            if len(_under_way) > 1 or not self._finish():
                pause()

    test, wait = Test, Wait

    def register(self) -> None:
        """Count as under way from now on."""
        self.awaited = True
        _under_way[id(self)] = self

    def _step(self) -> bool:
        """Advance, unless somebody is at it."""
        if not self._busy.acquire(blocking=False):
            return False
        complete = True  # what raises never goes on
        try:
            complete = self.advance()
        finally:
            if complete:
                _under_way.pop(id(self), None)
            self._busy.release()
        return complete

    def _finish(self) -> bool:
        """Finish, unless somebody is at work on it; whether it was done."""
        if not self._busy.acquire(blocking=False):
            return False
        try:
            self.finish()
        finally:
            _under_way.pop(id(self), None)
            self._busy.release()
        return True


def under_way() -> list[Task]:
    """All that was started and is not complete."""
    return list(_under_way.values())


def advance_all(but: Sequence[Any] = ()) -> None:
    """Advance everything that is under way, but for some that somebody else sees to."""
    for task in under_way():
        if task not in but:
            task._step()


def wait_all(requests: Sequence[Any]) -> None:
    """Wait for MPI's own requests; meanwhile advance everything that is under way."""
    while _under_way:
        if MPI.Request.Testall(requests):
            return
        pause()
    MPI.Request.Waitall(requests)


def receive(comm: MPI.Intracomm, source: int, tag: int) -> Any:
    """Receive an object; meanwhile advance everything that is under way."""
    while _under_way:
        message = comm.improbe(source, tag)
        if message is not None:
            return message.recv()
        pause()
    return comm.recv(None, source, tag)


def pause() -> None:
    """Advance everything that is under way, and let others have the core."""
    advance_all()
    os.sched_yield()
