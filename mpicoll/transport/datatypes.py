"""MPI datatypes and NumPy dtypes: which is which, and what memory an MPI element takes."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from mpi4py import MPI
from mpi4py.util import dtlib

Array: TypeAlias = np.ndarray[Any, Any]
"""An array of any shape and dtype."""

PAIRS = (
    MPI.FLOAT_INT,
    MPI.DOUBLE_INT,
    MPI.LONG_INT,
    MPI.INT_INT,
    MPI.SHORT_INT,
    MPI.LONG_DOUBLE_INT,
)
"""The datatypes of a value and an index, for MINLOC and MAXLOC (MPI 4.1, 6.9.4)."""

UNTYPED = (MPI.BYTE, MPI.PACKED, MPI.CHAR, MPI.CHARACTER)
"""The datatypes that may describe memory of any dtype."""

_INTEGERS = "biumM"

_BASIC: dict[int, np.dtype[Any]] = {}


class Element(NamedTuple):
    """What one element of an MPI datatype is in memory.

    ``dtype``: of the data, or ``None`` where only MPI can pick the bytes out (a derived datatype).
    ``granule``: items of the dtype in one element.  ``extent``: bytes from one element to the next.
    """

    dtype: np.dtype[Any] | None
    granule: int
    extent: int


def element(datatype: MPI.Datatype) -> Element:
    """The element of a datatype; raises ``TypeError`` for a null one."""
    if datatype == MPI.DATATYPE_NULL:
        raise TypeError("the datatype is null, or not known to this MPI library")
    flat = _flat(datatype)
    if flat is None:
        return Element(None, 1, datatype.Get_extent()[1])
    dtype, granule = flat
    return Element(dtype, granule, granule * dtype.itemsize)


def _flat(datatype: MPI.Datatype) -> tuple[np.dtype[Any], int] | None:
    """The dtype and the number of items of a datatype without gaps, or ``None``."""
    if datatype.is_predefined:
        return _basic(datatype), 1
    base, combiner, parameters = datatype.decode()
    if combiner not in ("CONTIGUOUS", "DUP"):
        return None
    inner = _flat(base)
    return inner and (inner[0], inner[1] * parameters.get("count", 1))


def _basic(datatype: MPI.Datatype) -> np.dtype[Any]:
    """The dtype of a predefined datatype."""
    dtype = _BASIC.get(datatype.handle)
    if dtype is None:
        found = np.dtype(dtlib.to_numpy_dtype(datatype))
        dtype = found if found.itemsize else np.dtype("U1")  # WCHAR comes as a text of no length
        _BASIC[datatype.handle] = dtype
    return dtype


@lru_cache(maxsize=256)
def datatype_of(dtype: np.dtype[Any]) -> MPI.Datatype:
    """The MPI datatype of a dtype; ``MPI.BYTE`` where MPI has none (records, bfloat16, text)."""
    if dtype.kind in "?biufc" and dtype.isbuiltin == 1:
        return MPI.Datatype.fromcode(dtype.char)
    for pair in PAIRS:
        if dtype.fields and _shape(dtype) == _shape(_basic(pair)):
            return pair
    return MPI.BYTE


def _shape(record: np.dtype[Any]) -> list[object]:
    """Field dtypes with their offsets, and the size, of a record dtype."""
    return [*((field[0], field[1]) for field in (record.fields or {}).values()), record.itemsize]


class Held:
    """A datatype of one's own, as long as somebody refers to this.

    MPI lets users free their datatypes while a call is under way; so a derived one is duplicated.
    """

    def __init__(self, datatype: MPI.Datatype) -> None:
        self._owned = not datatype.is_predefined
        self.datatype = datatype.Dup().Commit() if self._owned else datatype

    def __del__(self) -> None:
        if self._owned and not MPI.Is_finalized():
            self.datatype.Free()


def label(datatype: MPI.Datatype) -> str:
    """The name of a datatype, for messages."""
    return datatype.name or "a derived datatype"


def fits(dtype: np.dtype[Any], datatype: MPI.Datatype, wanted: np.dtype[Any]) -> bool:
    """Whether memory of a dtype may be described by a datatype whose elements are of ``wanted``.

    Equal dtypes fit; so do bytes, on either side, integers of the same size, and complex numbers
    and records with the one scalar dtype that they consist of.
    """
    if dtype == wanted or _is_raw(dtype) or datatype in UNTYPED:
        return True
    if dtype.kind in _INTEGERS and wanted.kind in _INTEGERS:
        return dtype.itemsize == wanted.itemsize
    have, want = _atoms(dtype), _atoms(wanted)
    return have == want and (len(have) == 1 or dtype.itemsize == wanted.itemsize)


def _is_raw(dtype: np.dtype[Any]) -> bool:
    return dtype == np.uint8 or (dtype.kind in "SUV" and not dtype.fields and dtype.isbuiltin != 2)


def _atoms(dtype: np.dtype[Any]) -> set[np.dtype[Any]]:
    """The scalar dtypes that a dtype consists of."""
    if dtype.fields:
        return {atom for field in dtype.fields.values() for atom in _atoms(field[0])}
    if dtype.subdtype:
        return _atoms(dtype.subdtype[0])
    return {np.empty(0, dtype).real.dtype if dtype.kind == "c" else dtype}
