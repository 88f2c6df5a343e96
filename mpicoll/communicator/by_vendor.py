"""MPI's own collective behind a plan's interface: where it is named, and where it won a tuning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from mpi4py import MPI

from ..schedule import VENDOR
from ..transport.buffers import Buffer
from ..transport.datatypes import Array
from ..transport.progress import Task
from .call import Call

_OF_FLOATS: dict[np.ufunc, MPI.Op] = {np.add: MPI.SUM, np.multiply: MPI.PROD}

_OF_INTEGERS: dict[np.ufunc, MPI.Op] = {
    **_OF_FLOATS,
    np.maximum: MPI.MAX,
    np.minimum: MPI.MIN,
    np.bitwise_and: MPI.BAND,
    np.bitwise_or: MPI.BOR,
    np.bitwise_xor: MPI.BXOR,
}

_OPERATORS = {**dict.fromkeys("fdFD", _OF_FLOATS), **dict.fromkeys("ilqILQ", _OF_INTEGERS)}
"""By dtype, what gives NumPy's result in every MPI library.

Not MAX of floating point, where a NaN counts, nor small integers, which overflow in their ways.
"""

_METHODS = {"reduce_scatter": "Reduce_scatter_block"}
"""The method of a collective whose blocks have one size, where it is not its own name."""


class VendorPlan(Task):
    """The vendor's collective as a plan.

    ``load``, ``store``: what to run before and after it.
    """

    algorithm = VENDOR
    requests = scratch = 0

    def __init__(
        self,
        blocking: Callable[[], Any],
        nonblocking: Callable[[], MPI.Request],
        load: Sequence[Callable[[], None]] = (),
        store: Sequence[Callable[[], None]] = (),
    ) -> None:
        super().__init__()
        self._blocking, self._nonblocking = blocking, nonblocking
        self._load, self._store = load, store
        self._request: MPI.Request | None = None

    def run(self) -> None:
        """The blocking call."""
        self._check_idle("run")
        for copy in self._load:
            copy()
        self._blocking()
        for copy in self._store:
            copy()

    def Start(self) -> None:
        """Begin, by the vendor's non-blocking call."""
        self._check_idle("Start")
        self.begin()
        self.register()

    def begin(self) -> None:
        """As ``Start``, for those who advance it themselves."""
        for copy in self._load:
            copy()
        self._request = self._nonblocking()

    def advance(self) -> bool:
        """Whether the collective is complete."""
        if self._request is not None and self._request.Test():
            self._end()
        return self._request is None

    def finish(self) -> None:
        """Wait until the collective is complete."""
        if self._request is not None:
            self._request.Wait()
            self._end()

    def _end(self) -> None:
        self._request = None
        for copy in self._store:
            copy()

    def Free(self) -> None:
        """Nothing to free; a plan that is under way is a ``RuntimeError``."""
        self._check_idle("Free")

    def __enter__(self) -> VendorPlan:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if error is None:
            self.Free()

    def _check_idle(self, what: str) -> None:
        if self._request is not None:
            raise RuntimeError(f"{what} of a plan that is under way; Wait for it first")


def vendor_plan(vendor: MPI.Intracomm, call: Call) -> VendorPlan | None:
    """The vendor's collective for a call, or None where its result might not be ours.

    That depends on what all ranks know of the call alone; buffers of any layout serve, through the
    copies that ours would take too.
    """
    op = _op(call)
    if not (call.agreed and call.equal) or (call.contract.operates and op is None):
        return None
    buffers = [buffer for buffer in (call.send, call.recv) if buffer is not None]
    load = [buffer.load for buffer in buffers if buffer.load]
    store = [call.recv.store] if call.recv is not None and call.recv.store else []
    send, receive = _whole(call.send), _whole(call.recv)
    if call.collective == "reduce_scatter":
        assert call.recv is not None and receive is not None and call.end is not None
        start, count = call.end.slots[0]
        receive, every = call.recv.data[start : start + count], receive
        if send is None:
            send = np.empty_like(every)
            load.append(partial(np.copyto, send, every))
    name = _METHODS.get(call.collective, call.collective.capitalize())
    blocking, nonblocking = (getattr(vendor, one) for one in (name, f"I{name.lower()}"))
    arguments = _arguments(call, send, receive, op)
    return VendorPlan(partial(blocking, *arguments), partial(nonblocking, *arguments), load, store)


def _op(call: Call) -> MPI.Op | None:
    """MPI's operator for a call's, where it is right for the data in every library."""
    buffer = call.send or call.recv
    if call.operator is None or call.operator.ufunc is None or buffer is None:
        return None
    return _OPERATORS.get(buffer.data.dtype.char, {}).get(call.operator.ufunc)


def _arguments(
    call: Call, send: Array | None, receive: Array | None, op: MPI.Op | None
) -> tuple[Any, ...]:
    """The arguments of the vendor's method, in mpi4py's order."""
    if call.contract.idempotent:
        return ()
    root = (call.root,) if call.contract.rooted else ()
    if call.collective == "bcast":
        return receive if send is None else send, *root
    first: Any = send
    last: Any = receive
    if call.collective == "scatter" and call.rank == call.root and last is None:
        last = MPI.IN_PLACE
    elif call.collective != "scatter" and first is None:
        first = MPI.IN_PLACE
    return first, last, *([op] if op else []), *root


def _whole(buffer: Buffer | None) -> Array | None:
    """All blocks of a buffer, end to end."""
    if buffer is None:
        return None
    start = buffer.starts[0]
    return buffer.data[start : start + sum(buffer.counts)]
