"""Multiple completions: waiting for several requests at once, ours and MPI's in any mixture.

Names, arguments and results are mpi4py's (MPI 4.1, section 3.7.5).  A request is *active* until a
call has reported it as complete.  All of ours make progress in each of these calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from mpi4py import MPI

from .progress import Task, advance_all
from .waiting import MODES, SPIN, Pause

Statuses: TypeAlias = list[MPI.Status]


class Completions:
    """mpi4py's class methods for several requests.

    ``status``, ``statuses``: filled for MPI's requests; ours have an empty status.  What went wrong
    in a request of ours is raised by the call that would report it as complete.
    """

    @staticmethod
    def Waitall(requests: Sequence[Any], statuses: Statuses | None = None) -> bool:
        """Wait for all; True."""
        _wait_all(requests, statuses)
        return True

    @staticmethod
    def Testall(requests: Sequence[Any], statuses: Statuses | None = None) -> bool:
        """Whether all are complete."""
        return _test_all(requests, statuses) is not None

    @staticmethod
    def Waitany(requests: Sequence[Any], status: MPI.Status | None = None) -> int:
        """Wait for an active one; its index, or ``MPI.UNDEFINED`` where there are none."""
        return _wait_any(requests, status)[0]

    @staticmethod
    def Testany(requests: Sequence[Any], status: MPI.Status | None = None) -> tuple[int, bool]:
        """The index of an active one that is complete, and True.

        Where there is none, ``MPI.UNDEFINED``, and whether that is because none is active.
        """
        return _test_any(requests, status)[:2]

    @staticmethod
    def Waitsome(requests: Sequence[Any], statuses: Statuses | None = None) -> list[int] | None:
        """Wait for at least one; the indices of all that are complete, None where none is active.

        ``statuses``: one for each index.
        """
        return _wait_some(requests, statuses)[0]

    @staticmethod
    def Testsome(requests: Sequence[Any], statuses: Statuses | None = None) -> list[int] | None:
        """The indices of all that are complete, None where none is active.

        ``statuses``: one for each index.
        """
        return _test_some(requests, statuses)[0]

    @staticmethod
    def waitall(requests: Sequence[Any], statuses: Statuses | None = None) -> list[Any]:
        """As ``Waitall``; the objects received, None for each that receives none."""
        return _wait_all(requests, statuses)

    @staticmethod
    def testall(
        requests: Sequence[Any], statuses: Statuses | None = None
    ) -> tuple[bool, list[Any] | None]:
        """As ``Testall``; with it the objects received, once all are complete."""
        objects = _test_all(requests, statuses)
        return objects is not None, objects

    @staticmethod
    def waitany(requests: Sequence[Any], status: MPI.Status | None = None) -> tuple[int, Any]:
        """As ``Waitany``; with it the object received."""
        return _wait_any(requests, status)

    @staticmethod
    def testany(requests: Sequence[Any], status: MPI.Status | None = None) -> tuple[int, bool, Any]:
        """As ``Testany``; with it the object received."""
        return _test_any(requests, status)

    @staticmethod
    def waitsome(
        requests: Sequence[Any], statuses: Statuses | None = None
    ) -> tuple[list[int] | None, list[Any] | None]:
        """As ``Waitsome``; with it the objects received."""
        return _wait_some(requests, statuses)

    @staticmethod
    def testsome(
        requests: Sequence[Any], statuses: Statuses | None = None
    ) -> tuple[list[int] | None, list[Any] | None]:
        """As ``Testsome``; with it the objects received."""
        return _test_some(requests, statuses)


def _wait_all(requests: Sequence[Any], statuses: Statuses | None) -> list[Any]:
    objects: list[Any] = [None] * len(requests)
    pending, pause = list(enumerate(requests)), _pause(requests)
    while True:
        waiting = []
        for index, request in pending:
            complete, objects[index] = _take(request, _slot(statuses, index))
            if complete is False:
                waiting.append((index, request))
        if not waiting:
            return objects
        pending = waiting
        advance_all(but=requests)
        pause()


def _test_all(requests: Sequence[Any], statuses: Statuses | None) -> list[Any] | None:
    """The objects where all are complete; else None, and nothing is reported."""
    complete = [_is_complete(request) for request in requests]
    if all(complete):
        return _wait_all(requests, statuses)
    advance_all(but=requests)
    return None


def _wait_any(requests: Sequence[Any], status: MPI.Status | None) -> tuple[int, Any]:
    pause = _pause(requests)
    while True:
        index, complete, found = _test_any(requests, status)
        if complete:
            return index, found
        pause()


def _test_any(requests: Sequence[Any], status: MPI.Status | None) -> tuple[int, bool, Any]:
    active = False
    for index, request in enumerate(requests):
        complete, found = _take(request, status)
        if complete:
            return index, True, found
        active = active or complete is not None
    if active:
        advance_all(but=requests)
    return MPI.UNDEFINED, not active, None


def _wait_some(
    requests: Sequence[Any], statuses: Statuses | None
) -> tuple[list[int] | None, list[Any] | None]:
    pause = _pause(requests)
    while True:
        indices, objects = _test_some(requests, statuses)
        if indices or indices is None:
            return indices, objects
        pause()


def _test_some(
    requests: Sequence[Any], statuses: Statuses | None
) -> tuple[list[int] | None, list[Any] | None]:
    indices: list[int] = []
    objects: list[Any] = []
    active = False
    for index, request in enumerate(requests):
        complete, found = _take(request, _slot(statuses, len(indices)))
        if complete:
            indices.append(index)
            objects.append(found)
        active = active or complete is not None
    if not active:
        return None, None
    if not indices:
        advance_all(but=requests)
    return indices, objects


def _take(request: Any, status: MPI.Status | None) -> tuple[bool | None, Any]:
    """Whether a request is complete, None where it is not active, and the object received."""
    if not isinstance(request, Task):
        index, complete, found = MPI.Request.testany([request], status)
        return (None if complete and index == MPI.UNDEFINED else complete), found
    if not request.awaited:
        return None, None
    complete = request.poll()
    if complete and status is not None:
        MPI.Request().Test(status)  # makes it empty
    return complete, None


def _is_complete(request: Any) -> bool:
    """Whether a request is complete, without reporting it."""
    return bool(request.step() if isinstance(request, Task) else request.Get_status())


def _slot(statuses: Statuses | None, index: int) -> MPI.Status | None:
    """The status of that index, in a list that is made as long as it takes."""
    if statuses is None:
        return None
    while len(statuses) <= index:
        statuses.append(MPI.Status())
    return statuses[index]


def _pause(requests: Sequence[Any]) -> Pause:
    """What suits the most patient of them."""
    modes = [request.ways.wait for request in requests if isinstance(request, Task)]
    return Pause(max(modes, key=MODES.index, default=SPIN))
