"""The walk along a compiled plan's table, for Numba.  Imported only where Numba is."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import carray, njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from .table import COMBINE, COPY, DTYPES, START, WAIT

_INT, _WORD = ir.IntType(32), ir.IntType(64)
_BYTES = ir.IntType(8).as_pointer()
_int, _word = types.int32, types.int64


@intrinsic
def _pointer(typing_context: Any, address: Any) -> Any:
    """An address as a pointer."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], _BYTES)

    return types.voidptr(_word), generate


@intrinsic
def _copy(typing_context: Any, target: Any, source: Any, nbytes: Any) -> Any:
    """Copy bytes that do not overlap, from address to address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        to, come_from = (builder.inttoptr(address, _BYTES) for address in arguments[:2])
        cgutils.raw_memcpy(builder, to, come_from, arguments[2], 1)
        return context.get_dummy_value()

    return types.void(_word, _word, _word), generate


@intrinsic
def _startall(typing_context: Any, address: Any, count: Any, requests: Any) -> Any:
    """Call ``MPI_Startall`` at its address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _call(builder, arguments[0], arguments[1:])

    return _int(_word, _int, _word), generate


@intrinsic
def _waitall(typing_context: Any, address: Any, count: Any, requests: Any, statuses: Any) -> Any:
    """Call ``MPI_Waitall`` at its address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _call(builder, arguments[0], arguments[1:])

    return _int(_word, _int, _word, _word), generate


def _call(builder: Any, address: Any, arguments: Any) -> Any:
    """A C function at an address, of an int and addresses, that returns an int."""
    kind = ir.FunctionType(_INT, [_INT, *[_WORD] * (len(arguments) - 1)])
    return builder.call(builder.inttoptr(address, kind.as_pointer()), arguments)


def _combiner(dtype: Any) -> Any:
    """The operators on one dtype, in the order of ``OPERATORS``, as NumPy defines them."""

    @njit(nogil=True, cache=True)
    def combine(operator: int, left: int, right: int, out: int, count: int) -> None:
        a, b = carray(_pointer(left), count, dtype), carray(_pointer(right), count, dtype)
        c = carray(_pointer(out), count, dtype)
        if operator == 0:
            for i in range(count):
                c[i] = a[i] + b[i]
        elif operator == 1:
            for i in range(count):
                c[i] = a[i] * b[i]
        elif operator == 2:
            for i in range(count):
                c[i] = a[i] if a[i] >= b[i] else b[i]
        else:
            for i in range(count):
                c[i] = a[i] if a[i] <= b[i] else b[i]

    return combine


_f4, _f8, _i4, _i8 = map(_combiner, DTYPES)
_KINDS = len(DTYPES)


@njit("int32(int64)", nogil=True, cache=True)
def replay(table: int) -> int:
    """Walk the table at an address; MPI's error code, 0 where all went well."""
    head = carray(_pointer(table), 5, np.int64)
    rows, startall, waitall, statuses = head[0], head[1], head[2], head[3]
    words = carray(_pointer(table), (rows, 5), np.int64)
    for row in range(1, rows):
        word, count = words[row, 0], words[row, 4]
        first, second, third = words[row, 1], words[row, 2], words[row, 3]
        error = 0
        if word == START:
            error = _startall(startall, _int(count), first)
        elif word == WAIT:
            error = _waitall(waitall, _int(count), first, statuses)
        elif word == COPY:
            _copy(first, second, count)
        else:
            operator, kind = divmod(word - COMBINE, _KINDS)
            if kind == 0:
                _f4(operator, first, second, third, count)
            elif kind == 1:
                _f8(operator, first, second, third, count)
            elif kind == 2:
                _i4(operator, first, second, third, count)
            else:
                _i8(operator, first, second, third, count)
        if error:
            return error
    return 0
