"""Numbers and sets of ranks, in words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise


def counted(number: int, noun: str) -> str:
    """A number of things: 1 rank, 2 ranks."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def members(bits: int) -> list[int]:
    """The ranks whose bits are set, rising."""
    return [rank for rank in range(bits.bit_length()) if bits >> rank & 1]


def ranks(bits: int) -> str:
    """The ranks of a set of bits: rank 3, or ranks 0, 1."""
    numbers = members(bits)
    return ("rank " if len(numbers) == 1 else "ranks ") + ", ".join(map(str, numbers))


def ranges(numbers: Sequence[int]) -> str:
    """Rising numbers, briefly: 0-2,5; 1-7/2 for every second from 1 to 7; a dot for none."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    steps = {upper - lower for lower, upper in pairwise(numbers)}
    if len(runs) > 2 and len(steps) == 1:
        return f"{numbers[0]}-{numbers[-1]}/{steps.pop()}"
    return ",".join("-".join(map(str, run)) for run in runs) or "."
