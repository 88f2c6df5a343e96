"""Plans that ordinary calls keep, so that the same call on the same memory only replays.

A call is known by what its plan depends on: addresses, sizes and dtypes, never the arrays
themselves, and plans hold memory by address too.  So nothing is kept alive, and an array that was
freed, resized or replaced is another call, or has the very layout that the plan is right for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from mpi4py import MPI

from ..transport.plan import Plan
from ..transport.pool import LIMIT
from .call import Call

MOST = 128
"""The most plans that a communicator keeps; the oldest one makes room."""

REQUESTS = 1024
"""The most requests of a plan that is kept."""

_CONTIGUOUS = 1  # NPY_ARRAY_C_CONTIGUOUS

_CONSTANTS = {
    id(value)
    for value in (*vars(MPI).values(), *vars(np).values())
    if isinstance(value, MPI.Op | MPI.Datatype | np.ufunc) or value is MPI.IN_PLACE
}
"""The identities of what lives as long as the process and never changes."""

_FIRST = 2
"""The first arguments, which are the buffers (but for those of another type, such as a root)."""

_BUFFERS = {"buf", "sendbuf", "recvbuf"}
"""The names of the buffers."""

_PLAIN = {int, bool, str, type(None)}
_address = MPI.Get_address
_ndarray = np.ndarray


def fingerprint(
    name: str, deterministic: bool, arguments: Sequence[Any], options: Mapping[str, Any]
) -> tuple[Any, ...] | None:
    """What the plan of a call depends on, or None where that cannot be told by numbers alone."""
    parts: list[Any] = [name, deterministic]
    for index, value in enumerate(arguments):
        if type(value) is _ndarray and index < _FIRST:  # as in _add, without its call
            flags = value.flags.num
            if not flags & _CONTIGUOUS:
                return None
            parts += _address(value), value.size, value.dtype, flags
        elif not _add(parts, value, index < _FIRST):
            return None
    for key, value in options.items():
        parts.append(key)
        if not _add(parts, value, key in _BUFFERS):
            return None
    return tuple(parts)


def _add(parts: list[Any], value: Any, is_buffer: bool) -> bool:
    """Add an argument's part; whether there is one.

    An array is one as a buffer, where its content does not count, and not among counts.
    """
    kind = type(value)
    if kind in _PLAIN:
        parts.append(value)
    elif id(value) in _CONSTANTS:
        parts.append(id(value))
    elif kind is _ndarray:
        if not is_buffer or not value.flags.num & _CONTIGUOUS:
            return False
        parts += _address(value), value.size, value.dtype, value.flags.num
    elif kind is list or kind is tuple:
        parts.append((kind, len(value)))
        return all(
            _add(parts, one, is_buffer and not index and type(one) is _ndarray)
            for index, one in enumerate(value)
        )
    else:
        return False
    return True


def run_all(plans: Iterable[Plan]) -> None:
    """Run one plan after the other, each before the next is made."""
    for plan in plans:
        plan.run()
        plan.Free()


def fits(plan: Plan) -> bool:
    """Whether a plan is small enough to keep: in its messages, and its scratch in the pool."""
    return plan.requests <= REQUESTS and plan.scratch <= LIMIT


class KeptPlans:
    """The plans of a communicator's blocking calls, by the call."""

    def __init__(self) -> None:
        self._plans: dict[tuple[Any, ...], Plan] = {}

    def __len__(self) -> int:
        return len(self._plans)

    def replay(self, key: tuple[Any, ...] | None) -> bool:
        """Run the plan of a call, if it is here; whether it was."""
        plan = self._plans.get(key)  # type: ignore[arg-type]
        if plan is None:
            return False
        try:
            plan.run()
        except BaseException:
            self._plans.pop(key, None)  # type: ignore[arg-type]
            raise
        return True

    def run(self, key: tuple[Any, ...] | None, call: Call, plans: Iterator[Plan]) -> None:
        """Run a call's plans, each before the next is made; keep it where it is a single one."""
        first = next(plans)
        first.run()
        second = next(plans, None)
        if second is None and key is not None and call.borrowed and fits(first):
            self._keep(key, first)
            return
        first.Free()
        run_all(plans if second is None else chain([second], plans))

    def free(self) -> None:
        """Free all plans."""
        plans, self._plans = self._plans, {}
        for plan in plans.values():
            plan.Free()

    def _keep(self, key: tuple[Any, ...], plan: Plan) -> None:
        while len(self._plans) >= MOST:
            self._plans.pop(next(iter(self._plans))).Free()
        self._plans[key] = plan
