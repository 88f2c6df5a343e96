"""Scratch memory as numbers: which stretches are taken, and how much was ever needed."""

from __future__ import annotations

from bisect import insort


class Arena:
    """Hands out stretches of scratch, first fit, before any memory exists; units are elements."""

    def __init__(self) -> None:
        self._free: list[tuple[int, int]] = []
        self.high_water = 0

    def take(self, count: int) -> int:
        """The start of a free stretch of ``count`` elements."""
        for index, (start, length) in enumerate(self._free):
            if length >= count:
                rest = [(start + count, length - count)] if length > count else []
                self._free[index : index + 1] = rest
                return start
        return self._grow(count)

    def _grow(self, count: int) -> int:
        start = self.high_water
        if self._free and sum(self._free[-1]) == start:
            start = self._free.pop()[0]
        self.high_water = start + count
        return start

    def give(self, start: int, count: int) -> None:
        """Free a stretch again."""
        insort(self._free, (start, count))
        merged: list[tuple[int, int]] = []
        for begin, length in self._free:
            if merged and sum(merged[-1]) == begin:
                merged[-1] = (merged[-1][0], merged[-1][1] + length)
            else:
                merged.append((begin, length))
        self._free = merged
