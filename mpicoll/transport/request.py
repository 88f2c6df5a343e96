"""Requests: a collective under way, as a non-blocking call returns it.

A collective may take several plans one after the other (first the counts, then the data), so a
request is made of an iterator of plans; each is freed when it is complete.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from mpi4py import MPI

from .plan import Plan


class Request:
    """A non-blocking collective; progress is made in ``Test`` and ``Wait``.

    Not an ``MPI.Request``: MPI itself cannot advance it.  ``Request.Waitall`` and the like take
    both kinds, in any mixture.
    """

    def __init__(self, plans: Iterator[Plan]) -> None:
        self._plans = plans
        self._plan: Plan | None = None
        self._next()

    def Test(self, status: MPI.Status | None = None) -> bool:
        """Go as far as possible without waiting; whether the collective is complete."""
        while self._plan is not None:
            if not self._plan.Test():
                return False
            self._next()
        return True

    def Wait(self, status: MPI.Status | None = None) -> bool:
        """Wait until the collective is complete; always True, as with mpi4py."""
        while self._plan is not None:
            self._plan.Wait()
            self._next()
        return True

    test, wait = Test, Wait

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
            self._plan.Start()

    @staticmethod
    def Waitall(requests: Sequence[Any], statuses: list[MPI.Status] | None = None) -> bool:
        """Wait for all, of both kinds; all make progress together."""
        pending = list(requests)
        while pending:
            pending = [request for request in pending if not request.Test()]
        return True

    @staticmethod
    def Testall(requests: Sequence[Any], statuses: list[MPI.Status] | None = None) -> bool:
        """Whether all are complete, of both kinds; all make progress."""
        complete = [request.Test() for request in requests]
        return all(complete)

    @staticmethod
    def Waitany(requests: Sequence[Any], status: MPI.Status | None = None) -> int:
        """Wait for one, of both kinds; its index, or ``MPI.UNDEFINED`` where there are none."""
        while requests:
            for index, request in enumerate(requests):
                if request.Test():
                    return index
        return MPI.UNDEFINED
