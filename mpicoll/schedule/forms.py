"""Closed forms: what an algorithm costs, as arithmetic on the number of ranks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log2
from types import CodeType
from typing import NamedTuple

from .radix import ceil_log, factors, hops, smooth
from .steps import ceil_log2, largest_power_of_two

_FUNCTIONS = {
    "min": min, "max": max, "sum": sum, "range": range, "len": len, "ceil": ceil, "log2": log2,
    "ceil_log": ceil_log, "hops": hops, "factors": factors, "smooth": smooth,
}  # fmt: skip
"""What a closed form may call."""

NODE = 4
"""The ranks of a node where no node map is given."""


def node_map(size: int, nodes: Sequence[int] | None = None) -> tuple[int, ...]:
    """The node of each rank: as given, or ``NODE`` ranks after one another to each node."""
    return tuple(rank // NODE for rank in range(size)) if nodes is None else tuple(nodes)


def node_counts(size: int, nodes: Sequence[int] | None = None) -> dict[str, int]:
    """N, the number of nodes, and m, that of ranks on the fullest one."""
    filled = Counter(node_map(size, nodes))
    return {"N": len(filled), "m": max(filled.values())}


@dataclass(frozen=True)
class Form:
    """A closed form in p ranks: q = ceil(log2 p), P = largest power of two <= p, Q = log2 P.

    b is the number of blocks of a vector, N that of nodes and m that of ranks on the fullest node;
    an algorithm's options have their own names.
    """

    text: str
    code: CodeType

    @classmethod
    def of(cls, text: str) -> Form:
        """Compile a closed form: an arithmetic expression in these names."""
        return cls(text, compile(text, text, "eval"))

    def __call__(
        self, size: int, blocks: int = 1, nodes: Sequence[int] | None = None, **options: int
    ) -> float:
        """The value at this number of ranks, with a vector in so many blocks."""
        power = largest_power_of_two(size)
        names = {"p": size, "q": ceil_log2(size), "P": power, "Q": ceil_log2(power), "b": blocks}
        if {"N", "m"} & set(self.code.co_names):
            names |= node_counts(size, nodes)
        return float(eval(self.code, {"__builtins__": _FUNCTIONS, **names, **options}))


class Count(NamedTuple):
    """Rounds, and the messages, bytes moved and bytes combined that count; bytes in units of n."""

    rounds: float
    startups: float
    volume: float
    reduced: float


class Forms(NamedTuple):
    """The closed forms of a count."""

    rounds: Form
    startups: Form
    volume: Form
    reduced: Form

    def at(self, size: int, blocks: int, nodes: Sequence[int] | None, **options: int) -> Count:
        """Their values."""
        return Count(*(form(size, blocks, nodes, **options) for form in self))
