"""What mpi4py users pass as a buffer, as a flat vector and the blocks in it.

Element order is logical (C) order whatever the memory layout: strided, reversed and
Fortran-ordered arrays serve like any other, through a copy before and after each run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, Literal

import numpy as np
from mpi4py import MPI

from .copies import MemoryLayout, Packed, Piece, Span, Strided, address, merged
from .datatypes import Array, datatype_of, element
from .specs import Block, Spec, read, read_w

_PLAIN = {np.dtype(code): datatype_of(np.dtype(code)) for code in "?bhilqBHILQefdgFDG"}


@dataclass(slots=True)
class Buffer:
    """A flat vector and the blocks in it.

    ``data``: one-dimensional, contiguous, in logical order; a view of the user's memory wherever
    that is possible.  ``starts``, ``counts``: in items of data, one for a whole vector or one a
    rank.  ``datatype``: of an element, as MPI sees it; ``granule``: items of data in one element.
    ``memory``: first address and end of what is touched, (0, 0) if nothing is.
    ``layout``: how data that are no view map to the user's memory.
    """

    data: Array
    starts: list[int]
    counts: list[int]
    datatype: MPI.Datatype
    granule: int
    memory: tuple[int, int]
    layout: MemoryLayout | None = None

    @property
    def load(self) -> Callable[[], None] | None:
        """Copies the user's memory into data, before each run; ``None`` for a view."""
        return self.layout.load if self.layout else None

    @property
    def store(self) -> Callable[[], None] | None:
        """Copies data into the user's memory, after each run; ``None`` for a view."""
        return self.layout.store if self.layout else None


def vector(spec: object, *, name: str, writable: bool, count: int | None = None) -> Buffer:
    """One vector: ``array``, ``[array, datatype]``, ``[array, count, displacement, datatype]``, ...

    ``count``: the elements that the call needs; any other number is a ``ValueError``.
    """
    if count is None:
        plain = _plain(spec, writable)
        if plain is not None:
            return plain
    parts = read(spec, name, writable)
    block = parts.single()
    if count is not None and block[1] != count:
        raise ValueError(f"{name}: {block[1]} elements, expected {count}")
    return _buffer(parts, [block])


def _plain(spec: object, writable: bool) -> Buffer | None:
    """The common case, fast: a contiguous array of a basic dtype, bare or with its datatype."""
    array, datatype = spec if type(spec) is list and len(spec) == 2 else (spec, None)
    if type(array) is not np.ndarray:
        return None
    known, flags = _PLAIN.get(array.dtype), array.flags
    if known is None or not (datatype is None or datatype is known) or not flags.c_contiguous:
        return None
    if writable and not flags.writeable:
        return None
    data = array if array.ndim == 1 else array.reshape(-1)
    count = data.size
    start = MPI.Get_address(data) if count else 0
    return Buffer(data, [0], [count], known, 1, (start, start + data.nbytes))


def per_rank(spec: object, size: int, *, name: str, writable: bool) -> Buffer:
    """Equal blocks, one a rank; a count in the spec is that of one rank."""
    plain = _plain(spec, writable)
    if plain is not None and plain.data.size % size == 0:
        count = plain.data.size // size
        plain.starts, plain.counts = [rank * count for rank in range(size)], [count] * size
        return plain
    parts = read(spec, name, writable)
    return _buffer(parts, parts.equal(size))


def per_rank_v(spec: object, size: int, *, name: str, writable: bool) -> Buffer:
    """Blocks of different counts, one a rank: ``[array, (counts, displs), datatype]``, ..."""
    parts = read(spec, name, writable, nested=(tuple,))
    return _apart(_buffer(parts, parts.varying(size)), name, writable)


def per_rank_w(spec: object, size: int, *, name: str, writable: bool) -> Buffer:
    """Blocks of a datatype each: ``[array, (counts, displacements in bytes), datatypes]``.

    ``[array, datatypes]`` is one element a rank, each at the start.  Data are of uint8.
    """
    parts, datatypes = read_w(spec, size, name, writable)
    blocks = parts.varying(size)
    pieces = [Piece(d, count, kind) for (d, count), kind in zip(blocks, datatypes, strict=True)]
    elements = [element(kind) for kind in datatypes]
    if any(item.dtype is None for item in elements):
        return _packed(parts, blocks, pieces)
    sized = zip(blocks, elements, strict=True)
    spans = [(displ, displ + count * item.extent) for (displ, count), item in sized]
    return _apart(_typed(parts, np.dtype(np.uint8), blocks, spans), name, writable)


def _apart(buffer: Buffer, name: str, writable: bool) -> Buffer:
    """The same buffer; ``ValueError`` where blocks that are written to overlap."""
    if writable and not isinstance(buffer.layout, Packed):
        blocks = zip(buffer.starts, buffer.counts, range(len(buffer.starts)), strict=True)
        used = sorted(block for block in blocks if block[1])
        for (start, count, rank), (after, _, other) in pairwise(used):
            if after < start + count:
                raise ValueError(
                    f"{name}: the blocks of ranks {rank} and {other} overlap; pass displacements "
                    f"at least their counts apart"
                )
    return buffer


def _buffer(spec: Spec, blocks: Sequence[Block]) -> Buffer:
    """The buffer of some blocks of a spec."""
    dtype, extent = spec.element.dtype, spec.element.extent
    if dtype is None:
        pieces = [Piece(displ * extent, count, spec.datatype) for displ, count in blocks]
        return _packed(spec, blocks, pieces)
    spans = [(displ * extent, (displ + count) * extent) for displ, count in blocks]
    return _typed(spec, dtype, blocks, spans)


def _typed(
    spec: Spec, dtype: np.dtype[Any], blocks: Sequence[Block], spans: Sequence[Span]
) -> Buffer:
    """Blocks that are items of one dtype, side by side; ``spans``: the bytes of each."""
    array, spans = spec.array, _inside(spec, blocks, spans)
    layout: Strided | None = None
    if array.flags.c_contiguous and array.dtype.isnative:
        base = array.reshape(-1)
    else:
        base = np.empty(array.size, array.dtype.newbyteorder("="))
        layout = Strided(array, base, [_items(span, base.itemsize) for span in spans])
    data = base if base.dtype == dtype else _recast(base, dtype)
    starts = [start // data.itemsize for start, _ in spans]
    counts = [(end - start) // data.itemsize for start, end in spans]
    memory = _touched(address(array), spans) if layout is None else _bounds(array, any(counts))
    return Buffer(data, starts, counts, spec.datatype, spec.element.granule, memory, layout)


def _packed(spec: Spec, blocks: Sequence[Block], pieces: Sequence[Piece]) -> Buffer:
    """Blocks of derived datatypes, as the bytes that MPI picks out."""
    spans = _inside(spec, blocks, [piece.span() for piece in pieces])
    counts = [piece.entries * piece.datatype.Get_size() for piece in pieces]
    data = np.empty(sum(counts), np.uint8)
    starts = list(accumulate(counts, initial=0))[:-1]
    memory = _touched(address(spec.array), spans)
    layout, granule = Packed(spec.array, data, pieces), max(1, spec.datatype.Get_size())
    return Buffer(data, starts, counts, spec.datatype, granule, memory, layout)


def _inside(spec: Spec, blocks: Sequence[Block], spans: Sequence[Span]) -> list[Span]:
    """The bytes of each block, if the memory has them all; ``ValueError`` if not."""
    length = spec.array.nbytes
    for (displ, count), (start, end) in zip(blocks, spans, strict=True):
        if start != end and (start < 0 or end > length):
            raise ValueError(
                f"{spec.name}: count {count} at displacement {displ} takes bytes {start} to {end}, "
                f"but the array has {length}; pass a larger array or a smaller count"
            )
    return [(min(start, length), min(end, length)) for start, end in spans]


def _items(span: Span, size: int) -> Span:
    """The items of a size that a span of bytes touches."""
    return span[0] // size, -(-span[1] // size)


def _recast(base: Array, dtype: np.dtype[Any]) -> Array:
    """The memory of a contiguous array as items of another dtype, without a rest."""
    whole = base.nbytes - base.nbytes % dtype.itemsize
    return base.view(np.uint8)[:whole].view(dtype)


def _touched(base: int, spans: Sequence[Span]) -> tuple[int, int]:
    """The addresses from the first to the last of the spans that are not empty."""
    used = [span for span in spans if span[0] != span[1]]
    if not used:
        return 0, 0
    return base + min(start for start, _ in used), base + max(end for _, end in used)


def _bounds(array: Array, used: bool) -> tuple[int, int]:
    """The addresses that an array of any strides lies between."""
    if not used:
        return 0, 0
    sides = zip(array.strides, array.shape, strict=True)
    reach = [stride * (length - 1) for stride, length in sides]
    first = address(array)
    return (
        first + sum(step for step in reach if step < 0),
        first + sum(step for step in reach if step > 0) + array.itemsize,
    )


def as_bytes(buffer: Buffer) -> Buffer:
    """The same buffer with data of uint8, and starts and counts in bytes."""
    size = buffer.data.itemsize
    data = buffer.data if buffer.data.dtype == np.uint8 else buffer.data.view(np.uint8)
    starts = [start * size for start in buffer.starts]
    counts = [count * size for count in buffer.counts]
    return Buffer(data, starts, counts, MPI.BYTE, 1, buffer.memory, buffer.layout)


def by_address(data: Array) -> Array:
    """The same contiguous memory, without keeping it alive."""
    memory: Any = MPI.buffer.fromaddress(address(data), data.nbytes, not data.flags.writeable)
    return np.frombuffer(memory, np.uint8).view(data.dtype)


def overlap(a: Buffer, b: Buffer) -> Literal["none", "same", "part"]:
    """Whether two buffers share memory: not at all, all of it in the same order, or else.

    ``"same"`` means in place.
    """
    low, high = max(a.memory[0], b.memory[0]), min(a.memory[1], b.memory[1])
    if low >= high:
        return "none"
    simple = a.layout is None and b.layout is None and len(a.starts) == len(b.starts) == 1
    if a.memory == b.memory and (simple or _same_order(a, b)):
        return "same"
    if simple or np.any(_mask(a, low, high) & _mask(b, low, high)):
        return "part"
    return "none"


def _same_order(a: Buffer, b: Buffer) -> bool:
    """Whether two buffers of the same memory have the same blocks in the same order."""
    if (a.layout and a.layout.key) != (b.layout and b.layout.key):
        return False
    if len(a.starts) == 1 or len(b.starts) == 1:
        return merged(_spans(a)) == merged(_spans(b))
    return _spans(a) == _spans(b)


def _spans(buffer: Buffer) -> list[Span]:
    """The addresses of the blocks of a view, or their bytes in data that are a copy."""
    base, size = 0 if buffer.layout else address(buffer.data), buffer.data.itemsize
    blocks = zip(buffer.starts, buffer.counts, strict=True)
    return [(base + start * size, base + (start + count) * size) for start, count in blocks]


def _mask(buffer: Buffer, low: int, high: int) -> Array:
    """One for each byte between two addresses that belongs to the buffer."""
    origin, end = buffer.memory
    mask = np.zeros(end - origin, np.uint8)
    if buffer.layout:
        buffer.layout.mark(mask, origin)
    else:
        for start, stop in _spans(buffer):
            mask[start - origin : stop - origin] = 1
    return mask[low - origin : high - origin]
