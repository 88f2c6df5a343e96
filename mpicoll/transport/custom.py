"""Operators that users wrote: ``MPI.Op.Create`` and Python callables, as functions on vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from mpi4py import MPI

from .buffers import Buffer
from .copies import Packed, Piece
from .datatypes import Array, Held

Combiner: TypeAlias = Callable[[Array, Array, Array], object]
"""``combine(left, right, out)`` sets out to left op right; out may be left or right itself."""


def by_callable(
    function: Callable[[Array, Array], Any], element: Sequence[int], name: str
) -> Combiner:
    """By ``function(a, b)`` on arrays of elements; exceptions of it propagate.

    Raises ``ValueError`` for a result of another shape and ``TypeError`` for one of another kind.
    """
    shape = (-1, *element)

    def combine(left: Array, right: Array, out: Array) -> None:
        if not out.size:
            return
        a, b = left.reshape(shape), right.reshape(shape).copy()
        a.flags.writeable = False
        result = function(a, b)
        given = b if result is None else np.asarray(result)
        if given.shape != b.shape:
            raise ValueError(f"op: {name} returned shape {given.shape}, expected {b.shape}")
        if not np.can_cast(given.dtype, out.dtype, "same_kind"):
            raise TypeError(f"op: {name} returned {given.dtype}, expected {out.dtype}")
        out.reshape(shape)[...] = given

    return combine


def by_mpi(op: MPI.Op, buffer: Buffer) -> Combiner:
    """By ``MPI_Reduce_local``, on elements as the buffer's datatype has them in memory."""
    held = Held(buffer.datatype)
    extent = held.datatype.Get_extent()[1]

    def combine(left: Array, right: Array, out: Array) -> None:
        if np.may_share_memory(left, out):
            into = right.copy()
            op.Reduce_local(message(left), message(into))
            out[...] = into
            return
        if out is not right:
            out[...] = right
        op.Reduce_local(message(left), message(out))

    def message(array: Array) -> list[Any]:
        return [array.view(np.uint8), array.nbytes // extent, held.datatype]

    return _spread(op, held) if isinstance(buffer.layout, Packed) else combine


def _spread(op: MPI.Op, held: Held) -> Combiner:
    """By ``MPI_Reduce_local`` on packed bytes, which are spread out as in memory meanwhile."""
    size, extent = held.datatype.Get_size(), held.datatype.Get_extent()[1]

    def combine(left: Array, right: Array, out: Array) -> None:
        count = out.size // size
        a, b = spread(left, count), spread(right, count)
        op.Reduce_local([a, count, held.datatype], [b, count, held.datatype])
        held.datatype.Pack(b, out, 0, MPI.COMM_SELF)

    def spread(packed: Array, count: int) -> Array:
        start, end = Piece(0, count, held.datatype).span()
        before = max(0, -start)
        memory = np.zeros(before + max(end, count * extent), np.uint8)
        elements = memory[before : before + count * extent]
        held.datatype.Unpack(packed, 0, elements, MPI.COMM_SELF)
        return elements

    return combine
