"""The words of a program: a schedule whose blocks have become stretches of memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple, TypeAlias


class Memory(IntEnum):
    """Which of a plan's three vectors a stretch lies in."""

    SEND = 0
    RECV = 1
    SCRATCH = 2


class Span(NamedTuple):
    """A stretch of elements in one memory."""

    memory: Memory
    start: int
    length: int

    @property
    def end(self) -> int:
        """One past the last element."""
        return self.start + self.length

    def before(self, other: Span) -> bool:
        """Whether the other stretch begins where this one ends."""
        return self.memory is other.memory and self.end == other.start

    def overlaps(self, other: Span) -> bool:
        """Whether the two share an element."""
        return self.memory is other.memory and self.start < other.end and other.start < self.end

    def joined(self, other: Span) -> Span:
        """This stretch and the one that follows it."""
        return Span(self.memory, self.start, self.length + other.length)


class Move(NamedTuple):
    """Copy one stretch to another."""

    source: Span
    target: Span


class Combine(NamedTuple):
    """``out = left op right``; out is one of the two or apart from both."""

    left: Span
    right: Span
    out: Span


Local: TypeAlias = Move | Combine


class Message(NamedTuple):
    """The stretches that go to or come from a peer in one message, in order."""

    peer: int
    spans: tuple[Span, ...]


@dataclass
class Exchange:
    """One round: messages, what may be done while they are under way, and what comes after."""

    sends: list[Message] = field(default_factory=list)
    receives: list[Message] = field(default_factory=list)
    during: list[Local] = field(default_factory=list)
    after: list[Local] = field(default_factory=list)

    @property
    def busy(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.sends or self.receives or self.during or self.after)


@dataclass
class Program:
    """All rounds of one rank, idle ones too, and the scratch that they need, in elements."""

    rounds: list[Exchange]
    scratch: int


def merged(spans: Iterable[Span]) -> tuple[Span, ...]:
    """The same elements in the same order, in as few stretches as can be."""
    result: list[Span] = []
    for span in spans:
        if result and result[-1].before(span):
            result[-1] = result[-1].joined(span)
        elif span.length:
            result.append(span)
    return tuple(result)


def append(steps: list[Local], step: Local) -> None:
    """Add a local step, as one with the last where all its stretches follow on."""
    joined = _joined(steps[-1], step) if steps else None
    if joined is None:
        steps.append(step)
    else:
        steps[-1] = joined


def _joined(last: Local, step: Local) -> Local | None:
    """Two steps as one, or None where they cannot be or the second reads what the first wrote."""
    if type(last) is not type(step) or _reads(step, last[-1]):
        return None
    if not all(old.before(new) for old, new in zip(last, step, strict=True)):
        return None
    both = type(last)(*(old.joined(new) for old, new in zip(last, step, strict=True)))
    *operands, out = both
    clean = all(operand == out or not operand.overlaps(out) for operand in operands)
    return both if clean else None


def _reads(step: Local, span: Span) -> bool:
    """Whether a local step reads any element of a stretch."""
    return any(operand.overlaps(span) for operand in step[:-1])
