"""Waiting: what a rank does with its core until a message is there.

``spin``: wait inside MPI, which polls; the fastest where each rank has a core.  ``yield``: poll a
few times, then let others have the core, and again.  Where ranks share cores and MPI itself does
not yield, a rank would else poll till the end of its time slice while the one that it waits for
has no core.  ``sleep``: as yield, and after a while sleep between polls, longer and longer.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mpi4py import MPI

from .settings import setting

SPIN, YIELD, SLEEP = MODES = ("spin", "yield", "sleep")

POLLS = 3
"""The polls between two yields."""

YIELDS = 100
"""The yields before the first sleep."""

SHORTEST_S, LONGEST_S = 1e-6, 1e-3
"""The first and the longest sleep between polls, in seconds."""


def wait_mode(comm: MPI.Intracomm, given: str | None = None) -> str:
    """How the ranks of a communicator wait: as told, or as the cores of this node need it.

    ``given`` comes first, then the environment variable ``MPICOLL_WAIT``; a word that is none of
    ``MODES`` is a ``ValueError``.  Collective where it is not given: nodes are told apart by MPI.
    """
    told = setting("wait", given, MODES)
    if given is not None:
        return given
    crowded = is_crowded(comm)
    return told or (YIELD if crowded else SPIN)


def is_crowded(comm: MPI.Intracomm) -> bool:
    """Whether this node has more of the ranks than cores that they may run on; collective."""
    node = comm.Split_type(MPI.COMM_TYPE_SHARED)
    cores = node.allgather(_cores())
    node.Free()
    return len(cores) > len(set[int]().union(*cores))


def _cores() -> set[int]:
    """The cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 1))


class Pause:
    """What a loop that waits does between two polls, in a mode of waiting."""

    def __init__(self, mode: str) -> None:
        self._yields = YIELDS if mode == SLEEP else None
        self._seconds = SHORTEST_S

    def __call__(self) -> None:
        """Let others have the core, for longer the longer the wait takes."""
        if self._yields is None:
            os.sched_yield()
        elif self._yields > 0:
            self._yields -= 1
            os.sched_yield()
        else:
            time.sleep(self._seconds)
            self._seconds = min(2 * self._seconds, LONGEST_S)


def _poll_for_all(mode: str) -> Callable[[Sequence[Any]], None]:
    """Waits for MPI's requests by polling."""
    test_all = MPI.Request.Testall

    def wait(requests: Sequence[Any]) -> None:
        pause = Pause(mode)
        while True:
            for _ in range(POLLS):
                if test_all(requests):
                    return
            pause()

    return wait


ALONE: Mapping[str, Callable[[Sequence[Any]], Any]] = {
    SPIN: MPI.Request.Waitall,
    YIELD: _poll_for_all(YIELD),
    SLEEP: _poll_for_all(SLEEP),
}
"""What waits for MPI's requests in each mode, where nothing else is under way."""
