"""Operators of reductions: MPI's own, ufuncs and Python callables, as one function on arrays.

NumPy is the oracle.  Results have the dtype of the data: integers wrap; a NaN wins in MAX and MIN;
on bool, SUM and MAX are "or", PROD and MIN are "and"; float16 and bfloat16 round after each
operation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple, cast

import numpy as np
from mpi4py import MPI

from .buffers import Buffer
from .copies import Packed
from .custom import Combiner, by_callable, by_mpi
from .datatypes import UNTYPED, Array
from .pairs import is_pair, maxloc, minloc


@dataclass(frozen=True)
class Operator:
    """What combines two vectors of one dtype.

    ``combine(left, right, out)`` sets out to left op right; out may be left or right itself.
    ``granule``: the number of items that must stay together.  ``ufunc``: that which it is, if any.
    """

    name: str
    combine: Combiner
    commutes: bool
    granule: int = 1
    ufunc: np.ufunc | None = None


@dataclass(frozen=True)
class Op:
    """A Python callable as an operator of reductions.

    ``function(a, b)``: arrays, ``a`` read-only; returns the result, or ``None`` when it wrote the
    result into ``b``.  ``commute``: whether ranks may be combined in any order.  ``element``: the
    shape of what it works on, so that it gets arrays of shape ``(n, *element)``.
    """

    function: Callable[[Array, Array], Any]
    commute: bool = False
    element: Sequence[int] = ()
    name: str | None = None

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeError(f"op: expected a callable f(a, b), got {self.function!r}")
        if not all(isinstance(side, int) and side > 0 for side in self.element):
            raise ValueError(f"element: expected positive integers, got {self.element!r}")

    def __str__(self) -> str:
        return self.name or str(getattr(self.function, "__name__", type(self.function).__name__))


class Rule(NamedTuple):
    """A predefined operator: its ufunc, and what it is defined for (MPI 4.1, 6.9.2)."""

    name: str
    ufunc: np.ufunc
    kinds: str


_KINDS = {
    "?": "bool",
    "i": "integers",
    "f": "floating point numbers",
    "c": "complex numbers",
    "B": "MPI.BYTE",
}

_RULES = {
    op.handle: Rule(name, ufunc, kinds)
    for name, op, ufunc, kinds in (
        ("SUM", MPI.SUM, np.add, "?ifc"),
        ("PROD", MPI.PROD, np.multiply, "?ifc"),
        ("MAX", MPI.MAX, np.maximum, "?if"),
        ("MIN", MPI.MIN, np.minimum, "?if"),
        ("LAND", MPI.LAND, np.logical_and, "?i"),
        ("LOR", MPI.LOR, np.logical_or, "?i"),
        ("LXOR", MPI.LXOR, np.logical_xor, "?i"),
        ("BAND", MPI.BAND, np.bitwise_and, "?iB"),
        ("BOR", MPI.BOR, np.bitwise_or, "?iB"),
        ("BXOR", MPI.BXOR, np.bitwise_xor, "?iB"),
    )
}

_PAIR_OPERATORS = {
    MPI.MINLOC.handle: Operator("MINLOC", minloc, True),
    MPI.MAXLOC.handle: Operator("MAXLOC", maxloc, True),
}

_COMMUTING = {
    *(rule.ufunc for rule in _RULES.values()),
    np.fmax,
    np.fmin,
    np.gcd,
    np.lcm,
    np.hypot,
    np.logaddexp,
    np.logaddexp2,
}


def operator(op: object, buffer: Buffer) -> Operator:
    """The operator that an ``MPI.Op``, a ufunc, an ``Op`` or a callable is on a buffer's data.

    Ufuncs commute if they are known to, callables never; ``Op`` says so itself.  Raises
    ``TypeError`` for what has no meaning for the data and ``ValueError`` where ``element`` does not
    divide a count.
    """
    if isinstance(op, MPI.Op):
        return _mpi(op, buffer)
    _refuse_derived(buffer)
    if isinstance(op, np.ufunc):
        return _ufunc(op, buffer.data.dtype)
    if isinstance(op, Op) or callable(op):
        return _callable(op if isinstance(op, Op) else Op(op), buffer)
    raise TypeError(
        f"op: expected an MPI.Op, a ufunc, an Op or a callable f(a, b), got {type(op).__name__}"
    )


def commutes(op: object) -> bool:
    """Whether ranks may be combined in any order, whatever the data."""
    if isinstance(op, MPI.Op):
        return bool(op.Is_commutative())
    return op.commute if isinstance(op, Op) else op in _COMMUTING


def _refuse_derived(buffer: Buffer) -> None:
    if isinstance(buffer.layout, Packed):
        raise TypeError(
            "op: elements of a derived datatype with gaps or several parts are only combined by "
            "MPI.Op.Create; pass an array of the numbers alone, or of records"
        )


def _mpi(op: MPI.Op, buffer: Buffer) -> Operator:
    """The operator of an MPI.Op."""
    if op != MPI.OP_NULL and not op.is_predefined:
        return Operator("user", by_mpi(op, buffer), op.Is_commutative(), buffer.granule)
    _refuse_derived(buffer)
    dtype = buffer.data.dtype
    if op.handle in _RULES:
        return _predefined(op.handle, dtype, dtype == np.uint8 and buffer.datatype in UNTYPED)
    if op.handle not in _PAIR_OPERATORS:
        raise TypeError("op: MPI.REPLACE, MPI.NO_OP and MPI.OP_NULL do not combine anything")
    found = _PAIR_OPERATORS[op.handle]
    if not is_pair(dtype):
        raise _no_meaning(found.name, dtype, "records of a real value and an integer index")
    return found


@lru_cache(maxsize=1024)
def _predefined(handle: int, dtype: np.dtype[Any], untyped: bool) -> Operator:
    """The operator of a predefined MPI.Op, if it is defined for the dtype."""
    name, ufunc, kinds = _RULES[handle]
    kind = "B" if untyped else _kind(dtype)
    served = ", ".join(_KINDS[kind] for kind in kinds)
    if kind not in kinds:
        raise _no_meaning(name, MPI.BYTE.name if untyped else dtype, served)
    return Operator(name, _loop(ufunc, dtype, name), True, ufunc=ufunc)


def _kind(dtype: np.dtype[Any]) -> str:
    """The kind of a dtype, with no sign; extension dtypes (ml_dtypes) count as floating point."""
    if dtype.isbuiltin == 2:
        return "f"
    return {"b": "?", "u": "i"}.get(dtype.kind, dtype.kind)


@lru_cache(maxsize=1024)
def _ufunc(ufunc: np.ufunc, dtype: np.dtype[Any]) -> Operator:
    """The operator of a ufunc of two arguments and one result."""
    if (ufunc.nin, ufunc.nout, ufunc.signature) != (2, 1, None):
        raise TypeError(
            f"op: {ufunc.__name__} does not map two numbers to one; wrap it, as in "
            f"mpicoll.Op(numpy.matmul, element=(2, 2))"
        )
    if _kind(dtype) not in "?ifc":
        raise _no_meaning(ufunc.__name__, dtype, "numbers")
    combine = _loop(ufunc, dtype, ufunc.__name__)
    return Operator(ufunc.__name__, combine, ufunc in _COMMUTING, ufunc=ufunc)


def _loop(ufunc: np.ufunc, dtype: np.dtype[Any], name: str) -> Combiner:
    """The ufunc itself, if it has a loop for the dtype whose result can go back into it."""
    nothing = np.empty(0, dtype)
    try:
        ufunc(nothing, nothing, out=nothing)
    except TypeError as error:
        raise _no_meaning(name, dtype, str(error)) from None
    if ufunc not in (np.maximum, np.minimum):
        return cast(Combiner, ufunc)

    def extreme(left: Array, right: Array, out: Array) -> None:
        ufunc(left, right, out=out)  # these two take no positional out

    def extreme_of_extension(left: Array, right: Array, out: Array) -> None:
        with np.errstate(invalid="ignore"):  # ml_dtypes warns of each NaN
            ufunc(left, right, out=out)

    return extreme_of_extension if dtype.isbuiltin == 2 else extreme


def _no_meaning(name: str, dtype: object, served: str) -> TypeError:
    return TypeError(f"op: {name} has no meaning for {dtype}; it serves: {served}")


def _callable(op: Op, buffer: Buffer) -> Operator:
    """The operator of a Python callable."""
    granule = prod(op.element)
    if any(count % granule for count in buffer.counts):
        raise ValueError(
            f"op: {op} works on elements of shape {tuple(op.element)}, {granule} items each, "
            f"which do not divide the counts {buffer.counts}"
        )
    return Operator(str(op), by_callable(op.function, op.element, str(op)), op.commute, granule)
