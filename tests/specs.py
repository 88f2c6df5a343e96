"""What the tests of buffers share: specs as loaded buffers, and what is in their blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from mpi4py import MPI

from mpicoll.transport.buffers import Buffer, vector

Commit: TypeAlias = Callable[[MPI.Datatype], MPI.Datatype]
"""Commits a derived datatype, which is freed after the test: the fixture ``derived``."""

X = np.arange(12.0)


def send(spec: object, **options: Any) -> Buffer:
    """The spec as a send buffer, loaded."""
    return loaded(vector(spec, name="sendbuf", writable=False, **options))


def recv(spec: object) -> Buffer:
    """The spec as a receive buffer, loaded."""
    return loaded(vector(spec, name="recvbuf", writable=True))


def loaded(buffer: Buffer) -> Buffer:
    if buffer.load:
        buffer.load()
    return buffer


def blocks(buffer: Buffer) -> list[list[Any]]:
    """The items of each block."""
    pairs = zip(buffer.starts, buffer.counts, strict=True)
    return [buffer.data[start : start + count].tolist() for start, count in pairs]


def blocks_of(buffer: Buffer, dtype: str) -> list[list[Any]]:
    pairs = zip(buffer.starts, buffer.counts, strict=True)
    return [buffer.data[start : start + count].view(dtype).tolist() for start, count in pairs]
