"""Arrays between guards: whoever writes past an end, or into what is not theirs, is found out."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

GUARD = 64
"""Bytes before and after."""

POISON = -7777
"""What fills a receive buffer before the call (as the dtype can hold it)."""


def poison(count: int, dtype: DTypeLike = "i8") -> np.ndarray:
    """``count`` elements that no result contains."""
    return np.full(count, POISON).astype(dtype)


class Guarded:
    """A copy of an array between two guards of 64 bytes."""

    def __init__(self, values: ArrayLike) -> None:
        content = np.asarray(values)
        self._memory = np.full(content.nbytes + 2 * GUARD, 0xA5, "u1")
        inside = self._memory[GUARD : GUARD + content.nbytes]
        self.array = inside.view(content.dtype).reshape(content.shape)
        self.array[...] = content
        self._first = self._memory.copy()

    @property
    def intact(self) -> bool:
        """Whether both guards are as they were."""
        guards = np.r_[self._memory[:GUARD], self._memory[-GUARD:]]
        return bool((guards == 0xA5).all())

    @property
    def unchanged(self) -> bool:
        """Whether every byte is as it was."""
        return bool((self._memory == self._first).all())

    def reset(self) -> None:
        """Put the first content back."""
        self._memory[:] = self._first
