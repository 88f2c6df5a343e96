"""Scratch that plans share which never run at the same time."""

from __future__ import annotations

import numpy as np

from .datatypes import Array

LIMIT = 64 << 20
"""The most bytes that are kept from one call to the next."""


class ScratchPool:
    """One stretch of memory for all: the largest that was asked for, up to ``LIMIT``."""

    def __init__(self) -> None:
        self._memory: Array = np.empty(0, np.uint8)

    def take(self, nbytes: int) -> Array:
        """At least so many bytes, the same as the last time where they suffice."""
        if nbytes > LIMIT:
            return np.empty(nbytes, np.uint8)
        if nbytes > self._memory.size:
            self._memory = np.empty(min(LIMIT, 1 << (nbytes - 1).bit_length()), np.uint8)
        return self._memory
