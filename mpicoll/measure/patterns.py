"""The data of a case: numbers that differ by rank and place, and what they combine to.

Every pattern repeats after ``PERIOD`` elements, a prime, so that the expected result of a long
vector costs no more than that of a short one.  The numbers are small whole ones, so that sums are
exact in every dtype; integers wrap, as NumPy's do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, lru_cache, reduce
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]

PERIOD = 65521
"""Elements after which a pattern repeats: the largest prime below 2^16."""

_SHIFT = 7919
_STRIDE = 31

DTYPES = (
    "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
    "float16", "float32", "float64", "longdouble", "complex64", "complex128",
)  # fmt: skip
"""The names of the dtypes that a case may have."""


@dataclass(frozen=True)
class Operation:
    """An operator by its name: ``combine(left, right)`` in NumPy, and the dtype kinds it serves."""

    name: str
    combine: Callable[[Array, Array], Array]
    kinds: str
    commutes: bool = True

    def serves(self, dtype: str) -> bool:
        """Whether the operator has a meaning for the dtype."""
        return np.dtype(dtype).kind in self.kinds


def _logical(function: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    return lambda left, right: function(left, right).astype(left.dtype)


def affine(left: Array, right: Array) -> Array:
    """Compose the maps x -> u x + v that complex numbers u + v i stand for; does not commute."""
    product = np.empty_like(left)
    product.real = left.real * right.real
    product.imag = left.real * right.imag + left.imag
    return product


OPERATIONS = {
    operation.name: operation
    for operation in (
        Operation("sum", np.add, "biufc"),
        Operation("prod", np.multiply, "iufc"),
        Operation("max", np.maximum, "biuf"),
        Operation("min", np.minimum, "biuf"),
        Operation("land", _logical(np.logical_and), "biu"),
        Operation("lor", _logical(np.logical_or), "biu"),
        Operation("lxor", _logical(np.logical_xor), "biu"),
        Operation("band", np.bitwise_and, "iu"),
        Operation("bor", np.bitwise_or, "iu"),
        Operation("bxor", np.bitwise_xor, "iu"),
        Operation("affine", affine, "c", commutes=False),
    )
}
"""Every operator by its name; all but ``affine`` are MPI's own."""


@cache
def period(dtype: str, op: str) -> Array:
    """One period of the pattern: whole numbers that dtype and operator keep exact."""
    numbers = np.arange(PERIOD, dtype=np.int64) * _STRIDE % PERIOD
    kind = np.dtype(dtype).kind
    if kind == "c" and op == "prod":
        return np.array([1, 1j, -1, -1j], dtype)[numbers % 4]
    if op == "affine":
        return (1 - 2 * (numbers % 2) + 1j * (numbers % 1009)).astype(dtype)
    if kind == "c":
        return (numbers + 1j * numbers[::-1]).astype(dtype)
    if kind == "f" and op == "prod":
        return (1 + numbers % 2).astype(dtype)
    if op in ("land", "lor", "lxor") or kind == "b":
        return (numbers % 3 % 2 * numbers).astype(dtype)
    return (numbers % 13 if dtype == "float16" else numbers).astype(dtype)


def contribution(dtype: str, op: str, rank: int, start: int, count: int) -> Array:
    """What a rank brings to the ``count`` elements from ``start`` on of the whole vector."""
    return _stretch(period(dtype, op), _SHIFT * rank + start, count)


def combination(dtype: str, op: str, ranks: Iterable[int], start: int, count: int) -> Array:
    """What those ranks' contributions combine to, in rank order."""
    return _stretch(_combined(dtype, op, tuple(ranks)), start, count)


@lru_cache(maxsize=64)
def _combined(dtype: str, op: str, ranks: tuple[int, ...]) -> Array:
    pattern = period(dtype, op)
    with np.errstate(all="ignore"):
        return reduce(OPERATIONS[op].combine, (np.roll(pattern, -_SHIFT * r) for r in ranks))


def _stretch(pattern: Array, start: int, count: int) -> Array:
    offset = start % PERIOD
    if offset + count <= PERIOD:
        return pattern[offset : offset + count].copy()
    return np.resize(np.roll(pattern, -offset), count)
