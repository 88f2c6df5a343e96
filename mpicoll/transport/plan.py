"""The plan: a program bound once to memory and a communicator, and replayed as often as wanted.

Binding makes every slice, the scratch and one persistent request a message; replaying a round is
one start, one wait and the local steps.  A message that is one stretch goes straight from where it
lies; one of several stretches goes by a derived datatype, so it is not packed either.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from mpi4py import MPI

from .datatypes import Array
from .program import Combine, Exchange, Local, Memory, Message, Program, Span
from .progress import Task, wait_all

MESSAGE_LIMIT = 1 << 30
"""The most bytes of one MPI message; longer ones go in pieces, below MPI's count limit of 2^31."""

Hook: TypeAlias = Callable[[], None]
BoundStep: TypeAlias = tuple[Callable[..., Any], tuple[Array, ...]]


class BoundRound(NamedTuple):
    """A round ready to run; ``start`` starts its requests."""

    start: Callable[[], Any] | None
    requests: list[MPI.Prequest]
    during: list[BoundStep]
    after: list[BoundStep]


class Binding(NamedTuple):
    """What a program is bound to.

    ``send``, ``recv``: one-dimensional contiguous vectors of one dtype, or None; ``combine``:
    called as ``combine(left, right, out)``; ``load`` and ``store`` run before and after each run.
    """

    comm: MPI.Intracomm
    tag: int
    send: Array | None
    recv: Array | None
    combine: Callable[..., Any]
    load: Sequence[Hook] = ()
    store: Sequence[Hook] = ()


class Plan(Task):
    """A bound collective, persistent as in MPI-4 (section 6.13): start, wait, and again.

    ``algorithm`` is the name of what runs.
    """

    def __init__(self, program: Program, binding: Binding, algorithm: str) -> None:
        super().__init__()
        self.algorithm = algorithm
        self._binding = binding
        self._datatypes: list[MPI.Datatype] = []
        self._memory = _memory(program, binding)
        self._rounds = [self._bind(exchange) for exchange in program.rounds if exchange.busy]
        self._at = -1
        self._freed = False

    # -- replay

    def run(self) -> None:
        """Start and wait in one call; the fastest way to replay."""
        self._check_idle("run")
        self._at = 0
        for hook in self._binding.load:
            hook()
        for start, requests, during, after in self._rounds:
            if start:
                start()
            for function, arguments in during:
                function(*arguments)
            if requests:
                wait_all(requests)
            for function, arguments in after:
                function(*arguments)
        for hook in self._binding.store:
            hook()
        self._at = -1

    def Start(self) -> None:
        """Begin; progress is made in ``Test`` and ``Wait`` of this and of all others."""
        self.begin()
        self.register()

    def begin(self) -> None:
        """Begin, for somebody who sees to the progress."""
        self._check_idle("Start")
        for hook in self._binding.load:
            hook()
        self._enter(0)

    def advance(self) -> bool:
        """Go as far as possible without waiting; whether the collective is complete."""
        while self._at >= 0:
            if not MPI.Request.Testall(self._rounds[self._at].requests):
                return False
            self._leave()
        return True

    def finish(self) -> None:
        """Go to the end, waiting in each round."""
        while self._at >= 0:
            MPI.Request.Waitall(self._rounds[self._at].requests)
            self._leave()

    def Free(self) -> None:
        """Free the requests and the scratch; a plan that is under way is a ``RuntimeError``."""
        if self._freed:
            return
        self._check_idle("Free")
        for entry in self._rounds:
            for request in entry.requests:
                request.Free()
        for datatype in self._datatypes:
            datatype.Free()
        self._rounds, self._datatypes, self._memory = [], [], {}
        self._freed = True

    def __enter__(self) -> Plan:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if error is None:
            self.Free()

    @property
    def scratch(self) -> int:
        """The bytes of scratch that the plan holds."""
        return self._memory[Memory.SCRATCH].nbytes if self._memory else 0

    def _check_idle(self, what: str) -> None:
        if self._freed:
            raise RuntimeError(f"{what} of a plan that was freed; make a new one")
        if self._at >= 0 or self.awaited:
            raise RuntimeError(f"{what} of a plan that is under way; Wait for it first")

    def _enter(self, number: int) -> None:
        self._at = number
        if number == len(self._rounds):
            self._at = -1
            for hook in self._binding.store:
                hook()
            return
        entry = self._rounds[number]
        if entry.start:
            entry.start()
        _do(entry.during)

    def _leave(self) -> None:
        _do(self._rounds[self._at].after)
        self._enter(self._at + 1)

    # -- binding

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
            _starter(requests, alone),
            requests,
            [self._local(step) for step in exchange.during],
            [self._local(step) for step in exchange.after],
        )

    def _view(self, span: Span) -> Array:
        return self._memory[span.memory][span.start : span.end]

    def _local(self, step: Local) -> BoundStep:
        if isinstance(step, Combine):
            return self._binding.combine, tuple(map(self._view, step))
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


_startall = MPI.Prequest.Startall


def _do(steps: list[BoundStep]) -> None:
    for function, arguments in steps:
        function(*arguments)


def _memory(program: Program, binding: Binding) -> dict[Memory, Array]:
    given = binding.send if binding.send is not None else binding.recv
    dtype = np.dtype(np.uint8) if given is None else given.dtype
    empty = np.empty(0, dtype)
    return {
        Memory.SEND: empty if binding.send is None else binding.send,
        Memory.RECV: empty if binding.recv is None else binding.recv,
        Memory.SCRATCH: np.empty(program.scratch, dtype),
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


def _starter(requests: list[MPI.Prequest], alone: bool) -> Callable[[], Any] | None:
    """What starts a round: all at once, or in order where messages to one peer must not overtake.

    ``MPI_Startall`` may start its requests in any order (MPI 4.1, section 3.9).
    """
    if not requests:
        return None
    if alone:
        return functools.partial(_startall, requests)
    return functools.partial(_start_in_order, requests)


def _start_in_order(requests: list[MPI.Prequest]) -> None:
    for request in requests:
        request.Start()
