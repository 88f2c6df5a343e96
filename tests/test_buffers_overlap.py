"""Buffers as bytes, and whether two share memory."""

from __future__ import annotations

import numpy as np
import pytest
from mpi4py import MPI
from specs import Commit, X, loaded, send

from mpicoll.transport.buffers import as_bytes, overlap, per_rank, per_rank_v


def test_as_bytes() -> None:
    x = np.arange(6.0)[::2]
    buffer = per_rank([x, 1], 3, name="buf", writable=True)
    same = as_bytes(buffer)
    assert (same.starts, same.counts, same.datatype) == ([0, 8, 16], [8, 8, 8], MPI.BYTE)
    loaded(same)
    same.data[8:16] = list(np.float64(7).tobytes())
    assert same.store and same.memory == buffer.memory
    same.store()
    assert x.tolist() == [0, 7, 4]


M = np.zeros((4, 4))


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (X, X, "same"),
        (X, X.reshape(3, 4), "same"),
        ([X, 3], [X, 3, 0, "d"], "same"),
        (X[:6], X[6:], "none"),
        (X[:6], X[5:], "part"),
        (X[:6], X, "part"),
        (X[:0], X[:0], "none"),
        (X[::2], X[1::2], "none"),
        (X[::2], X[::2], "same"),
        (X[::2], X[::3], "part"),
        (X, X[::-1], "part"),
        (X[::-1], X[::-1], "same"),
        (M, M.T, "part"),
        (M.T, M.T, "same"),
        (M[:, 0], M[:, 1], "none"),
        (M[:, :2], M[:, 1:], "part"),
        ([X[::2], 2], [X[::2], 3], "part"),
    ],
)
def test_overlap_of_vectors(a: object, b: object, expected: str) -> None:
    one, two = send(a), send(b)
    assert overlap(one, two) == overlap(two, one) == expected
    assert overlap(as_bytes(one), as_bytes(two)) == expected


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ([X, [4, 4]], [X, [4, 4]], "same"),
        ([X, [4, 4]], [X, [3, 5]], "part"),
        ([X, ([4, 4], [4, 0])], [X, [4, 4]], "part"),
        ([X, ([2, 2], [0, 4])], [X, ([2, 2], [2, 6])], "none"),
        ([X, ([2, 2], [0, 4])], [X, ([2, 2], [2, 5])], "part"),
    ],
)
def test_overlap_of_blocks(a: object, b: object, expected: str) -> None:
    one, two = (per_rank_v(spec, 2, name="buf", writable=True) for spec in (a, b))
    assert overlap(one, two) == overlap(two, one) == expected


def test_overlap_of_a_vector_and_its_blocks() -> None:
    assert overlap(send(X), per_rank(X, 3, name="buf", writable=True)) == "same"


def test_overlap_by_derived_datatypes(derived: Commit) -> None:
    column = derived(MPI.DOUBLE.Create_vector(4, 1, 4))
    flat = M.reshape(-1)
    first, second = send([flat, 1, column]), send([flat[1:], 1, column])
    assert overlap(first, second) == "none"
    assert overlap(first, send([flat, 1, column])) == "same"
    assert overlap(first, send(M[0])) == "part"
    assert overlap(first, send(M[:, 1:])) == "none"
    assert overlap(send(M[:, 0]), first) == "part"
