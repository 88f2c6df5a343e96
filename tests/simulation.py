"""Ranks in one process: runs the programs of all ranks on NumPy memory, with every hazard armed.

Messages land as late as they may, receive memory is poisoned while they are under way, and what is
sent is compared at the end of its round with what it was at the beginning.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any

import numpy as np

from mpicoll.schedule import Algorithm
from mpicoll.transport.layout import Layout
from mpicoll.transport.placement import place
from mpicoll.transport.program import Combine, Exchange, Local, Memory, Program, Span

POISON = "poison"


class Rank:
    """One rank's memory and program."""

    def __init__(self, program: Program, send: np.ndarray, recv: np.ndarray) -> None:
        self.program = program
        self.memory = {
            Memory.SEND: send,
            Memory.RECV: recv,
            Memory.SCRATCH: np.full(program.scratch, POISON, dtype=object),
        }

    def view(self, span: Span) -> np.ndarray:
        return self.memory[span.memory][span.start : span.end]

    def read(self, spans: tuple[Span, ...]) -> list[Any]:
        return [value for span in spans for value in self.view(span)]

    def write(self, spans: tuple[Span, ...], values: list[Any]) -> None:
        assert sum(span.length for span in spans) == len(values), "message of another length"
        for span in spans:
            assert span.memory is not Memory.SEND, "the send buffer is written"
            self.view(span)[:] = values[: span.length]
            values = values[span.length :]

    def local(self, steps: list[Local], combine: Callable[[Any, Any], Any]) -> None:
        for step in steps:
            target = step.out if isinstance(step, Combine) else step.target
            assert target.memory is not Memory.SEND, "the send buffer is written"
            if isinstance(step, Combine):
                for operand in (step.left, step.right):
                    assert operand == step.out or not operand.overlaps(step.out)
                self.view(step.out)[:] = combine(self.view(step.left), self.view(step.right))
            else:
                self.view(step.target)[:] = self.view(step.source).copy()


def run(ranks: list[Rank], combine: Callable[[Any, Any], Any]) -> None:
    """Run all programs to their ends; messages between two ranks are first in, first out."""
    mail: dict[tuple[int, int], deque[list[Any]]] = defaultdict(deque)
    at = [0] * len(ranks)
    posted = [False] * len(ranks)
    moved = True
    while moved:
        moved = False
        for me, rank in enumerate(ranks):
            if at[me] == len(rank.program.rounds):
                continue
            exchange = rank.program.rounds[at[me]]
            if not posted[me]:
                posted[me] = moved = True
                _post(me, rank, exchange, mail)
                rank.local(exchange.during, combine)
            if _arrived(me, exchange, mail):
                moved = True
                _land(me, rank, exchange, mail)
                rank.local(exchange.after, combine)
                at[me], posted[me] = at[me] + 1, False
    assert at == [len(rank.program.rounds) for rank in ranks], f"stuck at rounds {at}"
    assert not any(mail.values()), "messages left over"


def _post(me: int, rank: Rank, exchange: Exchange, mail: Any) -> None:
    for message in exchange.sends:
        mail[me, message.peer].append(rank.read(message.spans))
    for message in exchange.receives:
        rank.write(message.spans, [POISON] * sum(span.length for span in message.spans))
    mail[me, "sent"] = deque([[rank.read(message.spans) for message in exchange.sends]])


def _arrived(me: int, exchange: Exchange, mail: Any) -> bool:
    wanted: dict[int, int] = defaultdict(int)
    for message in exchange.receives:
        wanted[message.peer] += 1
    return all(len(mail[peer, me]) >= number for peer, number in wanted.items())


def _land(me: int, rank: Rank, exchange: Exchange, mail: Any) -> None:
    sent = mail.pop((me, "sent"))[0]
    assert sent == [rank.read(message.spans) for message in exchange.sends], "sent data changed"
    for message in exchange.receives:
        rank.write(message.spans, mail[message.peer, me].popleft())


def programs(entry: Algorithm, layouts: list[Layout], root: int, ordered: bool) -> list[Program]:
    """The programs of all ranks."""
    size = len(layouts)
    return [
        place(
            entry.schedule(rank, size, root, ordered),
            layouts[rank].start,
            layouts[rank].end,
            layouts[rank].sizes,
            entry.contract.idempotent,
        )
        for rank in range(size)
    ]
