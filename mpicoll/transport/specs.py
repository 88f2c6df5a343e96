"""What mpi4py lets users pass as a buffer, taken apart: memory, counts, displacements, datatype.

The forms and their meaning are mpi4py's (its reference, "Buffer specification"); unlike it, arrays
that are not contiguous are taken, and what reaches beyond the memory is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import index
from typing import Any, cast

import numpy as np
from mpi4py import MPI

from ..schedule.steps import split
from .datatypes import Array, Element, datatype_of, element, fits, label

Block = tuple[int, int]
"""(displacement, count) in elements of the datatype."""


@dataclass(frozen=True)
class Spec:
    """One buffer argument; ``counts`` and ``displs`` as they came, ``None`` where left out.

    ``element.dtype`` is ``None`` where only MPI can pick the bytes out of the memory.
    """

    name: str
    array: Array
    counts: Any
    displs: Any
    datatype: MPI.Datatype
    element: Element

    def single(self) -> Block:
        """The block of a whole vector."""
        displ = 0 if self.displs is None else _natural(self.displs, self.name, "displacement")
        if self.counts is not None:
            return displ, _natural(self.counts, self.name, "count")
        entries = self._entries()
        if displ > entries:
            raise ValueError(
                f"{self.name}: displacement {displ} is beyond the array's {entries} elements"
            )
        return displ, entries - displ

    def equal(self, size: int) -> list[Block]:
        """One block of the same count for each rank, side by side; a count given is a rank's."""
        displ, count = self.single()
        if self.counts is None:
            if count % size:
                raise ValueError(
                    f"{self.name}: {count} elements do not divide among {size} ranks; "
                    f"pass a multiple of {size}, or a count for each rank"
                )
            count //= size
        return [(displ + rank * count, count) for rank in range(size)]

    def varying(self, size: int) -> list[Block]:
        """One block for each rank, each of its own count.

        No counts: as even as can be, the larger ones first.  No displacements: side by side.  One
        integer counts for all ranks, and one displacement is the step from rank to rank.
        """
        if self.counts is None:
            counts = split(self._entries(), size)
        else:
            counts = listed(self.counts, size, self.name, "count")
        if self.displs is None:
            return list(zip(accumulate(counts, initial=0), counts, strict=False))
        displs = listed(self.displs, size, self.name, "displacement", step=True)
        return list(zip(displs, counts, strict=True))

    def _entries(self) -> int:
        """How many elements the memory holds."""
        length, extent = self.array.nbytes, self.element.extent
        if length % extent:
            raise ValueError(
                f"{self.name}: {length} bytes are not a multiple of the {extent} bytes of an "
                f"element of {label(self.datatype)}; pass a count, or an array that fits"
            )
        return length // extent


def read(spec: object, name: str, writable: bool, nested: tuple[type, ...] = (tuple, list)) -> Spec:
    """Take a buffer argument apart.

    ``nested``: the types that may hold (counts, displacements) as one item.  Raises ``TypeError``
    or ``ValueError``, naming the argument, for what is no buffer or cannot be written to.
    """
    if not isinstance(spec, (list, tuple)):
        array, counts, displs, datatype = spec, None, None, None
    else:
        array, counts, displs, datatype = _items(spec, name, nested)
    if array is None and datatype is not None:
        array = np.empty(0, np.uint8)  # nothing, as in [None, 0, MPI.INT]
    memory = array_of(array, name, writable)
    if datatype is None:
        native = memory.dtype.newbyteorder("=")
        item = Element(native, 1, native.itemsize)
        return Spec(name, memory, counts, displs, datatype_of(native), item)
    kind = named(datatype, name)
    return Spec(name, memory, counts, displs, kind, _element(memory, kind, name))


def read_w(
    spec: object, size: int, name: str, writable: bool
) -> tuple[Spec, Sequence[MPI.Datatype]]:
    """Take an argument with a datatype for each rank apart; displacements are in bytes."""
    match spec:
        case [memory, types] | [memory, None, None, types]:
            counts, displs = 1, 0
        case [memory, [counts, displs], types] | [memory, counts, displs, types]:
            pass
        case _:
            raise TypeError(
                f"{name}: expected [array, (counts, displacements), datatypes], got {spec!r:.60}"
            )
    array, datatypes = array_of(memory, name, writable), cast(Sequence[MPI.Datatype], types)
    if isinstance(datatypes, MPI.Datatype) or len(datatypes) != size:
        raise ValueError(f"{name}: expected {size} datatypes, one a rank, got {datatypes!r}")
    for datatype in datatypes:
        _element(array, datatype, name)
    return Spec(name, array, counts, displs, MPI.BYTE, element(MPI.BYTE)), datatypes


def _items(
    spec: Sequence[Any], name: str, nested: tuple[type, ...]
) -> tuple[Any, Any, Any, str | MPI.Datatype | None]:
    """Memory, counts, displacements and datatype of a list or tuple."""
    if not 2 <= len(spec) <= 4:
        array_of(spec[0] if spec else None, name, False)
        raise ValueError(f"{name}: expected 2 to 4 items, as in [array, count, datatype]")
    if len(spec) == 4:
        return spec[0], spec[1], spec[2], spec[3]
    memory, counts = spec[:2]
    datatype = spec[2] if len(spec) == 3 else None
    if len(spec) == 2 and isinstance(counts, (MPI.Datatype, str)):
        return memory, None, None, counts
    if not isinstance(counts, nested):
        return memory, counts, None, datatype
    given = cast(Sequence[Any], counts)
    if len(given) != 2:
        raise ValueError(f"{name}: expected (counts, displacements), got {given!r}")
    return memory, given[0], given[1], datatype


def array_of(memory: object, name: str, writable: bool) -> Array:
    """The array of some memory; ``TypeError`` if it is none, ``ValueError`` if it is read-only."""
    array = _array(memory)
    if array is None:
        given = type(memory).__name__
        raise TypeError(
            f"{name}: expected an array or buffer in host memory, or [array, count, datatype], "
            f"got {given}"
        )
    if array.dtype.hasobject or not array.dtype.itemsize:
        raise TypeError(
            f"{name}: arrays of dtype {array.dtype} cannot be sent; convert it, or use the "
            f"lower-case methods for Python objects"
        )
    if writable and not array.flags.writeable:
        raise ValueError(f"{name}: {type(memory).__name__} is read-only, expected a writable array")
    if writable and not array.flags.c_contiguous and _is_folded(array):
        raise ValueError(f"{name}: strides {array.strides} put several elements in one place")
    return array


def _is_folded(array: Array) -> bool:
    """Whether several elements of an array are in one place."""
    sides = zip(array.strides, array.shape, strict=True)
    return any(step == 0 and length > 1 for step, length in sides)


def _array(memory: Any) -> Array | None:
    """Any memory as an array that shares it, or ``None``."""
    if isinstance(memory, np.ndarray):
        return np.asarray(memory)
    if memory is MPI.BOTTOM or memory is MPI.IN_PLACE:
        return None
    if isinstance(memory, np.generic):
        array = np.asarray(memory)
        array.flags.writeable = False
        return array
    try:
        return np.asarray(memoryview(memory))
    except TypeError:
        pass
    if not hasattr(memory, "__dlpack__") or hasattr(memory, "__cuda_array_interface__"):
        return None
    try:
        return np.from_dlpack(memory)
    except (BufferError, RuntimeError, TypeError):
        return None


def named(datatype: object, name: str) -> MPI.Datatype:
    """A datatype given as such or by its NumPy character code."""
    if isinstance(datatype, MPI.Datatype):
        return datatype
    try:
        return MPI.Datatype.fromcode(datatype)  # type: ignore[arg-type]
    except (KeyError, TypeError, ValueError):
        raise TypeError(
            f"{name}: expected an MPI datatype or a type code such as 'd', got {datatype!r}"
        ) from None


def _element(array: Array, datatype: MPI.Datatype, name: str) -> Element:
    """The element of the array under a datatype; ``TypeError`` where the two do not fit."""
    native = array.dtype.newbyteorder("=")
    try:
        found = element(datatype)
    except TypeError as error:
        raise TypeError(f"{name}: {error}") from None
    if found.dtype is not None and not fits(native, datatype, found.dtype):
        raise TypeError(
            f"{name}: an array of {array.dtype} does not fit {label(datatype)}, which is "
            f"{found.dtype}; pass the matching datatype, or array.view() to reinterpret the bytes"
        )
    if found.dtype is None and not array.flags.forc:
        raise ValueError(
            f"{name}: a derived datatype needs a contiguous array, got strides {array.strides}"
        )
    if found.extent <= 0:
        raise ValueError(
            f"{name}: elements of {label(datatype)} have extent {found.extent}; "
            f"expected a positive one"
        )
    return found


def _natural(value: object, name: str, what: str) -> int:
    """A count or a displacement as an integer that is not negative."""
    try:
        number = index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{name}: expected an integer {what}, got {value!r}") from None
    if number < 0:
        raise ValueError(f"{name}: {what} {number} is negative")
    return number


def listed(value: Any, size: int, name: str, what: str, step: bool = False) -> list[int]:
    """One number for each rank; a single one holds for all, or is the step between them.

    Raises ``TypeError`` or ``ValueError``, naming the argument, for what is not that.
    """
    if hasattr(value, "__index__") and not np.ndim(value):
        number = _natural(value, name, what)
        return [number * rank if step else number for rank in range(size)]
    try:
        given = list(value)
    except TypeError:
        raise TypeError(f"{name}: expected {size} {what}s, got {value!r}") from None
    if len(given) != size:
        raise ValueError(f"{name}: expected {size} {what}s, one a rank, got {len(given)}")
    return [_natural(item, name, what) for item in given]
