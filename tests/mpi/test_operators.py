"""Operators: rank order, sides, NaN, wrapping, logic, complex, half precision, pairs, one's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from guarded import Guarded, poison
from mpi4py import MPI

import mpicoll
from mpicoll.schedule import serving

pytestmark = pytest.mark.mpi

SIZE = MPI.COMM_WORLD.size


def names(collective: str, commuting: bool = True) -> list[str]:
    """The algorithms that serve an operator of this kind here."""
    return [entry.name for entry in serving(collective, SIZE, commuting)]


def everywhere(comm: Any, send: np.ndarray, op: Any) -> list[tuple[str, np.ndarray]]:
    """The allreduce of ``send`` in every algorithm that serves the operator."""
    results = []
    for name in names("allreduce", commuting=isinstance(op, MPI.Op)):
        source, target = Guarded(send), Guarded(poison(send.size, send.dtype))
        comm.Allreduce(source.array, target.array, op=op, algorithm=name)
        assert source.unchanged and target.intact, name
        results.append((name, target.array))
    return results


def assert_everywhere(comm: Any, send: np.ndarray, op: Any, expected: Any) -> None:
    for name, got in everywhere(comm, send, op):
        np.testing.assert_array_equal(got, np.array(expected, send.dtype), name)


@pytest.mark.parametrize(("pick", "rank"), [("left", 0), ("right", SIZE - 1)])
def test_sides(comm: Any, pick: str, rank: int) -> None:
    def op(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return left if pick == "left" else right

    mine = 100 * comm.rank + np.arange(7)
    assert_everywhere(comm, mine, op, 100 * rank + np.arange(7))


@pytest.mark.mpi(min_size=2)
@pytest.mark.parametrize("op", [mpicoll.Op(max), np.subtract, max], ids=["op", "ufunc", "callable"])
def test_an_algorithm_that_needs_commuting_refuses_what_may_not(comm: Any, op: Any) -> None:
    refusing = set(names("allreduce")) - set(names("allreduce", commuting=False))
    assert refusing
    for name in refusing:
        target = Guarded(poison(4))
        with pytest.raises(mpicoll.Unserved, match="commute"):
            comm.Allreduce(np.arange(4), target.array, op=op, algorithm=name)
        assert target.unchanged


# Values


@pytest.mark.parametrize("n", [1, 64, 20000])
@pytest.mark.parametrize("op", [MPI.MAX, MPI.MIN], ids=["max", "min"])
def test_nan_wins_on_every_rank(comm: Any, op: MPI.Op, n: int) -> None:
    for k in range(SIZE):
        mine = np.full(n, float(comm.rank))
        mine[n // 2] = np.nan if comm.rank == k else comm.rank
        expected = np.full(n, float(SIZE - 1 if op is MPI.MAX else 0))
        expected[n // 2] = np.nan
        assert_everywhere(comm, mine, op, expected)


@pytest.mark.mpi(min_size=2)
@pytest.mark.parametrize("n", [1, 7, 8, 15, 16, 31, 32, 33, 64])
def test_int16_wraps_at_every_count(comm: Any, n: int) -> None:
    mine = np.full(n, 16384 if comm.rank < 2 else 0, "i2")
    assert_everywhere(comm, mine, MPI.SUM, np.full(n, -32768))


@pytest.mark.mpi(min_size=3)
@pytest.mark.parametrize(("dtype", "value", "sum_of_three"), [("i1", 100, 44), ("u1", 200, 88)])
def test_bytes_wrap(comm: Any, dtype: str, value: int, sum_of_three: int) -> None:
    mine = np.full(40, value if comm.rank < 3 else 0, dtype)
    assert_everywhere(comm, mine, MPI.SUM, np.full(40, sum_of_three))


@pytest.mark.parametrize(
    ("op", "one_rank", "more_ranks"),
    [
        (MPI.LAND, [True, True, False], [False, True, False]),
        (MPI.LOR, [True, True, False], [True, True, False]),
        (MPI.LXOR, [True, True, False], [True, SIZE % 2 == 1, False]),
        (MPI.SUM, [True, True, False], [True, True, False]),
    ],
    ids=["land", "lor", "lxor", "sum"],
)
def test_logic(comm: Any, op: MPI.Op, one_rank: list[bool], more_ranks: list[bool]) -> None:
    mine = np.array([comm.rank == 0, True, False])
    assert_everywhere(comm, mine, op, one_rank if SIZE == 1 else more_ranks)


@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_complex_sums_and_products(comm: Any, dtype: str) -> None:
    mine = np.array([comm.rank + 1j], dtype)
    assert_everywhere(comm, mine, MPI.SUM, [SIZE * (SIZE - 1) / 2 + SIZE * 1j])
    products = [1j, -1 + 1j, -3 + 1j, -10, -40 - 10j, -190 - 90j, -1050 - 730j, -6620 - 6160j]
    assert_everywhere(comm, mine, MPI.PROD, [products[SIZE - 1]])


@pytest.mark.parametrize(
    ("op", "dtype"),
    [(MPI.MAX, "c16"), (MPI.BAND, "c16"), (MPI.BAND, "f8"), (MPI.BXOR, "f4"), (MPI.SUM, "M8[s]")],
)
def test_no_meaning_is_a_type_error_before_any_message(comm: Any, op: MPI.Op, dtype: str) -> None:
    target = Guarded(np.zeros(3, dtype))
    with pytest.raises(TypeError):
        comm.Allreduce(np.zeros(3, dtype), target.array, op=op)
    assert target.unchanged


def test_half_precision_rounds_after_each_addition(comm: Any) -> None:
    exact = np.full(9, 0.25 * (comm.rank + 1), "f2")
    assert_everywhere(comm, exact, MPI.SUM, np.full(9, 0.125 * SIZE * (SIZE + 1)))
    lost = np.full(9, 2048 if comm.rank == 0 else 0.5, "f2")
    for name, got in everywhere(comm, lost, MPI.SUM):
        bits = comm.vendor.allgather(got.tobytes())
        assert len(set(bits)) == 1, f"{name}: ranks differ"
        assert 2048 <= got[0] <= 2048 + SIZE, name


def test_bfloat16_sums(comm: Any) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="pip install ml-dtypes")
    mine = np.full(9, 0.25 * (comm.rank + 1), ml_dtypes.bfloat16)
    assert_everywhere(comm, mine, MPI.SUM, np.full(9, 0.125 * SIZE * (SIZE + 1)))


@pytest.mark.parametrize(("op", "value"), [(MPI.MINLOC, -1.0), (MPI.MAXLOC, 5.0)])
def test_pairs_take_the_lowest_rank_of_a_tie(comm: Any, op: MPI.Op, value: float) -> None:
    first = SIZE // 2
    mine = np.zeros(2, np.dtype([("value", "f8"), ("index", "i4")], align=True))
    mine["value"], mine["index"] = (value if comm.rank >= first else 2.0), comm.rank
    for name in names("allreduce"):
        got = np.zeros_like(mine)
        comm.Allreduce([mine, MPI.DOUBLE_INT], [got, MPI.DOUBLE_INT], op=op, algorithm=name)
        assert got.tolist() == [(value, first)] * 2, name


# One's own operators


def test_a_user_mpi_op_that_does_not_commute(comm: Any) -> None:
    def left(incoming: Any, mine: Any, datatype: MPI.Datatype) -> None:
        mine[:] = incoming

    op = MPI.Op.Create(left, commute=False)
    for name in names("allreduce", commuting=False):
        got = np.zeros(3, "i8")
        comm.Allreduce(100 * comm.rank + np.arange(3), got, op=op, algorithm=name)
        assert got.tolist() == [0, 1, 2], name
    op.Free()


@pytest.mark.parametrize("op", [np.hypot, mpicoll.Op(np.hypot, commute=True)], ids=["ufunc", "op"])
def test_hypot(comm: Any, op: Any) -> None:
    for name in names("allreduce"):
        got = np.zeros(6)
        comm.Allreduce(np.full(6, 3.0), got, op=op, algorithm=name)
        np.testing.assert_allclose(got, np.full(6, 3 * SIZE**0.5), rtol=1e-14, err_msg=name)


def test_a_callable_may_write_its_result_into_the_second_operand(comm: Any) -> None:
    def maximum(left: np.ndarray, right: np.ndarray) -> None:
        np.maximum(left, right, out=right)

    assert_everywhere(comm, np.array([comm.rank, -comm.rank]), maximum, [SIZE - 1, 0])


@pytest.mark.mpi(min_size=2)
def test_a_wrong_shape_from_a_callable_is_an_error(comm: Any) -> None:
    def half(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return left[:2]

    with pytest.raises(ValueError):  # in an algorithm in which every rank combines
        comm.Allreduce(np.ones(4), np.ones(4), op=half, algorithm="allgather_reduce")


def test_more_operators_than_a_vendor_allows(comm: Any) -> None:
    got = np.zeros(1, "i8")
    for k in range(300):
        choose = np.maximum if k % 2 else np.minimum
        comm.Allreduce(
            np.array([k + comm.rank]), got, op=lambda *pair, choose=choose: choose(*pair)
        )
        assert got[0] == (k + SIZE - 1 if k % 2 else k)


# Worked cases of the reductions


@pytest.mark.parametrize("name", names("reduce"))
def test_reduce_at_each_root(comm: Any, name: str) -> None:
    for root in range(SIZE):
        target = Guarded(poison(2))
        mine = np.array([comm.rank, comm.rank**2])
        comm.Reduce(mine, target.array, op=MPI.SUM, root=root, algorithm=name)
        if comm.rank == root:
            squares = [0, 1, 5, 14, 30, 55, 91, 140]
            assert target.array.tolist() == [SIZE * (SIZE - 1) // 2, squares[SIZE - 1]]
        else:
            assert target.unchanged


@pytest.mark.parametrize("name", names("exscan"))
def test_exscan_leaves_rank_0_alone(comm: Any, name: str) -> None:
    target = Guarded(poison(1))
    comm.Exscan(np.array([comm.rank + 10]), target.array, op=MPI.MIN, algorithm=name)
    assert target.unchanged if comm.rank == 0 else target.array[0] == 10


@pytest.mark.parametrize("name", names("reduce_scatter"))
def test_one_element_for_many_ranks(comm: Any, name: str) -> None:
    counts = [1] + [0] * (SIZE - 1)
    target = Guarded(poison(counts[comm.rank]))
    mine = np.array([comm.rank + 1])
    comm.Reduce_scatter(mine, target.array, counts, op=MPI.SUM, algorithm=name)
    assert target.intact
    assert target.array.tolist() == ([SIZE * (SIZE + 1) // 2] if comm.rank == 0 else [])
