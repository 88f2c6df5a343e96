"""Buffers of one block a rank, and of derived datatypes."""

from __future__ import annotations

import numpy as np
import pytest
from mpi4py import MPI
from specs import Commit, X, blocks, blocks_of, loaded, recv, send

from mpicoll.transport.buffers import as_bytes, per_rank, per_rank_v, per_rank_w, vector

# -- blocks, one a rank


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (X, [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]),
        ([X, MPI.DOUBLE], [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]),
        ([X, 2], [[0, 1], [2, 3], [4, 5]]),
        ([X, (2, 3)], [[3, 4], [5, 6], [7, 8]]),
        ([X, None, 6, "d"], [[6, 7], [8, 9], [10, 11]]),
        ([X, 0], [[], [], []]),
        (X[:0], [[], [], []]),
        (X[::-2], [[11, 9], [7, 5], [3, 1]]),
    ],
)
def test_equal_blocks(spec: object, expected: list[list[float]]) -> None:
    assert blocks(loaded(per_rank(spec, 3, name="buf", writable=False))) == expected


def test_equal_blocks_must_divide_and_fit() -> None:
    with pytest.raises(ValueError, match="buf: 12 elements do not divide among 5 ranks"):
        per_rank(X, 5, name="buf", writable=False)
    with pytest.raises(ValueError, match="count 5 at displacement 10 takes bytes 80 to 120"):
        per_rank([X, 5], 3, name="buf", writable=False)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (X[:8], [[0, 1, 2], [3, 4, 5], [6, 7]]),  # as even as can be, the larger ones first
        ([X[:7], MPI.DOUBLE], [[0, 1, 2], [3, 4], [5, 6]]),
        ([X, [1, 0, 2]], [[0], [], [1, 2]]),
        ([X, np.array([1, 0, 2]), "d"], [[0], [], [1, 2]]),
        ([X, 2], [[0, 1], [2, 3], [4, 5]]),
        ([X, ([1, 0, 2], [11, 5, 0])], [[11], [], [0, 1]]),
        ([X, ([1, 0, 2], None)], [[0], [], [1, 2]]),
        ([X, ((1, 0, 2), (11, 5, 0)), MPI.DOUBLE], [[11], [], [0, 1]]),
        ([X, [1, 0, 2], [11, 99, 0], MPI.DOUBLE], [[11], [], [0, 1]]),  # 99 is of no elements
        ([X, (2, 5)], [[0, 1], [5, 6], [10, 11]]),  # one displacement: the step between ranks
        ([X, 1, 4, MPI.DOUBLE], [[0], [4], [8]]),
        ([X[::-1], [2, 0, 1]], [[11, 10], [], [9]]),
    ],
)
def test_blocks_of_different_counts(spec: object, expected: list[list[float]]) -> None:
    assert blocks(loaded(per_rank_v(spec, 3, name="buf", writable=False))) == expected


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        ([X, [1, 2]], ValueError, "expected 3 counts, one a rank, got 2"),
        ([X, (1, 2, 3)], ValueError, "expected .counts, displacements."),  # so does mpi4py
        ([X, ([1, 1, 1], [0, 1])], ValueError, "expected 3 displacements, one a rank, got 2"),
        ([X, [1, -1, 1]], ValueError, "count -1 is negative"),
        ([X, [1, 1, 11]], ValueError, "count 11 at displacement 2"),
        ([X, ([1, 1, 1], [0, 1, 12])], ValueError, "count 1 at displacement 12"),
        ([X, [1, 1.5, 1]], TypeError, "expected an integer count, got 1.5"),
        ([X, 2.0, "d"], TypeError, "expected 3 counts, got 2.0"),
    ],
)
def test_different_counts_refused(spec: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"recvbuf: {message}"):
        per_rank_v(spec, 3, name="recvbuf", writable=True)


def test_a_strided_array_is_filled_at_its_blocks_only() -> None:
    x = np.zeros(10)[::2]
    buffer = loaded(per_rank_v([x, ([1, 2], [4, 1])], 2, name="buf", writable=True))
    buffer.data[...] = 9
    assert buffer.store
    buffer.store()
    assert x.tolist() == [0, 9, 9, 0, 9]


def test_blocks_of_a_datatype_each() -> None:
    x = np.zeros(24, "u1")
    types = [MPI.DOUBLE, MPI.INT, MPI.BYTE]
    buffer = per_rank_w([x, ([1, 2, 3], [16, 4, 0]), types], 3, name="buf", writable=True)
    assert (buffer.starts, buffer.counts) == ([16, 4, 0], [8, 8, 3])
    assert buffer.data.dtype == np.uint8 and buffer.load is None
    four = per_rank_w([x, [1, 2, 3], [16, 4, 0], types], 3, name="buf", writable=True)
    assert (four.starts, four.counts) == (buffer.starts, buffer.counts)
    short = per_rank_w([x, types], 3, name="buf", writable=False)
    assert (short.starts, short.counts) == ([0, 0, 0], [8, 4, 1])


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        (X, TypeError, r"expected \[array, \(counts, displacements\), datatypes\]"),
        ([X, ([1, 1], [0, 8]), MPI.DOUBLE], ValueError, "expected 2 datatypes, one a rank"),
        ([X, ([1, 1], [0, 8]), [MPI.DOUBLE]], ValueError, "expected 2 datatypes, one a rank"),
        ([X, ([1, 1], [0, 96]), [MPI.DOUBLE] * 2], ValueError, "count 1 at displacement 96"),
    ],
)
def test_a_datatype_each_refused(spec: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"buf: .*{message}"):
        per_rank_w(spec, 2, name="buf", writable=True)


# -- derived datatypes


def test_a_column_by_a_derived_datatype(derived: Commit) -> None:
    x = np.arange(12.0).reshape(3, 4)
    column = derived(MPI.DOUBLE.Create_vector(3, 1, 4))
    buffer = recv([x.reshape(-1)[1:], 1, column])
    assert buffer.data.view("f8").tolist() == [1, 5, 9]
    assert buffer.data.dtype == np.uint8 and buffer.counts == [24] and buffer.granule == 24
    buffer.data.view("f8")[...] = [-1, -5, -9]
    assert buffer.store
    buffer.store()
    assert x.tolist() == [[0, -1, 2, 3], [4, -5, 6, 7], [8, -9, 10, 11]]


def test_columns_one_a_rank(derived: Commit) -> None:
    x = np.arange(6, dtype="i4").reshape(2, 3)
    strided = derived(MPI.INT.Create_vector(2, 1, 3))
    column = derived(strided.Create_resized(0, 4))
    every = loaded(per_rank([x, 1, column], 3, name="buf", writable=False))
    assert blocks_of(every, "i4") == [[0, 3], [1, 4], [2, 5]]
    some = [x, ([0, 2, 1], [0, 1, 0]), column]
    buffer = loaded(per_rank_v(some, 3, name="buf", writable=False))
    assert blocks_of(buffer, "i4") == [[], [1, 4, 2, 5], [0, 3]]
    x[...], store = 0, buffer.store
    assert store
    store()
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(ValueError, match="count 1 at displacement 3 takes bytes 12 to 28"):
        vector([x, 1, 3, column], name="buf", writable=False)


def test_records_with_gaps_and_reordered_blocks(derived: Commit) -> None:
    kind = MPI.Datatype.Create_struct([1, 1], [8, 0], [MPI.DOUBLE, MPI.INT])
    record = derived(kind)
    x = np.zeros(2, np.dtype([("a", "i4"), ("b", "f8")], align=True))
    x["a"], x["b"] = [1, 2], [0.5, 0.25]
    buffer = send([x, 2, record])
    assert buffer.counts == [24]
    assert buffer.data.view(np.dtype("f8, i4")).tolist() == [(0.5, 1), (0.25, 2)]


def test_each_rank_a_derived_datatype_of_its_own(derived: Commit) -> None:
    x = np.arange(6, dtype="i4")
    odd = derived(MPI.INT.Create_vector(3, 1, 2))
    spec = [x, ([1, 2], [4, 0]), [odd, MPI.INT]]
    buffer = loaded(per_rank_w(spec, 2, name="buf", writable=False))
    assert blocks_of(buffer, "i4") == [[1, 3, 5], [0, 1]]


def test_derived_datatypes_that_reach_beyond(derived: Commit) -> None:
    column = derived(MPI.DOUBLE.Create_vector(3, 1, 5))  # needs 11 elements
    assert send([X[:11], 1, column]).counts == [24]
    with pytest.raises(ValueError, match="count 1 at displacement 0 takes bytes 0 to 88"):
        send([X[:10], 1, column])
    before = derived(MPI.DOUBLE.Create_hindexed([1], [-8]))
    with pytest.raises(ValueError, match="takes bytes -8 to 0"):
        send([X, 1, before])
    wide = derived(MPI.DOUBLE.Create_resized(0, 16))
    assert send([X[:3], 2, wide]).counts == [16]  # the gap after the last need not be there
    with pytest.raises(ValueError, match="contiguous"):
        send([X[::2], 1, column])
    backwards = derived(MPI.DOUBLE.Create_resized(0, -8))
    with pytest.raises(ValueError, match="extent -8"):
        send([X, 1, backwards])


def test_a_derived_datatype_not_committed_or_freed_meanwhile() -> None:
    datatype = MPI.DOUBLE.Create_vector(2, 1, 2)
    buffer = vector([X, 1, datatype], name="buf", writable=False)
    datatype.Free()
    assert loaded(buffer).data.view("f8").tolist() == [0, 2]


def test_contiguous_datatypes_are_seen_as_what_they_consist_of(derived: Commit) -> None:
    two = derived(MPI.DOUBLE.Create_contiguous(2))
    six = derived(two.Create_contiguous(3))
    buffer = send([X, 1, 1, six])
    assert (buffer.starts, buffer.counts, buffer.granule) == ([6], [6], 6)
    assert buffer.data.dtype == np.float64 and buffer.load is None
    assert send([X, two]).counts == [12]
    with pytest.raises(TypeError, match="array of int64 does not fit a derived datatype"):
        send([X.astype("i8"), two])


def test_pairs() -> None:
    x = np.array([[3, 0], [1, 1]], "i4")
    assert blocks(send([x, MPI.INT_INT])) == [[(3, 0), (1, 1)]]
    records = np.zeros(2, np.dtype([("value", "f8"), ("index", "i4")], align=True))
    assert send([records, MPI.DOUBLE_INT]).data.dtype.itemsize == 16
    assert send([records, 1, 1, MPI.DOUBLE_INT]).starts == [1]


def test_dtypes_that_mpi_does_not_know() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="pip install ml_dtypes")
    x = np.array([1, 2, 3], ml_dtypes.bfloat16)
    assert send(x[::2]).data.tolist() == [1, 3]
    assert as_bytes(send(x)).counts == [6]
    assert send(np.zeros(1, ml_dtypes.float8_e5m2)).datatype == MPI.BYTE
    with pytest.raises(TypeError, match="does not fit MPI_SHORT"):
        send([x, MPI.SHORT])
