"""Buffers: every form of one vector that mpi4py takes, every layout, and what is refused."""

from __future__ import annotations

import array

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpi4py import MPI
from specs import X, blocks, recv, send

from mpicoll.transport.buffers import per_rank_v, vector

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
