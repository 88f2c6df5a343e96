"""Stripes: a long vector is cut, and the same schedule runs on each part, a round apart.

A tree or a chain becomes a pipeline, and scratch is as small as the few stripes that are in flight,
which fit the cache.  Rounds are aligned over all ranks, so both ends of every message stand in the
same merged round.
"""

from __future__ import annotations

from collections.abc import Sequence

from .program import Combine, Exchange, Local, Memory, Message, Move, Program, Span

FEWEST = 4
"""The fewest stripes that are worth overlapping."""


def merged_rounds(rounds: int, stripes: int, overlap: bool) -> int:
    """The rounds of a schedule of so many, all stripes together: see ``interleave``."""
    return _stride(stripes, overlap) * rounds + stripes - 1


def _stride(stripes: int, overlap: bool) -> int:
    return 2 if overlap and stripes >= FEWEST else 1


def interleave(programs: Sequence[Program], overlap: bool = False) -> Program:
    """One program of several: round k of stripe s is part of round k + s.

    ``overlap``: of round 2 k + s, and what is done after it is done while the messages of the next
    one, which are other stripes', are under way: for schedules that keep every rank busy and
    combine.  Stripes that are never in flight together share scratch.
    """
    if len(programs) == 1:
        return programs[0]
    stride = _stride(len(programs), overlap)
    longest = max(len(program.rounds) for program in programs)
    depth = stride * longest
    scratch = max(program.scratch for program in programs)
    rounds = [Exchange() for _ in range(merged_rounds(longest, len(programs), overlap))]
    for stripe, program in enumerate(programs):
        offset = stripe % depth * scratch
        for number, exchange in enumerate(program.rounds):
            first = stride * number + stripe
            _merge(rounds[first], exchange, offset)
            later = rounds[first].after if stride == 1 else rounds[first + 1].during
            later += [_shift_local(step, offset) for step in exchange.after]
    return Program(rounds, min(depth, len(programs)) * scratch)


def _merge(into: Exchange, exchange: Exchange, offset: int) -> None:
    """Add the messages of a round, and what is done while they are under way."""
    into.sends += [_shift_message(message, offset) for message in exchange.sends]
    into.receives += [_shift_message(message, offset) for message in exchange.receives]
    into.during += [_shift_local(step, offset) for step in exchange.during]


def _shift_message(message: Message, offset: int) -> Message:
    return Message(message.peer, tuple(_shift(span, offset) for span in message.spans))


def _shift_local(step: Local, offset: int) -> Local:
    spans = [_shift(span, offset) for span in step]
    return Combine(*spans) if isinstance(step, Combine) else Move(*spans)


def _shift(span: Span, offset: int) -> Span:
    if span.memory is not Memory.SCRATCH:
        return span
    return Span(span.memory, span.start + offset, span.length)
