"""MPI collectives built from sends and receives, beside the vendor's own.

``mpicoll.Communicator(MPI.COMM_WORLD)`` is an mpi4py communicator whose collectives are ours.
See ``help(mpicoll.Communicator)``, ``Request``, ``Plan``, ``Op`` and ``Tuning``, which need MPI.
The catalogue (``algorithms``, ``schedule``, ``verify``) works without MPI.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import schedule as _schedule
from .schedule import (
    BadOption,
    Proof,
    ScheduleError,
    UnknownName,
    Unserved,
    algorithms,
    collectives,
)
from .schedule.steps import Round

if TYPE_CHECKING:
    from .communicator import Communicator, Tuning, TuningError, TuningWarning
    from .transport import Op, Plan, Request

__version__ = "0.1.0"

__all__ = [
    "BadOption",
    "Communicator",
    "Op",
    "Plan",
    "Proof",
    "Request",
    "ScheduleError",
    "Tuning",
    "TuningError",
    "TuningWarning",
    "UnknownName",
    "Unserved",
    "algorithms",
    "collectives",
    "schedule",
    "verify",
]

_LAZY = {
    "Communicator": "communicator",
    "Op": "transport",
    "Plan": "transport",
    "Request": "transport",
    "Tuning": "communicator",
    "TuningError": "communicator",
    "TuningWarning": "communicator",
}


def schedule(
    collective: str,
    algorithm: str,
    rank: int,
    size: int,
    root: int = 0,
    nodes: Sequence[int] | None = None,
) -> tuple[Round, ...]:
    """The rounds of one rank, as data.

    ``algorithm``: its name, options after it, as in ``circulant:blocks=8``.  ``nodes``: the node of
    each rank; by default four ranks after one another are a node.
    Raises ``UnknownName`` for a name that is not there, ``Unserved`` for a number of ranks that the
    algorithm cannot serve and ``ValueError`` for a rank, root, size or option that cannot be.
    """
    entry = _schedule.find(collective, algorithm)
    _schedule.require(entry, size)
    return entry.schedule(rank, size, root, nodes=nodes)


def verify(
    collective: str,
    algorithm: str,
    size: int,
    root: int = 0,
    nodes: Sequence[int] | None = None,
) -> Proof:
    """Prove an algorithm right at a number of ranks; raises ``ScheduleError`` where it is not.

    Arguments and other errors are those of ``schedule``.
    """
    entry = _schedule.find(collective, algorithm)
    _schedule.require(entry, size)
    return _schedule.verify(entry, size, root, nodes=nodes)


def __getattr__(name: str) -> Any:
    """Load what needs mpi4py when it is first asked for."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f".{_LAZY[name]}", __name__), name)
