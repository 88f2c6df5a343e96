"""Memory layouts and buffer specs: the right data in the caller's own memory, or a clear error."""

from __future__ import annotations

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
