"""Rank order: the product of M_r = [[r+1, 1], [1, 0]], which does not commute, in rank order."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI

import mpicoll
from mpicoll.schedule import serving

pytestmark = pytest.mark.mpi

SIZE = MPI.COMM_WORLD.size
ROOTS = sorted({0, SIZE // 2, SIZE - 1})


def names(collective: str) -> list[str]:
    """The algorithms that keep rank order here."""
    return [entry.name for entry in serving(collective, SIZE, commuting=False)]


PRODUCT = mpicoll.Op(lambda left, right: left @ right, element=(2, 2))
PREFIX = [[[1, 1], [1, 0]], [[3, 1], [2, 1]], [[10, 3], [7, 2]], [[43, 10], [30, 7]]]
PREFIX += [[[225, 43], [157, 30]], [[1393, 225], [972, 157]]]
PREFIX += [[[9976, 1393], [6961, 972]], [[81201, 9976], [56660, 6961]]]


def factor(rank: int, count: int) -> np.ndarray:
    return np.tile(np.array([[rank + 1, 1], [1, 0]], "i8"), (count, 1, 1))


def product(ranks: int, count: int) -> np.ndarray:
    """The product over the first ``ranks`` ranks, ``count`` times."""
    return np.tile(np.array(PREFIX[ranks - 1], "i8"), (count, 1, 1))


@pytest.mark.parametrize("count", [1, 5000])
@pytest.mark.parametrize("name", names("allreduce"))
def test_allreduce_keeps_rank_order(comm: Any, name: str, count: int) -> None:
    got = np.empty((count, 2, 2), "i8")
    comm.Allreduce(factor(comm.rank, count), got, op=PRODUCT, algorithm=name)
    np.testing.assert_array_equal(got, product(SIZE, count))
    got = factor(comm.rank, count)
    comm.Allreduce(MPI.IN_PLACE, got, op=PRODUCT, algorithm=name)
    np.testing.assert_array_equal(got, product(SIZE, count))


@pytest.mark.parametrize("count", [1, 5000])
@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize("name", names("reduce"))
def test_reduce_keeps_rank_order(comm: Any, name: str, root: int, count: int) -> None:
    got = np.full((count, 2, 2), -1, "i8")
    comm.Reduce(factor(comm.rank, count), got, op=PRODUCT, root=root, algorithm=name)
    if comm.rank == root:
        np.testing.assert_array_equal(got, product(SIZE, count))
    else:
        assert (got == -1).all()
    mine = factor(comm.rank, count)
    send, recv = (MPI.IN_PLACE, mine) if comm.rank == root else (mine, None)
    comm.Reduce(send, recv, op=PRODUCT, root=root, algorithm=name)
    np.testing.assert_array_equal(
        mine, product(SIZE, count) if comm.rank == root else factor(comm.rank, count)
    )


@pytest.mark.parametrize("name", names("scan"))
def test_scan_keeps_rank_order(comm: Any, name: str) -> None:
    got = np.empty((3, 2, 2), "i8")
    comm.Scan(factor(comm.rank, 3), got, op=PRODUCT, algorithm=name)
    np.testing.assert_array_equal(got, product(comm.rank + 1, 3))


@pytest.mark.parametrize("name", names("exscan"))
def test_exscan_keeps_rank_order(comm: Any, name: str) -> None:
    got = np.full((3, 2, 2), -1, "i8")
    comm.Exscan(factor(comm.rank, 3), got, op=PRODUCT, algorithm=name)
    expected = product(comm.rank, 3) if comm.rank else np.full((3, 2, 2), -1)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("name", names("reduce_scatter"))
def test_reduce_scatter_keeps_rank_order(comm: Any, name: str) -> None:
    got = np.empty((2, 2, 2), "i8")
    send = factor(comm.rank, 2 * SIZE)
    comm.Reduce_scatter_block(send, got, op=PRODUCT, algorithm=name)
    np.testing.assert_array_equal(got, product(SIZE, 2))


def test_a_count_that_splits_an_element_is_refused(comm: Any) -> None:
    with pytest.raises(ValueError):
        comm.Allreduce(np.zeros(5), np.zeros(5), op=PRODUCT)


def test_the_expected_products() -> None:
    matrices = [np.array([[rank + 1, 1], [1, 0]]) for rank in range(8)]
    for ranks, expected in enumerate(PREFIX, 1):
        assert reduce(np.matmul, matrices[:ranks]).tolist() == expected
