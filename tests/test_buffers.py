"""Buffers: every form that mpi4py takes, every layout, and what is refused, in one process."""

from __future__ import annotations

import array
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpi4py import MPI

from mpicoll.transport.buffers import (
    Buffer,
    as_bytes,
    overlap,
    per_rank,
    per_rank_v,
    per_rank_w,
    vector,
)

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


@pytest.fixture
def derived() -> Iterator[Callable[[MPI.Datatype], MPI.Datatype]]:
    """Commits a derived datatype, and frees it after the test."""
    made: list[MPI.Datatype] = []

    def commit(datatype: MPI.Datatype) -> MPI.Datatype:
        made.append(datatype.Commit())
        return datatype

    yield commit
    for datatype in made:
        datatype.Free()


# -- the forms of one vector


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (X, list(range(12))),
        ([X, MPI.DOUBLE], list(range(12))),
        ((X, MPI.DOUBLE), list(range(12))),
        ([X, "d"], list(range(12))),
        ([X, None], list(range(12))),
        ([X, 3], [0, 1, 2]),
        ([X, 3, MPI.DOUBLE], [0, 1, 2]),
        ([X, np.int32(3), "d"], [0, 1, 2]),
        ([X, (3, 2)], [2, 3, 4]),
        ([X, [3, 2], MPI.DOUBLE], [2, 3, 4]),
        ([X, 3, 2, MPI.DOUBLE], [2, 3, 4]),
        ([X, None, 10, MPI.DOUBLE], [10, 11]),
        ([X, 0, 12, MPI.DOUBLE], []),
        ([X, MPI.BYTE], list(X.tobytes())),
        ([X, 2, 8, MPI.BYTE], list(np.float64(1).tobytes()[:2])),
        ([None, 0, MPI.INT], []),
        (X.reshape(3, 4), list(range(12))),
        (np.float64(7), [7]),
        (np.array(7.0), [7]),
        (np.zeros((0, 3)), []),
        (b"abc", [97, 98, 99]),
        (bytearray(b"abc"), [97, 98, 99]),
        (array.array("i", [5, 6]), [5, 6]),
        (memoryview(X)[::4], [0, 4, 8]),
    ],
)
def test_forms_of_a_vector(spec: object, expected: list[float]) -> None:
    assert blocks(send(spec)) == [expected]


def test_a_contiguous_array_is_seen_not_copied() -> None:
    x = np.zeros((2, 3))
    buffer = recv([x, 2, 3, MPI.DOUBLE])
    buffer.data[buffer.starts[0]] = 9
    assert buffer.load is None and buffer.store is None
    assert x.tolist() == [[0, 0, 0], [9, 0, 0]]
    assert buffer.memory == (x.ctypes.data + 24, x.ctypes.data + 40)


def test_datatypes_as_mpi_sees_them() -> None:
    assert send(X).datatype == MPI.DOUBLE
    assert send(X.astype(">f8")).datatype == MPI.DOUBLE
    assert send([X.astype("i8"), MPI.INT64_T]).datatype == MPI.INT64_T
    assert send(np.zeros(2, "u1")).datatype == MPI.UNSIGNED_CHAR
    assert send(np.zeros(2, np.dtype("f8, i4", align=True))).datatype == MPI.DOUBLE_INT
    assert send(np.zeros(2, "f8, i4")).datatype == MPI.BYTE


def test_counts_beyond_two_to_the_31() -> None:
    huge = np.zeros(2**31 + 5, "u1")
    assert vector(huge, name="buf", writable=True).counts == [2**31 + 5]
    assert vector([huge, 4, 2**31, "B"], name="buf", writable=True).starts == [2**31]
    two = per_rank_v([huge, [5, 2**31]], 2, name="buf", writable=True)
    assert (two.starts, two.counts) == ([0, 5], [5, 2**31])


def test_a_count_that_the_call_needs() -> None:
    assert send(X, count=12).counts == [12]
    with pytest.raises(ValueError, match="sendbuf: 12 elements, expected 5"):
        send(X, count=5)


# -- layouts


def layouts() -> dict[str, np.ndarray]:
    """Arrays of every layout, on fresh memory."""
    c = np.arange(12.0) + 1j * np.arange(12.0)
    return {
        "every other": np.arange(12.0)[::2],
        "reversed": np.arange(12.0)[::-1],
        "new axis": np.arange(12.0)[None, ::2],
        "column": np.arange(12.0).reshape(3, 4)[:, 1],
        "transposed": np.arange(12.0).reshape(3, 4).T,
        "fortran": np.asfortranarray(np.arange(12.0).reshape(3, 4)),
        "corner": np.arange(12.0).reshape(3, 4)[1:, ::-2],
        "real": c.real,
        "imag": c.reshape(3, 4).imag,
        "big-endian": np.arange(12).astype(">i4"),
        "scalar": np.arange(12.0).astype(">f8")[3:4].reshape(()),
        "record field": np.zeros(3, "i1, f8")["f1"],
    }


@pytest.mark.parametrize("layout", layouts())
def test_layouts_are_read_and_filled_in_logical_order(layout: str) -> None:
    x = layouts()[layout]
    whole = x if x.base is None else x.base
    before = whole.copy()
    buffer = recv(x)
    assert buffer.data.tolist() == [x[i] for i in np.ndindex(x.shape)]
    assert buffer.data.dtype.isnative

    assert buffer.store
    buffer.data += 100
    buffer.store()
    assert [x[i] for i in np.ndindex(x.shape)] == buffer.data.tolist()
    x[...] -= 100
    assert np.array_equal(whole, before), "something between the elements changed"


@given(st.data())
def test_any_view_survives_a_load_and_a_store(data: st.DataObject) -> None:
    shape = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=3))
    base = np.arange(np.prod(shape)).reshape(shape)
    steps = [data.draw(st.sampled_from([-2, -1, 1, 2, 3])) for _ in shape]
    axes = data.draw(st.permutations(range(len(shape))))
    x = base[tuple(slice(None, None, step) for step in steps)].transpose(axes)
    buffer = recv(x)
    assert buffer.data.tolist() == [int(x[i]) for i in np.ndindex(x.shape)]
    buffer.data[...] = -1 - buffer.data
    if buffer.store:
        buffer.store()
    assert sum(base.ravel() < 0) == x.size and (x < 0).all()


@pytest.mark.parametrize("x", [np.zeros(20)[::2], np.zeros((5, 4))[:, ::2]])
def test_a_part_of_a_strided_array_leaves_the_rest_alone(x: np.ndarray) -> None:
    buffer = recv([x, 3, 2, MPI.DOUBLE])
    buffer.data[buffer.starts[0] : buffer.starts[0] + 3] = [1, 2, 3]
    x[...] = 7  # as by a user who works on other elements meanwhile
    assert buffer.store
    buffer.store()
    assert [x[i] for i in np.ndindex(x.shape)] == [7, 7, 1, 2, 3, 7, 7, 7, 7, 7]


def test_bytes_of_a_strided_array() -> None:
    x = np.zeros(4, "i2")[::2]
    buffer = recv([x, 1, 2, MPI.BYTE])
    buffer.data[2] = 5
    assert buffer.store
    buffer.store()
    assert x.tolist() == [0, 5]


# -- what is refused


def read_only(x: np.ndarray) -> np.ndarray:
    x.flags.writeable = False
    return x


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        (None, TypeError, "got NoneType"),
        ([1.0, 2.0], TypeError, "got float"),
        ([1, 2, 3, 4, 5], TypeError, "got int"),
        ([], TypeError, "expected an array or buffer"),
        ("text", TypeError, "got str"),
        (MPI.BOTTOM, TypeError, "got BottomType"),
        ([MPI.BOTTOM, 1, MPI.INT], TypeError, "got BottomType"),
        (MPI.IN_PLACE, TypeError, "got InPlaceType"),
        (np.zeros(2, object), TypeError, "dtype object cannot be sent"),
        (np.zeros(2, "V0"), TypeError, "cannot be sent"),
        ([X], ValueError, "2 to 4 items"),
        ([X, 1, 2, MPI.INT, 3], ValueError, "2 to 4 items"),
        ([X, (1, 2, 3)], ValueError, r"expected \(counts, displacements\), got \(1, 2, 3\)"),
        ([X, 13], ValueError, "count 13 at displacement 0 takes bytes 0 to 104, but .* 96"),
        ([X, 3, 10, MPI.DOUBLE], ValueError, "count 3 at displacement 10"),
        ([X, None, 13, MPI.DOUBLE], ValueError, "displacement 13 is beyond the array's 12"),
        ([X[::2], 7], ValueError, "takes bytes 0 to 56, but the array has 48"),
        ([X, -1], ValueError, "count -1 is negative"),
        ([X, 1, -1, MPI.DOUBLE], ValueError, "displacement -1 is negative"),
        ([X, 2.0], TypeError, "expected an integer count, got 2.0"),
        ([X, "zz"], TypeError, "type code such as 'd', got 'zz'"),
        ([X, 1, 5], TypeError, "expected an MPI datatype"),
        ([X, MPI.INT], TypeError, "array of float64 does not fit MPI_INT, which is int32"),
        ([X, MPI.DATATYPE_NULL], TypeError, "the datatype is null"),
        ([bytes(12), MPI.DOUBLE], ValueError, "12 bytes are not a multiple of the 8"),
    ],
)
def test_refused(spec: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"sendbuf: .*{message}"):
        send(spec)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (read_only(np.zeros(2)), "ndarray is read-only, expected a writable array"),
        ([read_only(np.zeros(2)), MPI.DOUBLE], "ndarray is read-only"),
        (np.float64(1), "float64 is read-only"),
        (b"abc", "bytes is read-only"),
        (memoryview(b"abc"), "memoryview is read-only"),
        (np.broadcast_to(X, (2, 12)), "read-only"),
        (np.ndarray((3,), "f8", np.zeros(1).data, 0, (0,)), "several elements in one place"),
    ],
)
def test_refused_to_receive_into(spec: object, message: str) -> None:
    assert send(spec).data.size
    with pytest.raises(ValueError, match=f"recvbuf: .*{message}"):
        recv(spec)


@pytest.mark.parametrize(
    ("dtype", "datatype", "fits"),
    [
        ("f8", MPI.DOUBLE, True),
        ("f8", MPI.BYTE, True),
        ("u1", MPI.DOUBLE, True),
        ("V8", MPI.DOUBLE, True),
        ("i8", MPI.UNSIGNED_LONG, True),
        ("M8[s]", MPI.INT64_T, True),
        ("c16", MPI.DOUBLE, True),
        ("f4", MPI.C_FLOAT_COMPLEX, True),
        ("f8, f8", MPI.DOUBLE, True),
        ("i4", MPI.INT_INT, True),
        ("U2", MPI.WCHAR, True),
        ("f8", MPI.INT64_T, False),
        ("i8", MPI.INT, False),
        ("c16", MPI.FLOAT, False),
        ("f8, i4", MPI.DOUBLE_INT, False),  # 12 bytes, no padding
        ("f4", MPI.FLOAT_INT, False),
    ],
)
def test_which_dtypes_fit_which_datatype(dtype: str, datatype: MPI.Datatype, fits: bool) -> None:
    x = np.zeros(8, dtype)
    if fits:
        assert send([x, datatype]).data.nbytes == x.nbytes
    else:
        with pytest.raises(TypeError, match="does not fit"):
            send([x, datatype])


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
    short = per_rank_w([x, types], 3, name="buf", writable=True)
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


Commit = Callable[[MPI.Datatype], MPI.Datatype]


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


def blocks_of(buffer: Buffer, dtype: str) -> list[list[Any]]:
    pairs = zip(buffer.starts, buffer.counts, strict=True)
    return [buffer.data[start : start + count].view(dtype).tolist() for start, count in pairs]


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


# -- bytes and overlaps


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
