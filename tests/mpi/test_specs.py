"""What may be passed as a buffer, and what is refused before the first message, on every rank."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
import pytest
from guarded import Guarded, poison
from mpi4py import MPI

import mpicoll

pytestmark = pytest.mark.mpi

SIZE = MPI.COMM_WORLD.size
TRIANGLE = SIZE * (SIZE - 1) // 2


def test_a_read_only_send_buffer_works(comm: Any) -> None:
    send = np.arange(4.0)
    send.flags.writeable = False
    got = np.empty(4)
    comm.Allreduce(send, got)
    np.testing.assert_array_equal(got, SIZE * np.arange(4.0))


def test_zero_dimensional_arrays_and_scalars(comm: Any) -> None:
    got = np.empty(())
    comm.Allreduce(np.array(2.0), got)
    assert got == 2 * SIZE
    comm.Allreduce(np.float64(3.0), got)
    assert got == 3 * SIZE


def read_only() -> np.ndarray:
    data = np.zeros(4)
    data.flags.writeable = False
    return data


@pytest.mark.parametrize(
    ("recv", "error"),
    [
        (np.float64(0), (TypeError, ValueError)),
        (read_only(), (TypeError, ValueError)),
        (bytes(32), (TypeError, ValueError)),
        ([0.0, 0.0, 0.0, 0.0], TypeError),
        (None, TypeError),
        (np.zeros(4, object), TypeError),
        (np.zeros(3), ValueError),
        ([np.zeros(4), 5, MPI.DOUBLE], ValueError),
        ([np.zeros(4), -1, MPI.DOUBLE], ValueError),
    ],
    ids=["scalar", "read_only", "bytes", "list", "none", "object", "short", "beyond", "negative"],
)
def test_what_cannot_receive_is_refused_on_every_rank(comm: Any, recv: Any, error: Any) -> None:
    for method in (comm.Allreduce, comm.Iallreduce, comm.Allreduce_init):
        with pytest.raises(error, match="recv"):
            method(np.ones(4), recv)


def test_no_float_fits_into_an_integer(comm: Any) -> None:
    target = Guarded(np.zeros(4, "i8"))
    with pytest.raises((TypeError, ValueError)):
        comm.Allreduce(np.ones(4), target.array)
    assert target.unchanged


@pytest.mark.parametrize("root", [-1, SIZE, 10**6])
def test_a_root_that_is_no_rank(comm: Any, root: int) -> None:
    target = Guarded(np.zeros(4))
    with pytest.raises(ValueError, match="root"):
        comm.Bcast(target.array, root=root)
    assert target.unchanged


@pytest.mark.parametrize(
    ("counts", "error", "message"),
    [
        ([1] * (SIZE + 1), ValueError, f"expected {SIZE} counts, one a rank, got {SIZE + 1}"),
        ([-1] * SIZE, ValueError, "count -1 is negative"),
        ([1.5] * SIZE, TypeError, "expected an integer count, got 1.5"),
    ],
)
def test_counts_that_cannot_be(comm: Any, counts: Any, error: Any, message: str) -> None:
    target = Guarded(poison(1))
    with pytest.raises(error, match=f"recvcounts: {message}"):
        comm.Reduce_scatter(np.zeros(SIZE, "i8"), target.array, counts)
    assert target.unchanged


@pytest.mark.parametrize("root", [None, 0.0, "0"])
def test_a_root_that_is_no_integer(comm: Any, root: Any) -> None:
    target = Guarded(np.zeros(4))
    for call in (comm.Bcast, comm.Ibcast, comm.bcast):
        with pytest.raises(TypeError, match="root"):
            call(target.array, root=root)
    assert target.unchanged


def test_unknown_names_list_the_choices(comm: Any) -> None:
    with pytest.raises(mpicoll.UnknownName, match="ring"):
        comm.Allreduce(np.ones(4), np.ones(4), algorithm="rign")


@pytest.mark.mpi(min_size=3)
def test_a_number_of_ranks_that_is_not_served_is_refused(comm: Any) -> None:
    if SIZE & (SIZE - 1) == 0:
        pytest.skip("a power of two of ranks is served: run on 3, 5 or 7")
    target = Guarded(poison(SIZE))
    with pytest.raises(mpicoll.Unserved, match="power of two"):
        comm.Allgather(np.array([1]), target.array, algorithm="recursive_doubling")
    assert target.unchanged


def specs(data: np.ndarray) -> list[Any]:
    """The ways to say: these 6 doubles."""
    return [
        data,
        [data, MPI.DOUBLE],
        [data, 6],
        [data, 6, MPI.DOUBLE],
        (data, 6, MPI.DOUBLE),
        [data, "d"],
        [data, 6, "d"],
        memoryview(data),
    ]


@pytest.mark.parametrize("form", range(8))
def test_buffer_specs(comm: Any, form: int) -> None:
    send, recv = Guarded(comm.rank + np.arange(6.0)), Guarded(poison(6, "f8"))
    comm.Allreduce(specs(send.array)[form], specs(recv.array)[form])
    np.testing.assert_array_equal(recv.array, TRIANGLE + SIZE * np.arange(6.0))
    assert send.unchanged and recv.intact


def test_other_kinds_of_memory(comm: Any) -> None:
    text = bytearray(b"ranks" if comm.rank == 0 else b".....")
    comm.Bcast(text)
    assert text == b"ranks"
    numbers = array("d", [comm.rank, 1.0])
    got = array("d", [0.0, 0.0])
    comm.Allreduce(numbers, got)
    assert got.tolist() == [TRIANGLE, SIZE]
    whole = bytearray(2 * SIZE)
    comm.Allgather(bytes([comm.rank, 7]), whole)
    assert list(whole) == [byte for rank in range(SIZE) for byte in (rank, 7)]


def test_a_derived_datatype(comm: Any) -> None:
    column = MPI.DOUBLE.Create_vector(4, 1, 3).Commit()
    matrix = np.full((4, 3), -1.0)
    if comm.rank == 0:
        matrix[:, 0] = [1, 2, 3, 4]
    comm.Bcast([matrix, 1, column])
    column.Free()
    assert matrix[:, 0].tolist() == [1, 2, 3, 4]
    assert (matrix[:, 1:] == -1).all()


@pytest.mark.parametrize("dtype", ["b", "i2", "u4", "f4", "c16", ">f8", "S3", "?"])
def test_any_dtype_moves(comm: Any, dtype: str) -> None:
    mine = np.array([comm.rank, 1, 0]).astype(dtype)
    got = np.zeros(3 * SIZE, dtype)
    comm.Allgather(mine, got)
    expected = [np.array([rank, 1, 0]).astype(dtype) for rank in range(SIZE)]
    np.testing.assert_array_equal(got, np.concatenate(expected))
