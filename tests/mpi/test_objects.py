"""The lower-case methods: any Python object, by the same schedules."""

from __future__ import annotations

from typing import Any

import pytest
from mpi4py import MPI

import mpicoll
from mpicoll.schedule import find, serving

pytestmark = pytest.mark.mpi

SIZE = MPI.COMM_WORLD.size
ROOTS = sorted({0, SIZE // 2, SIZE - 1})
ROOTED = pytest.mark.parametrize("root", ROOTS)


def thing(rank: int) -> dict[str, Any]:
    """An object whose pickled size differs from rank to rank."""
    return {"rank": rank, "text": "x" * (rank * rank), "nested": [rank] * (rank % 3)}


def names(collective: str) -> list[str | None]:
    """The automatic choice and each algorithm that serves objects, whose sizes differ."""
    return [None, *(entry.name for entry in serving(collective, SIZE, equal_counts=False))]


def cuts(name: str | None) -> bool:
    """Whether a broadcast cuts its vector."""
    return name is not None and find("bcast", name).block_count(SIZE) > 1


def in_order(collective: str) -> list[str | None]:
    """The automatic choice and each algorithm that combines whole objects in rank order."""
    entries = serving(collective, SIZE, commuting=False)
    return [None, *(entry.name for entry in entries if entry.block_count(SIZE) == 1)]


@ROOTED
@pytest.mark.parametrize("name", names("bcast"))
def test_bcast(comm: Any, name: str | None, root: int) -> None:
    mine = thing(root) if comm.rank == root else None
    if cuts(name):
        with pytest.raises(mpicoll.Unserved, match="cannot be cut"):
            comm.bcast(mine, root=root, algorithm=name)
    else:
        assert comm.bcast(mine, root=root, algorithm=name) == thing(root)


@ROOTED
@pytest.mark.parametrize("name", names("scatter"))
def test_scatter(comm: Any, name: str | None, root: int) -> None:
    mine = [thing(rank) for rank in range(SIZE)] if comm.rank == root else None
    assert comm.scatter(mine, root=root, algorithm=name) == thing(comm.rank)


@ROOTED
@pytest.mark.parametrize("name", names("gather"))
def test_gather(comm: Any, name: str | None, root: int) -> None:
    got = comm.gather(thing(comm.rank), root=root, algorithm=name)
    assert got == ([thing(rank) for rank in range(SIZE)] if comm.rank == root else None)


@pytest.mark.parametrize("name", names("allgather"))
def test_allgather(comm: Any, name: str | None) -> None:
    got = comm.allgather(thing(comm.rank), algorithm=name)
    assert got == [thing(rank) for rank in range(SIZE)]


@pytest.mark.parametrize("name", names("alltoall"))
def test_alltoall(comm: Any, name: str | None) -> None:
    got = comm.alltoall([(comm.rank, thing(peer)) for peer in range(SIZE)], algorithm=name)
    assert got == [(peer, thing(comm.rank)) for peer in range(SIZE)]


@ROOTED
@pytest.mark.parametrize("name", in_order("reduce"))
def test_reduce_joins_in_rank_order(comm: Any, name: str | None, root: int) -> None:
    got = comm.reduce([comm.rank], op=lambda left, right: left + right, root=root, algorithm=name)
    assert got == (list(range(SIZE)) if comm.rank == root else None)


@pytest.mark.parametrize("name", in_order("allreduce"))
def test_allreduce_joins_in_rank_order(comm: Any, name: str | None) -> None:
    assert comm.allreduce(str(comm.rank), op=MPI.SUM, algorithm=name) == "01234567"[:SIZE]
    assert comm.allreduce(comm.rank + 1, algorithm=name) == SIZE * (SIZE + 1) // 2
    assert comm.allreduce(comm.rank, op=MPI.MAX, algorithm=name) == SIZE - 1


@pytest.mark.parametrize("name", in_order("scan"))
def test_scan_joins_in_rank_order(comm: Any, name: str | None) -> None:
    assert comm.scan(str(comm.rank), algorithm=name) == "01234567"[: comm.rank + 1]


@pytest.mark.parametrize("name", in_order("exscan"))
def test_exscan_joins_in_rank_order(comm: Any, name: str | None) -> None:
    before = "01234567"[: comm.rank] if comm.rank else None
    assert comm.exscan(str(comm.rank), algorithm=name) == before


@pytest.mark.parametrize("name", names("barrier"))
def test_barrier(comm: Any, name: str | None) -> None:
    comm.barrier(algorithm=name)


@pytest.mark.parametrize("op", [None, "SUM", MPI.OP_NULL, 3], ids=["none", "str", "null", "int"])
def test_what_combines_nothing_is_refused_on_every_rank(comm: Any, op: Any) -> None:
    for method in (comm.reduce, comm.allreduce, comm.scan, comm.exscan):
        with pytest.raises(TypeError, match="op: "):
            method(comm.rank, op=op)


def test_an_mpi_operator_of_one_s_own_is_refused_on_every_rank(comm: Any) -> None:
    op = MPI.Op.Create(lambda left, right, datatype: None)
    with pytest.raises(TypeError, match="pass its function"):
        comm.reduce(comm.rank, op=op)
    op.Free()


def test_a_scatter_of_too_few_objects_is_an_error(comm: Any) -> None:
    if SIZE > 1:
        pytest.skip("only the root can see it, and the others would wait: run on 1 rank")
    with pytest.raises(ValueError):
        comm.scatter([1, 2])
