"""Operators of users: MPI.Op.Create, ufuncs and Python callables, in one process."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import Any

import numpy as np
import pytest
from combining import buffer, combine
from mpi4py import MPI

from mpicoll.transport.buffers import per_rank
from mpicoll.transport.operators import Op, Operator, operator

nan = float("nan")

# -- users' MPI.Op


@pytest.fixture
def first_minus_second() -> Iterator[MPI.Op]:
    """A user's operator on float64: left - right."""

    def function(inbuf: MPI.buffer, inoutbuf: MPI.buffer, datatype: MPI.Datatype) -> None:
        into = np.frombuffer(inoutbuf, "f8")
        into[...] = np.frombuffer(inbuf, "f8") - into

    op = MPI.Op.Create(function, commute=False)
    yield op
    op.Free()


def test_a_users_mpi_op(first_minus_second: MPI.Op) -> None:
    assert combine(first_minus_second, [10.0, 20.0], [1.0, 2.0]).tolist() == [9, 18]
    assert not operator(first_minus_second, buffer(np.zeros(2))).commutes


def test_a_users_mpi_op_gets_whole_elements() -> None:
    sizes: list[int] = []

    def function(inbuf: MPI.buffer, inoutbuf: MPI.buffer, datatype: MPI.Datatype) -> None:
        sizes.append(datatype.Get_size())
        a, b = (np.frombuffer(x, "f8").reshape(-1, 2, 2) for x in (inbuf, inoutbuf))
        b[...] = a @ b

    op, matrix = MPI.Op.Create(function, commute=False), MPI.DOUBLE.Create_contiguous(4).Commit()
    got = combine(op, [1.0, 1, 1, 0], [2.0, 1, 1, 0], kind=matrix)
    assert got.tolist() == [3, 1, 2, 1]
    assert operator(op, buffer([np.zeros(8), matrix])).granule == 4
    assert sizes == [32, 32, 32]
    matrix.Free()
    op.Free()


def test_a_users_mpi_op_on_a_dtype_that_mpi_does_not_know() -> None:
    def function(inbuf: MPI.buffer, inoutbuf: MPI.buffer, datatype: MPI.Datatype) -> None:
        into = np.frombuffer(inoutbuf, "f8, i4")
        into["f0"] += np.frombuffer(inbuf, "f8, i4")["f0"]

    op = MPI.Op.Create(function, commute=True)
    assert combine(op, [(1, 5)] * 3, [(2, 6)] * 3, "f8, i4").tolist() == [(3, 6)] * 3
    assert operator(op, buffer(np.zeros(1, "f8, i4"))).commutes
    op.Free()


def test_a_users_mpi_op_on_records_with_gaps() -> None:
    dtype = np.dtype([("count", "i4"), ("sum", "f8")], align=True)

    def function(inbuf: MPI.buffer, inoutbuf: MPI.buffer, datatype: MPI.Datatype) -> None:
        a, b = np.frombuffer(inbuf, dtype), np.frombuffer(inoutbuf, dtype)
        b["count"] += a["count"]
        b["sum"] = a["sum"] - b["sum"]

    op = MPI.Op.Create(function, commute=False)
    record = MPI.Datatype.Create_struct([1, 1], [0, 8], [MPI.INT, MPI.DOUBLE]).Commit()
    x, y = np.array([(1, 5.0), (2, 7.0)], dtype), np.array([(10, 1.0), (20, 2.0)], dtype)
    left, right = buffer([x, record]), buffer([y, record])
    found = operator(op, left)
    record.Free()  # as MPI lets users do while the call is under way
    assert (found.granule, found.commutes) == (12, False)
    for part in (left, right):
        assert part.load
        part.load()
    found.combine(left.data, right.data, right.data[:])
    assert right.store
    right.store()
    assert y.tolist() == [(11, 4.0), (22, 5.0)]
    op.Free()


# -- ufuncs


@pytest.mark.parametrize(
    ("ufunc", "dtype", "left", "right", "expected", "commutes"),
    [
        (np.add, "f8", 1, 2, 3, True),
        (np.maximum, "f4", 1, nan, nan, True),
        (np.fmax, "f4", 1, nan, 1, True),
        (np.minimum, "i4", 1, 2, 1, True),
        (np.hypot, "f8", 3, 4, 5, True),
        (np.gcd, "i4", 12, 18, 6, True),
        (np.lcm, "i4", 12, 18, 36, True),
        (np.logaddexp2, "f8", 3, 3, 4, True),
        (np.logical_and, "f8", 2, 3, 1, True),
        (np.bitwise_xor, "u1", 12, 10, 6, True),
        (np.subtract, "i4", 12, 10, 2, False),
        (np.true_divide, "f4", 12, 8, 1.5, False),
        (np.copysign, "f4", 3, -1, -3, False),
        (np.greater, "i4", 3, 1, 1, False),
    ],
)
def test_ufuncs(
    ufunc: np.ufunc, dtype: str, left: float, right: float, expected: float, commutes: bool
) -> None:
    found = operator(ufunc, buffer(np.zeros(1, dtype)))
    assert (found.name, found.commutes, found.granule) == (ufunc.__name__, commutes, 1)
    np.testing.assert_array_equal(combine(ufunc, [left], [right], dtype), [expected])


# -- callables


def test_sides() -> None:
    ranks = [np.array([r, -r]) for r in range(5)]
    for side, expected in ((lambda a, b: a, [0, 0]), (lambda a, b: b, [4, -4])):
        found = operator(side, buffer(ranks[0]))
        assert not found.commutes
        assert fold(found, ranks).tolist() == expected


def fold(found: Operator, values: list[np.ndarray]) -> np.ndarray:
    def step(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        out = np.empty_like(left)
        found.combine(left, right, out)
        return out

    return reduce(step, values)


def in_place_matmul(a: np.ndarray, b: np.ndarray) -> None:
    b[...] = a @ b


@pytest.mark.parametrize("function", [lambda a, b: a @ b, in_place_matmul, np.matmul])
@pytest.mark.parametrize("count", [1, 5000])
def test_a_matrix_product_in_rank_order(function: Any, count: int) -> None:
    ranks = [np.tile(np.array([r + 1, 1, 1, 0]), count) for r in range(5)]
    found = operator(Op(function, element=(2, 2)), buffer(ranks[0]))
    assert found.granule == 4
    expected = np.tile([225, 43, 157, 30], count)
    np.testing.assert_array_equal(fold(found, ranks), expected)


def test_what_a_callable_gets() -> None:
    seen: list[Any] = []

    def look(a: np.ndarray, b: np.ndarray) -> None:
        seen.append((a.shape, b.shape, a.flags.writeable, b.flags.writeable, a.dtype))

    assert combine(Op(look, element=(3,)), np.arange(6), np.arange(6) + 1).tolist() == [
        *range(1, 7)
    ]
    assert seen == [((2, 3), (2, 3), False, True, np.int64)] * 3
    operator(look, buffer(np.zeros(0))).combine(np.zeros(0), np.zeros(0), np.zeros(0))
    assert len(seen) == 3, "called with nothing to combine"


def test_ops_names_and_options() -> None:
    x = buffer(np.zeros(4))
    assert operator(Op(np.add, commute=True), x).commutes
    assert operator(Op(fold), x).name == "fold"
    assert operator(Op(fold, name="product"), x).name == "product"
    with pytest.raises(TypeError, match="op: expected a callable"):
        Op(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="element: expected positive integers"):
        Op(fold, element=(0, 2))


def test_elements_must_divide_every_count() -> None:
    matrix = Op(np.matmul, element=(2, 2))
    with pytest.raises(ValueError, match=r"\(2, 2\), 4 items each, .* counts \[6\]"):
        operator(matrix, buffer(np.zeros(6)))
    with pytest.raises(ValueError, match=r"counts \[6, 6\]"):
        operator(matrix, per_rank(np.zeros(12), 2, name="sendbuf", writable=False))


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (lambda a, b: a[:1], ValueError, r"op: <lambda> returned shape \(1,\), expected \(2,\)"),
        (lambda a, b: 0, ValueError, r"returned shape \(\), expected \(2,\)"),
        (lambda a, b: a / 2, TypeError, "op: <lambda> returned float64, expected int64"),
        (lambda a, b: 1 // 0, ZeroDivisionError, "zero"),
        (lambda a, b: a.__setitem__(0, 5), ValueError, "read-only"),
        (lambda a: a, TypeError, "positional argument"),
    ],
)
def test_what_goes_wrong_in_a_callable(function: Any, error: Any, message: str) -> None:
    x = np.arange(2)
    with pytest.raises(error, match=message):
        operator(function, buffer(x)).combine(x, x, np.empty_like(x))


def test_records_by_a_callable() -> None:
    def longer(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.where(a["length"] >= b["length"], a, b)

    dtype = [("word", "S5"), ("length", "i4")]
    got = combine(longer, [(b"ring", 4), (b"tree", 4)], [(b"twin", 4), (b"trees", 5)], dtype)
    assert got.tolist() == [(b"ring", 4), (b"trees", 5)]


def test_many_callables() -> None:
    x, out = np.ones(1), np.ones(1)
    for i in range(10_000):
        operator(lambda a, b, i=i: a + i * b, buffer(x)).combine(x, x, out)
    assert out.tolist() == [10_000]
