"""Binding: a program's stretches become slices of memory, and its messages persistent requests.

A message that is one stretch goes straight from where it lies; one of several stretches goes by a
derived datatype, so it is not packed either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from mpi4py import MPI

from .datatypes import Array
from .operators import Operator
from .program import Combine, Exchange, Local, Memory, Message, Program, Span
from .progress import PLAIN, Ways

MESSAGE_LIMIT = 1 << 30
"""The most bytes of one MPI message; longer ones go in pieces, below MPI's count limit of 2^31."""

Hook: TypeAlias = Callable[[], None]
BoundStep: TypeAlias = tuple[Callable[..., Any], tuple[Any, ...]]
"""A function and its arguments."""


class BoundRound(NamedTuple):
    """A round ready to run: what starts its requests, and what is done meanwhile and afterwards.

    ``together``: whether the requests may start in any order, as ``MPI_Startall`` may do it (MPI
    4.1, section 3.9): no two messages to one peer could overtake each other.
    """

    requests: list[MPI.Prequest]
    together: bool
    start: list[BoundStep]
    during: list[BoundStep]
    after: list[BoundStep]


class Binding(NamedTuple):
    """What a program is bound to.

    ``send``, ``recv``: one-dimensional contiguous vectors of one dtype, or None; ``operator``:
    what combines, or None; ``load`` and ``store`` run before and after each run; ``scratch``:
    called with a number of bytes, it returns memory of at least so many; ``ways``: how to wait.
    """

    comm: MPI.Intracomm
    tag: int
    send: Array | None
    recv: Array | None
    operator: Operator | None = None
    load: Sequence[Hook] = ()
    store: Sequence[Hook] = ()
    ways: Ways = PLAIN
    scratch: Callable[[int], Array] | None = None


class Bound:
    """The rounds of a program, bound, and what they hold: scratch in bytes, and datatypes."""

    def __init__(self, program: Program, binding: Binding) -> None:
        self._binding = binding
        self._datatypes: list[MPI.Datatype] = []
        self._memory = _memory(program, binding)
        self.scratch = self._memory[Memory.SCRATCH].nbytes
        self.rounds = [self._bind(exchange) for exchange in program.rounds if exchange.busy]

    def free(self) -> None:
        """Free the requests and the datatypes, and let go of the memory."""
        for entry in self.rounds:
            for request in entry.requests:
                request.Free()
        for datatype in self._datatypes:
            datatype.Free()
        self.rounds, self._datatypes, self._memory, self.scratch = [], [], {}, 0

    def _bind(self, exchange: Exchange) -> BoundRound:
        comm, tag = self._binding.comm, self._binding.tag
        receives = [
            comm.Recv_init(buffer, message.peer, tag)
            for message in exchange.receives
            for buffer in self._buffers(message)
        ]
        sends = [
            comm.Send_init(buffer, message.peer, tag)
            for message in exchange.sends
            for buffer in self._buffers(message)
        ]
        requests = receives + sends
        alone = _one_message_a_peer(exchange) and len(requests) == _messages(exchange)
        return BoundRound(
            requests,
            alone,
            _starts(requests, alone),
            [self._local(step) for step in exchange.during],
            [self._local(step) for step in exchange.after],
        )

    def _view(self, span: Span) -> Array:
        return self._memory[span.memory][span.start : span.end]

    def _local(self, step: Local) -> BoundStep:
        if isinstance(step, Combine):
            assert self._binding.operator is not None
            return self._binding.operator.combine, tuple(map(self._view, step))
        return np.copyto, (self._view(step.target), self._view(step.source))

    def _buffers(self, message: Message) -> Iterator[Any]:
        """What mpi4py is given for a message: one buffer, or several where it is too long."""
        for spans in _pieces(message.spans, self._limit()):
            views = [self._view(span).view(np.uint8) for span in spans]
            if len(views) == 1:
                yield [views[0], views[0].nbytes, MPI.BYTE]
            elif views:
                yield [MPI.BOTTOM, 1, self._scattered(views)]
            else:
                yield [None, 0, MPI.BYTE]

    def _limit(self) -> int:
        return max(1, MESSAGE_LIMIT // self._memory[Memory.SCRATCH].itemsize)

    def _scattered(self, views: list[Array]) -> MPI.Datatype:
        addresses = [view.__array_interface__["data"][0] for view in views]
        lengths = [view.nbytes for view in views]
        datatype = MPI.BYTE.Create_hindexed(lengths, addresses).Commit()
        self._datatypes.append(datatype)
        return datatype


def _memory(program: Program, binding: Binding) -> dict[Memory, Array]:
    given = binding.send if binding.send is not None else binding.recv
    dtype = np.dtype(np.uint8) if given is None else given.dtype
    empty = np.empty(0, dtype)
    if binding.scratch is None or not program.scratch:
        scratch = np.empty(program.scratch, dtype)
    else:
        nbytes = program.scratch * dtype.itemsize
        scratch = binding.scratch(nbytes)[:nbytes].view(dtype)
    return {
        Memory.SEND: empty if binding.send is None else binding.send,
        Memory.RECV: empty if binding.recv is None else binding.recv,
        Memory.SCRATCH: scratch,
    }


def _pieces(spans: Sequence[Span], limit: int) -> Iterator[list[Span]]:
    """Cut a message into messages of at most ``limit`` elements; an empty one stays one."""
    piece: list[Span] = []
    room = limit
    for span in spans:
        while span.length > room:
            yield [*piece, Span(span.memory, span.start, room)] if room else piece
            span = Span(span.memory, span.start + room, span.length - room)
            piece, room = [], limit
        piece.append(span)
        room -= span.length
    yield piece


def _messages(exchange: Exchange) -> int:
    return len(exchange.sends) + len(exchange.receives)


def _one_message_a_peer(exchange: Exchange) -> bool:
    return all(
        len({message.peer for message in messages}) == len(messages)
        for messages in (exchange.sends, exchange.receives)
    )


def _starts(requests: list[MPI.Prequest], together: bool) -> list[BoundStep]:
    """What starts the requests of a round."""
    if together:
        return [(MPI.Prequest.Startall, (requests,))] if requests else []
    return [(request.Start, ()) for request in requests]
