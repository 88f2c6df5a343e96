"""Copies between the user's memory and a flat vector, where the one cannot be seen as the other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from mpi4py import MPI

from .datatypes import Array, Held

Span = tuple[int, int]
"""(start, end), in elements or bytes."""


class MemoryLayout(ABC):
    """How some memory of the user maps to a flat vector.

    ``key`` is equal for two layouts that map the same memory in the same order.
    """

    key: tuple[object, ...]

    @abstractmethod
    def load(self) -> None:
        """Copy the user's memory into the vector."""

    @abstractmethod
    def store(self) -> None:
        """Copy the vector into the user's memory; what lies between the blocks stays."""

    @abstractmethod
    def mark(self, mask: Array, origin: int) -> None:
        """Set the bytes of the mask, whose first stands for address ``origin``, that are mine."""


class Strided(MemoryLayout):
    """An array of any strides or byte order, and its elements in C order.

    ``vector``: contiguous, as many elements as the array, in native byte order.
    ``spans``: the elements that are copied.
    """

    def __init__(self, array: Array, vector: Array, spans: Iterable[Span]) -> None:
        self._array, self._vector, self._spans = array, vector, merged(spans)
        self.key = (address(array), array.shape, array.strides)

    def load(self) -> None:
        """Copy the elements into the vector."""
        if self._is_whole():
            self._vector.reshape(self._array.shape)[...] = self._array
            return
        for start, end in self._spans:
            self._vector[start:end] = self._array.flat[start:end]

    def store(self) -> None:
        """Copy the elements back."""
        if self._is_whole():
            self._array[...] = self._vector.reshape(self._array.shape)
            return
        for start, end in self._spans:
            self._array.flat[start:end] = self._vector[start:end]

    def mark(self, mask: Array, origin: int) -> None:
        """Mark the array, all of it."""
        array = self._array
        shape, strides = (*array.shape, array.itemsize), (*array.strides, 1)
        np.ndarray(shape, np.uint8, mask.data, address(array) - origin, strides)[...] = 1

    def _is_whole(self) -> bool:
        return self._spans == [(0, self._array.size)]


def merged(spans: Iterable[Span]) -> list[Span]:
    """The same spans, with those joined that follow on one another."""
    joined: list[Span] = []
    for start, end in spans:
        if joined and joined[-1][1] == start:
            joined[-1] = joined[-1][0], end
        elif start < end:
            joined.append((start, end))
    return joined


class Piece(NamedTuple):
    """A number of elements of an MPI datatype, at an offset in bytes."""

    offset: int
    entries: int
    datatype: MPI.Datatype

    def span(self) -> Span:
        """The first byte that belongs to an element, and the one after the last."""
        if not self.entries or not self.datatype.Get_size():
            return self.offset, self.offset
        low, length = self.datatype.Get_true_extent()
        steps = sorted((0, (self.entries - 1) * self.datatype.Get_extent()[1]))
        return self.offset + steps[0] + low, self.offset + steps[1] + low + length


class Packed(MemoryLayout):
    """Elements of derived MPI datatypes, and their bytes in a row."""

    def __init__(self, array: Array, vector: Array, pieces: Iterable[Piece]) -> None:
        used = [piece for piece in pieces if piece.entries and piece.datatype.Get_size()]
        self._array, self._vector, self._base = array, vector, address(array)
        self.key = (self._base, *((p.offset, p.entries, p.datatype.handle) for p in used))
        self._held = [Held(piece.datatype) for piece in used]
        self._pieces = [
            piece._replace(datatype=held.datatype)
            for piece, held in zip(used, self._held, strict=True)
        ]

    def load(self) -> None:
        """Pack the pieces, one after another."""
        position = 0
        for piece in self._pieces:
            memory = _memory(piece, self._base, readonly=True)
            position = piece.datatype.Pack(memory, self._vector, position, MPI.COMM_SELF)

    def store(self) -> None:
        """Unpack the pieces."""
        self._unpack(self._vector, self._base)

    def mark(self, mask: Array, origin: int) -> None:
        """Unpack ones into the mask, as if it were the memory."""
        self._unpack(np.ones_like(self._vector), address(mask) + self._base - origin)

    def _unpack(self, vector: Array, base: int) -> None:
        position = 0
        for piece in self._pieces:
            memory = _memory(piece, base)
            position = piece.datatype.Unpack(vector, position, memory, MPI.COMM_SELF)


def _memory(piece: Piece, base: int, readonly: bool = False) -> MPI.buffer:
    """Memory from which mpi4py counts as many elements as the piece has."""
    length = piece.entries * piece.datatype.Get_extent()[1]
    return MPI.buffer.fromaddress(base + piece.offset, length, readonly)


def address(array: Array) -> int:
    """The address of an array's first element."""
    return int(array.__array_interface__["data"][0])
