"""Requests: a collective under way, as a non-blocking call returns it.

A collective may take several plans one after the other (first the counts, then the data), so a
request is made of an iterator of plans; each is freed when it is complete.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from mpi4py import MPI

from .plan import Plan
from .progress import Task, advance_all, pause, under_way


class Request(Task):
    """A non-blocking collective, which advances in each of our calls that test or wait.

    Not an ``MPI.Request``: MPI itself cannot advance it, so it stands still while its rank waits in
    MPI's own calls, such as a receive.  ``Request.Waitall`` and the like take both kinds, in any
    mixture.  ``owner``: by which ``complete_all`` finds it.
    """

    def __init__(self, plans: Iterator[Plan], owner: object = None) -> None:
        super().__init__()
        self._plans, self._owner = plans, owner
        self._plan: Plan | None = None
        self._next()
        self.register()

    def advance(self) -> bool:
        """Go as far as possible without waiting; whether the collective is complete."""
        while self._plan is not None:
            if not self._plan.advance():
                return False
            self._next()
        return True

    def finish(self) -> None:
        """Go to the end, waiting in each round."""
        while self._plan is not None:
            self._plan.finish()
            self._next()

    def Free(self) -> None:
        """Complete the collective and free what it holds."""
        self.Wait()

    @property
    def algorithm(self) -> str | None:
        """The name of what is running, or None when it is complete."""
        return self._plan.algorithm if self._plan else None

    def _next(self) -> None:
        if self._plan is not None:
            self._plan.Free()
        self._plan = next(self._plans, None)
        if self._plan is not None:
            self._plan.begin()

    @staticmethod
    def complete_all(owner: object) -> None:
        """Complete all requests of an owner that are under way, without reporting them."""
        for task in under_way():
            if isinstance(task, Request) and task._owner is owner:
                task.complete()

    @staticmethod
    def Waitall(requests: Sequence[Any], statuses: list[MPI.Status] | None = None) -> bool:
        """Wait for all, of both kinds; all make progress together."""
        pending = list(requests)
        while pending := [request for request in pending if not _poll(request)]:
            pause()
        return True

    @staticmethod
    def Testall(requests: Sequence[Any], statuses: list[MPI.Status] | None = None) -> bool:
        """Whether all are complete, of both kinds; all make progress."""
        complete = [_poll(request) for request in requests]
        if not all(complete):
            advance_all(but=requests)
        return all(complete)

    @staticmethod
    def Waitany(requests: Sequence[Any], status: MPI.Status | None = None) -> int:
        """Wait for one, of both kinds, that no call has reported as complete yet.

        Its index, or ``MPI.UNDEFINED`` where there are none.
        """
        while waiting := [index for index, one in enumerate(requests) if _is_active(one)]:
            for index in waiting:
                if _poll(requests[index]):
                    return index
            pause()
        return MPI.UNDEFINED


def _poll(request: Any) -> bool:
    return bool(request.poll() if isinstance(request, Task) else request.Test())


def _is_active(request: Any) -> bool:
    return bool(request.awaited if isinstance(request, Task) else request != MPI.REQUEST_NULL)
