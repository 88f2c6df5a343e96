"""Memory layouts and buffer specs: the right data in the caller's own memory, or a clear error."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from guarded import Guarded, poison
from mpi4py import MPI

import mpicoll
from mpicoll.schedule import serving

pytestmark = pytest.mark.mpi

SIZE = MPI.COMM_WORLD.size
ALLREDUCE = [entry.name for entry in serving("allreduce", SIZE)]
TRIANGLE = SIZE * (SIZE - 1) // 2

LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "every_other": lambda base: base[::2],
    "column": lambda base: base[:24].reshape(6, 4)[:, 1],
    "reversed": lambda base: base[::-1],
    "transposed": lambda base: base[:24].reshape(6, 4).T,
    "fortran": lambda base: base[:24].reshape(4, 6, order="F"),
    "real": lambda base: base[:24].view("c16").real,
    "corner": lambda base: base[:25].reshape(5, 5)[1:3, 2:4],
    "no_dimension": lambda base: base[3:4].reshape(()),
}
VIEWS = pytest.mark.parametrize("view", LAYOUTS.values(), ids=LAYOUTS.keys())


def ramp(view: np.ndarray, scale: int = 1) -> np.ndarray:
    """0, 1, 2, ... in logical order, in the shape of the view."""
    return scale * np.arange(view.size, dtype="f8").reshape(view.shape)


def filled(view: Callable[[np.ndarray], np.ndarray], rank: int) -> Guarded:
    """Memory whose view holds ``100 rank + i`` in logical order, poison beside it."""
    memory = poison(40, "f8")
    part = view(memory)
    part[...] = 100 * rank + ramp(part)
    return Guarded(memory)


def outside(view: Callable[[np.ndarray], np.ndarray], memory: np.ndarray) -> np.ndarray:
    """Which elements do not belong to the view."""
    mask = np.ones(memory.size)
    view(mask)[...] = 0
    return memory[mask == 1]


@VIEWS
@pytest.mark.parametrize("name", ALLREDUCE)
def test_as_send_and_as_receive(comm: Any, view: Any, name: str) -> None:
    source, target = filled(view, comm.rank), Guarded(poison(40, "f8"))
    send, recv = view(source.array), view(target.array)
    comm.Allreduce(send, recv, algorithm=name)
    np.testing.assert_array_equal(recv, 100 * TRIANGLE + ramp(recv, SIZE))
    assert (outside(view, target.array) == -7777).all() and target.intact
    assert source.unchanged


@VIEWS
@pytest.mark.parametrize("name", ALLREDUCE)
def test_in_place(comm: Any, view: Any, name: str) -> None:
    target = filled(view, comm.rank)
    recv = view(target.array)
    comm.Allreduce(MPI.IN_PLACE, recv, algorithm=name)
    np.testing.assert_array_equal(recv, 100 * TRIANGLE + ramp(recv, SIZE))
    assert (outside(view, target.array) == -7777).all() and target.intact


@VIEWS
def test_moving_collectives(comm: Any, view: Any) -> None:
    root = SIZE - 1
    target = filled(view, root) if comm.rank == root else Guarded(poison(40, "f8"))
    recv = view(target.array)
    comm.Bcast(recv, root=root)
    np.testing.assert_array_equal(recv, 100 * root + ramp(recv))
    assert (outside(view, target.array) == -7777).all() and target.intact
    gathered = np.empty((SIZE, *recv.shape))
    comm.Allgather(view(filled(view, comm.rank).array), gathered)
    for rank in range(SIZE):
        np.testing.assert_array_equal(gathered[rank], 100 * rank + ramp(recv))


@VIEWS
def test_a_plan_reads_the_memory_at_each_start(comm: Any, view: Any) -> None:
    source, target = filled(view, comm.rank), Guarded(poison(40, "f8"))
    send, recv = view(source.array), view(target.array)
    plan = comm.Allreduce_init(send, recv)
    for turn in range(3):
        send[...] = comm.rank + turn
        plan.Start()
        plan.Wait()
        assert (recv == TRIANGLE + SIZE * turn).all()
    plan.Free()


def test_the_same_buffer_twice_means_in_place(comm: Any) -> None:
    for name in ALLREDUCE:
        data = Guarded(100 * comm.rank + np.arange(9.0))
        comm.Allreduce(data.array, data.array, algorithm=name)
        np.testing.assert_array_equal(data.array, 100 * TRIANGLE + SIZE * np.arange(9.0), name)


def test_nothing_is_nothing_to_overlap(comm: Any) -> None:
    empty = np.empty(0)
    for name in ALLREDUCE:
        comm.Allreduce(empty, empty, algorithm=name)
        comm.Allreduce(np.empty(0), np.empty(0), algorithm=name)


@pytest.mark.parametrize("shift", [1, 4])
def test_buffers_that_overlap_in_part_are_refused(comm: Any, shift: int) -> None:
    memory = Guarded(np.arange(20.0))
    with pytest.raises(ValueError, match="overlap"):
        comm.Allreduce(memory.array[:10], memory.array[shift : 10 + shift])
    assert memory.unchanged


def test_a_read_only_send_buffer_works(comm: Any) -> None:
    send = np.arange(4.0)
    send.flags.writeable = False
    got = np.empty(4)
    comm.Allreduce(send, got)
    np.testing.assert_array_equal(got, SIZE * np.arange(4.0))


@VIEWS
def test_a_read_only_send_buffer_of_any_layout_works(comm: Any, view: Any) -> None:
    source, target = filled(view, comm.rank), Guarded(poison(40, "f8"))
    send, recv = view(source.array), view(target.array)
    send.flags.writeable = False
    for name in ALLREDUCE:
        target.reset()
        comm.Allreduce(send, recv, algorithm=name)
        np.testing.assert_array_equal(recv, 100 * TRIANGLE + ramp(recv, SIZE), name)


@VIEWS
@pytest.mark.parametrize("name", mpicoll.algorithms("bcast"))
def test_the_root_of_a_broadcast_only_reads(comm: Any, view: Any, name: str) -> None:
    for root in range(SIZE):
        memory = filled(view, root) if comm.rank == root else Guarded(poison(40, "f8"))
        part = view(memory.array)
        part.flags.writeable = comm.rank != root
        comm.Bcast(part, root=root, algorithm=name)
        np.testing.assert_array_equal(part, 100 * root + ramp(part), name)
        assert comm.rank != root or memory.unchanged


def test_the_same_buffer_twice_in_a_reduce_scatter(comm: Any) -> None:
    counts = [rank % 3 for rank in range(SIZE)]
    start, count = sum(counts[: comm.rank]), counts[comm.rank]
    for entry in serving("reduce_scatter", SIZE, equal_counts=False):
        data = Guarded(100 * comm.rank + np.arange(sum(counts)))
        comm.Reduce_scatter(data.array, data.array, counts, algorithm=entry.name)
        expected = 100 * TRIANGLE + SIZE * np.arange(start, start + count)
        np.testing.assert_array_equal(data.array[:count], expected, entry.name)
        assert data.intact


def test_a_block_that_is_where_it_belongs_already(comm: Any) -> None:
    for entry in serving("scatter", SIZE, equal_counts=False):
        whole = Guarded(np.arange(2 * SIZE))
        mine = whole.array[:2] if comm.rank == 0 else poison(2)
        comm.Scatter(whole.array, mine, algorithm=entry.name)
        assert mine.tolist() == [2 * comm.rank, 2 * comm.rank + 1], entry.name
        counts = [3] + [0] * (SIZE - 1)
        three = Guarded(np.arange(3))
        recv = three.array if comm.rank == 0 else poison(0)
        comm.Scatterv([three.array, counts], recv, algorithm=entry.name)
        assert whole.unchanged and three.unchanged, entry.name
    for entry in serving("allgather", SIZE):
        whole = Guarded(np.where(np.arange(SIZE) == comm.rank, comm.rank, -1))
        comm.Allgather(whole.array[comm.rank : comm.rank + 1], whole.array, algorithm=entry.name)
        assert whole.array.tolist() == list(range(SIZE)), entry.name


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
