"""Requests: a collective under way, as a non-blocking call returns it.

A collective may take several plans one after the other (first the counts, then the data), so a
request is made of an iterator of plans; each is freed when it is complete.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .completion import Completions
from .plan import Plan
from .progress import PLAIN, Task, Ways, under_way


class Request(Completions, Task):
    """A non-blocking collective, which advances in each of our calls that test or wait.

    Not an ``MPI.Request``: MPI itself cannot advance it, so it stands still while its rank
    computes, or waits in MPI's own calls such as a receive or its own collectives; but not on a
    communicator with ``progress="thread"``, whose thread advances it meanwhile.
    ``Request.Waitall`` and the like take both kinds, in any mixture.  ``owner``: by which
    ``complete_all`` finds it.
    """

    def __init__(self, plans: Iterator[Plan], owner: object = None, ways: Ways = PLAIN) -> None:
        super().__init__(ways)
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

    @property
    def stage(self) -> Any:
        """What is different once the request has gone on."""
        plan = self._plan
        return plan and (id(plan), plan.stage)

    def Free(self) -> None:
        """Complete the collective and free what it holds."""
        self.Wait()

    @property
    def algorithm(self) -> str | None:
        """The name of what is running, or None when it is complete."""
        return self._plan.algorithm if self._plan else None

    def __repr__(self) -> str:
        if self._error is not None:
            return f"<Request: failed, {self._error!r}>"
        return f"<Request: {self.algorithm}, under way>" if self._plan else "<Request: complete>"

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
