"""Compiled replay: a plan's rounds as a table of numbers, walked by machine code (Numba).

For short messages the interpreter is what a round costs.  The table has the same requests,
stretches and operators as the interpreted walk; what it cannot hold is left to that.  MPI is called
by address, with the handles' raw bytes, so that it serves both ABIs.  What ``np.errstate`` asks for
is not seen there.
"""

from __future__ import annotations

import ctypes
import importlib.util
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import TypeAlias, cast

import numpy as np
from mpi4py import MPI

from .binding import Binding, BoundRound, BoundStep
from .datatypes import Array
from .settings import setting
from .table import COPY, START, WAIT, combining
from .waiting import SPIN

Kernel: TypeAlias = Callable[[int], int]
"""Walks the table at an address and returns MPI's error code."""

LARGEST = 1 << 18
"""The most bytes of a stretch that compiled code combines or copies; beyond, NumPy is as fast."""


def compiled_steps(rounds: Sequence[BoundRound], binding: Binding) -> list[BoundStep] | None:
    """The whole replay as one step, or None where it must be interpreted."""
    replay = kernel() if rounds and binding.ways.wait == SPIN else None
    if replay is None or not _serves(rounds, binding):
        return None
    table = _Table(replay, rounds, binding)
    walk: list[BoundStep] = [(table.run, ())]
    return [*((hook, ()) for hook in binding.load), *walk, *((hook, ()) for hook in binding.store)]


@cache
def kernel() -> Kernel | None:
    """The compiled walk; None where Numba is not or does not work, or ``MPICOLL_JIT=0`` forbids it.

    Its first use on a machine compiles it, some seconds; after that it is loaded from a file.
    """
    if setting("jit", None, ("0", "1")) == "0" or importlib.util.find_spec("numba") is None:
        return None
    try:
        from .kernel import replay
    except (ImportError, RuntimeError) as error:  # another NumPy than it wants; no place for files
        warnings.warn(
            f"plans are interpreted, since Numba does not work here: {error}; mend it, or say "
            "MPICOLL_JIT=0",
            RuntimeWarning,
            stacklevel=2,
        )
        return None
    return cast(Kernel, replay)


def _serves(rounds: Sequence[BoundRound], binding: Binding) -> bool:
    """Whether every local step is one that compiled code knows, on short stretches."""
    steps = [step for entry in rounds for step in (*entry.during, *entry.after)]
    if any(array.nbytes > LARGEST for _, arrays in steps for array in arrays):
        return False
    operator = binding.operator.ufunc if binding.operator else None
    combines = (arrays[0] for function, arrays in steps if function is not np.copyto)
    return all(combining(operator, array.dtype) is not None for array in combines)


class _Table:
    """A plan's rounds as numbers, and what keeps the memory behind them alive."""

    def __init__(self, replay: Kernel, rounds: Sequence[BoundRound], binding: Binding) -> None:
        self._rounds = rounds
        self._handles: list[Array] = []
        self._operator = binding.operator.ufunc if binding.operator else None
        most = max(len(entry.requests) for entry in rounds)
        self._statuses = np.empty(max(1, most) * MPI._sizeof(MPI.Status), np.uint8)
        rows = [row for entry in rounds for row in self._rows(entry)]
        head = (len(rows) + 1, *_functions(), self._statuses.ctypes.data, 0)
        self._table = np.array([head, *rows], np.int64)
        self._replay, self._address = replay, self._table.ctypes.data

    def run(self) -> None:
        """Walk the table; raises ``MPI.Exception`` for what MPI returns."""
        error = self._replay(self._address)
        if error:
            raise MPI.Exception(error)

    def _rows(self, entry: BoundRound) -> list[tuple[int, ...]]:
        rows: list[tuple[int, ...]] = []
        size = MPI._sizeof(MPI.Request)
        raw = b"".join(map(_handle, entry.requests))
        handles = np.frombuffer(bytearray(raw), np.uint8)
        self._handles.append(handles)
        base = handles.ctypes.data if raw else 0
        count = len(entry.requests)
        at_once = count if entry.together else 1
        for first in range(0, count, max(1, at_once)):
            rows.append((START, base + first * size, 0, 0, at_once))
        rows += map(self._row, entry.during)
        rows += [(WAIT, base, 0, 0, count)] if count else []
        return [*rows, *map(self._row, entry.after)]

    def _row(self, step: BoundStep) -> tuple[int, ...]:
        function, arrays = step
        addresses = [array.ctypes.data for array in arrays]
        if function is np.copyto:
            return COPY, *addresses, 0, arrays[0].nbytes
        word = combining(self._operator, arrays[0].dtype)
        assert word is not None
        return word, *addresses, arrays[0].size


def _handle(request: MPI.Prequest) -> bytes:
    return ctypes.string_at(MPI._addressof(request), MPI._sizeof(MPI.Request))


@cache
def _functions() -> tuple[int, int]:
    """The addresses of two functions of the MPI library that mpi4py is bound to."""
    library = ctypes.CDLL(MPI.__file__)
    start, wait = (
        ctypes.cast(function, ctypes.c_void_p).value
        for function in (library.MPI_Startall, library.MPI_Waitall)
    )
    return start or 0, wait or 0
