"""Placement: where each block of a schedule lives, so that nothing is copied that need not be.

A block starts in the user's send memory (or, in place, in the receive memory) and belongs, if it
is part of this rank's result, at its *home* in the receive memory.  In between:

- what arrives for a block that is at home goes straight there; else it goes to scratch;
- the first reduction of a block writes its result to the block's home, so the send buffer is never
  copied first, and a block that only passes through stays in the scratch that it arrived in;
- ``Copy`` moves no bytes: two blocks share a stretch until one of them changes;
- a home is used only while no other living block is in it (in place, rows and columns of an
  alltoall share memory); a block that had to wait outside moves in when its home is free;
- scratch is given back as soon as its block is read for the last time.

All of this is decided on numbers, before there is any memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from ..schedule.steps import DATA, LEFT, Copy, Recv, RecvReduce, Reduce, Round, Send, Step
from .arena import Arena
from .program import Combine, Exchange, Memory, Message, Move, Program, Span, append, merged

Key: TypeAlias = tuple[str, int]
"""(space, block)."""


def place(
    rounds: Sequence[Round],
    start: Mapping[int, Span],
    end: Mapping[int, Span],
    sizes: Mapping[int, int],
    empty_messages: bool = False,
) -> Program:
    """Turn one rank's rounds into a program.

    ``start`` and ``end``: where the user's blocks are and where the result's belong; ``sizes``:
    elements of each block that occurs; ``empty_messages``: send messages of no bytes too (a
    barrier is nothing else).
    """
    return _Placement(rounds, start, end, sizes, empty_messages).program()


class _Placement:
    def __init__(
        self,
        rounds: Sequence[Round],
        start: Mapping[int, Span],
        end: Mapping[int, Span],
        sizes: Mapping[int, int],
        empty_messages: bool,
    ) -> None:
        self._rounds, self._sizes, self._empty = rounds, sizes, empty_messages
        self._home: dict[Key, Span] = {(DATA, block): span for block, span in end.items()}
        self._where: dict[Key, Span] = {(DATA, block): span for block, span in start.items()}
        self._sharers: Counter[Span] = Counter()
        self._visitors: set[Key] = set()
        for key in self._where:
            self._note_visitor(key)
        self._arena = Arena()
        self._last_write = _last_writes(rounds)
        self._unsettled = set(self._home)
        self._freed: list[Span] = []
        alive, self._deaths = _deaths(rounds, set(self._home))
        self._bury(self._where.keys() - alive)

    def program(self) -> Program:
        """The whole program."""
        exchanges = [self._round(number, steps) for number, steps in enumerate(self._rounds)]
        if not exchanges or self._unsettled:
            exchanges.append(Exchange())
            self._settle(len(self._rounds), exchanges[-1].after)
        return Program(exchanges, self._arena.high_water)

    # -- one round

    def _round(self, number: int, steps: Round) -> Exchange:
        exchange = Exchange()
        for step in steps:
            if isinstance(step, Send):
                spans = merged(self._where[step.space, block] for block in step.blocks)
                self._add(exchange.sends, step.peer, spans)
        staged: list[tuple[RecvReduce, list[Span]]] = []
        for step in steps:
            if isinstance(step, Recv):
                self._receive(exchange, step)
            elif isinstance(step, RecvReduce):
                run = self._run_of(step.blocks)
                self._add(exchange.receives, step.peer, merged(run))
                staged.append((step, run))
        if number == 0:
            self._settle(number, exchange.during, early=True)
        for receive, run in staged:
            for block, span in zip(receive.blocks, run, strict=True):
                key, left = (receive.space, block), receive.side is LEFT
                if self._combine(exchange, key, span, left, spare=span) != span:
                    self._free_later(span)
        for step in steps:
            if isinstance(step, Copy | Reduce):
                for block in step.blocks:
                    self._local(exchange, step, block)
        self._bury(self._deaths[number])
        self._settle(number + 1, exchange.after)
        self._release()
        return exchange

    def _add(self, messages: list[Message], peer: int, spans: tuple[Span, ...]) -> None:
        if spans or self._empty:
            messages.append(Message(peer, spans))

    def _receive(self, exchange: Exchange, step: Recv) -> None:
        homes = [self._free_home((step.space, block)) for block in step.blocks]
        strays = [block for block, home in zip(step.blocks, homes, strict=True) if home is None]
        run = iter(self._run_of(strays))
        spans = [home or next(run) for home in homes]
        self._add(exchange.receives, step.peer, merged(spans))
        for block, span in zip(step.blocks, spans, strict=True):
            self._put((step.space, block), span)

    def _run_of(self, blocks: Sequence[int]) -> list[Span]:
        """Scratch for the blocks of one message, side by side."""
        counts = [self._sizes[block] for block in blocks]
        begin = self._arena.take(sum(counts)) if sum(counts) else 0
        spans = []
        for count in counts:
            spans.append(Span(Memory.SCRATCH, begin, count))
            begin += count
        return spans

    def _combine(
        self, exchange: Exchange, key: Key, other: Span, left: bool, spare: Span | None = None
    ) -> Span:
        """Combine a stretch into a block; where the result is.

        It goes home where that is free, else to the block's own scratch, else to ``spare``.
        """
        mine = self._where[key]
        out = self._free_home(key) or (mine if self._own_scratch(mine) else spare)
        if out is None:
            out = self._run_of([key[1]])[0]
        if mine.length:
            append(exchange.after, Combine(*((other, mine) if left else (mine, other)), out))
        self._put(key, out)
        return out

    def _local(self, exchange: Exchange, step: Copy | Reduce, block: int) -> None:
        source, target = self._where[step.source, block], (step.target, block)
        if isinstance(step, Copy):
            self._put(target, source)
        else:
            self._combine(exchange, target, source, step.side is LEFT)

    # -- who lives where

    def _put(self, key: Key, span: Span) -> None:
        if self._where.get(key) == span:
            return
        self._leave(key)
        self._where[key] = span
        if span.memory is Memory.SCRATCH:
            self._sharers[span] += 1
        self._note_visitor(key)

    def _note_visitor(self, key: Key) -> None:
        span = self._where[key]
        if span.memory is Memory.RECV and self._home.get(key) != span:
            self._visitors.add(key)

    def _leave(self, key: Key) -> None:
        span = self._where.pop(key, None)
        self._visitors.discard(key)
        if span is not None and span.memory is Memory.SCRATCH:
            self._sharers[span] -= 1
            if not self._sharers[span]:
                del self._sharers[span]
                self._free_later(span)

    def _own_scratch(self, span: Span) -> bool:
        return span.memory is Memory.SCRATCH and self._sharers[span] == 1

    def _free_home(self, key: Key, moving: bool = False) -> Span | None:
        """The block's home, where no other living block is in it.

        A block that itself lies partly there may move in, but not be combined there.
        """
        home = self._home.get(key)
        if home is None or home.memory is not Memory.RECV:
            return None
        taken = any(
            self._where[other].overlaps(home)
            for other in self._visitors
            if not (moving and other == key)
        )
        return None if taken else home

    def _free_later(self, span: Span) -> None:
        """Give scratch back at the end of the round: its messages may still be under way."""
        if span.length:
            self._freed.append(span)

    def _release(self) -> None:
        for span in self._freed:
            self._arena.give(span.start, span.length)
        self._freed.clear()

    def _bury(self, keys: Iterable[Key]) -> None:
        for key in keys:
            self._leave(key)

    def _settle(self, number: int, steps: list[Move | Combine], early: bool = False) -> None:
        """Move finished blocks home; ``early``: those that never change, while messages fly."""
        for key in sorted(self._unsettled):
            if self._last_write.get(key, -1) >= number or key not in self._where:
                continue
            span, home = self._where[key], self._home[key]
            if span == home or not span.length:
                self._unsettled.discard(key)
            elif self._free_home(key, moving=True) and not (early and span.memory is Memory.RECV):
                append(steps, Move(span, home))
                self._put(key, home)
                self._unsettled.discard(key)


def _last_writes(rounds: Sequence[Round]) -> dict[Key, int]:
    """The last round in which each block changes."""
    last: dict[Key, int] = {}
    for number, steps in enumerate(rounds):
        for step in steps:
            space = step.target if isinstance(step, Copy | Reduce) else step.space
            if not isinstance(step, Send):
                last.update(dict.fromkeys(((space, block) for block in step.blocks), number))
    return last


def _deaths(rounds: Sequence[Round], at_end: set[Key]) -> tuple[set[Key], list[set[Key]]]:
    """The blocks alive at first, and those that each round touches for the last time."""
    live = set(at_end)
    deaths = []
    for steps in reversed(rounds):
        deaths.append({key for step in steps for key in _touched(step)} - live)
        for step in reversed(steps):
            if isinstance(step, Copy | Reduce):
                _before(live, step)
        for kind in (RecvReduce, Recv, Send):
            for step in steps:
                if isinstance(step, kind):
                    _before(live, step)
    return live, deaths[::-1]


def _touched(step: Step) -> list[Key]:
    spaces = (step.source, step.target) if isinstance(step, Copy | Reduce) else (step.space,)
    return [(space, block) for space in spaces for block in step.blocks]


def _before(live: set[Key], step: Step) -> None:
    """Turn the blocks alive after a step into those alive before it."""
    if isinstance(step, Recv):
        live.difference_update(_touched(step))
    elif isinstance(step, Copy):
        live.difference_update((step.target, block) for block in step.blocks)
        live.update((step.source, block) for block in step.blocks)
    else:
        live.update(_touched(step))
