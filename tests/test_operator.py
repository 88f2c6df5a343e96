"""Operators: MPI's own, ufuncs and callables, on every dtype that they serve, in one process."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI

from mpicoll.transport.buffers import Buffer, per_rank, vector
from mpicoll.transport.operators import Op, Operator, operator

nan, inf = float("nan"), float("inf")


def buffer(spec: object) -> Buffer:
    return vector(spec, name="sendbuf", writable=False)


def combine(op: object, left: Any, right: Any, dtype: Any = None, kind: Any = None) -> np.ndarray:
    """left op right, by every way that the output may lie; the inputs stay as they are."""
    a, b = np.array(left, dtype), np.array(right, dtype)
    found = operator(op, buffer(a if kind is None else [a, kind]))
    a, b = (buffer(x if kind is None else [x, kind]).data for x in (a, b))
    a.flags.writeable = b.flags.writeable = False
    apart, over_left, over_right = np.empty_like(a), a.copy(), b.copy()
    found.combine(a, b, apart)
    found.combine(over_left, b, over_left[:])  # the same memory, another object
    found.combine(a, over_right, over_right[:])
    texts = {str(x.tolist()) for x in (apart, over_left, over_right)}
    assert len(texts) == 1, texts  # as texts, in which a NaN is equal to a NaN
    assert apart.dtype == a.dtype
    return apart


# -- MPI's own


@pytest.mark.parametrize(
    ("op", "dtype", "left", "right", "expected"),
    [
        (MPI.SUM, "i4", [1, 2], [10, 20], [11, 22]),
        (MPI.PROD, "f8", [1.5, 2], [2, 20], [3, 40]),
        (MPI.MAX, "u2", [1, 9], [5, 2], [5, 9]),
        (MPI.MIN, "f4", [1, 9], [5, 2], [1, 2]),
        (MPI.LAND, "i8", [0, 2, 0, 4], [0, 0, 3, 4], [0, 0, 0, 1]),
        (MPI.LOR, "i8", [0, 2, 0, 4], [0, 0, 3, 4], [0, 1, 1, 1]),
        (MPI.LXOR, "u1", [0, 2, 0, 4], [0, 0, 3, 4], [0, 1, 1, 0]),
        (MPI.BAND, "i4", [12], [10], [8]),
        (MPI.BOR, "i4", [12], [10], [14]),
        (MPI.BXOR, "i4", [12], [10], [6]),
        # wrapping: 2 * 16384, 3 * 100 - 256, 3 * 200 - 512
        (MPI.SUM, "i2", [16384] * 33, [16384] * 33, [-32768] * 33),
        (MPI.SUM, "i1", [-56], [100], [44]),
        (MPI.SUM, "u1", [144], [200], [88]),
        # bool: SUM and MAX are "or", PROD and MIN are "and"
        (MPI.SUM, "?", [0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 1]),
        (MPI.MAX, "?", [0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 1]),
        (MPI.PROD, "?", [0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 0, 1]),
        (MPI.MIN, "?", [0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 0, 1]),
        (MPI.LAND, "?", [1, 1, 0], [0, 1, 0], [0, 1, 0]),
        (MPI.LOR, "?", [1, 1, 0], [0, 1, 0], [1, 1, 0]),
        (MPI.LXOR, "?", [1, 1, 0], [0, 1, 0], [1, 0, 0]),
        (MPI.BXOR, "?", [1, 1, 0], [0, 1, 0], [1, 0, 0]),
        (MPI.SUM, "c16", [3 + 2j], [1 + 1j], [4 + 3j]),
        (MPI.PROD, "c8", [1 + 1j], [2 + 1j], [1 + 3j]),
        (MPI.SUM, "g", [1], [2], [3]),
        (MPI.SUM, "f2", [2048, 1], [1, 0.5], [2048, 1.5]),  # 2049 is no float16
        (MPI.MAX, "f2", [1, nan], [2, 1], [2, nan]),
    ],
)
def test_predefined(op: MPI.Op, dtype: str, left: Any, right: Any, expected: Any) -> None:
    np.testing.assert_array_equal(combine(op, left, right, dtype), np.array(expected, dtype))
    assert operator(op, buffer(np.zeros(1, dtype))).commutes


def test_sum_is_the_ufunc_itself() -> None:
    assert operator(MPI.SUM, buffer(np.zeros(1))).combine is np.add


@pytest.mark.parametrize("op", [MPI.MAX, MPI.MIN])
@pytest.mark.parametrize("n", [1, 64, 20000])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "g"])
def test_a_nan_wins_on_either_side(op: MPI.Op, n: int, dtype: str) -> None:
    numbers, one_nan = np.arange(n, dtype=dtype), np.zeros(n, dtype)
    one_nan[n // 2] = nan
    for left, right in ((numbers, one_nan), (one_nan, numbers)):
        assert np.flatnonzero(np.isnan(combine(op, left, right))).tolist() == [n // 2]


@pytest.mark.parametrize(
    ("op", "dtype", "message"),
    [
        (MPI.MAX, "c16", "MAX has no meaning for complex128; it serves: bool, integers, floating"),
        (MPI.MIN, "c8", "MIN has no meaning"),
        (MPI.BAND, "c16", "BAND has no meaning"),
        (MPI.BAND, "f8", "BAND has no meaning for float64; it serves: bool, integers, MPI.BYTE"),
        (MPI.BXOR, "f4", "BXOR has no meaning"),
        (MPI.LAND, "f8", "LAND has no meaning for float64; it serves: bool, integers"),
        (MPI.LOR, "c8", "LOR has no meaning"),
        (MPI.SUM, "M8[s]", "SUM has no meaning for datetime64"),
        (MPI.SUM, "m8[s]", "SUM has no meaning for timedelta64"),
        (MPI.SUM, "S3", "SUM has no meaning"),
        (MPI.SUM, "U3", "SUM has no meaning"),
        (MPI.SUM, "f8, i4", "SUM has no meaning"),
        (MPI.MINLOC, "f8", "MINLOC has no meaning for float64; it serves: records of a real value"),
        (MPI.MAXLOC, "c16, i4", "MAXLOC has no meaning"),
        (MPI.MAXLOC, "i4, f4", "MAXLOC has no meaning"),
        (MPI.REPLACE, "f8", "MPI.REPLACE, MPI.NO_OP and MPI.OP_NULL do not combine anything"),
        (MPI.NO_OP, "f8", "do not combine"),
        (MPI.OP_NULL, "f8", "do not combine"),
        (np.hypot, "i4", "hypot has no meaning for int32"),
        (np.true_divide, "i4", "divide has no meaning for int32"),
        (np.subtract, "?", "subtract has no meaning for bool"),
        (np.maximum, "M8[s]", "maximum has no meaning for datetime64"),
        (np.add, "f8, i4", "add has no meaning"),
        (np.matmul, "f8", "matmul does not map two numbers to one"),
        (np.negative, "f8", "negative does not map"),
        (np.divmod, "f8", "divmod does not map"),
        ("sum", "f8", "expected an MPI.Op, a ufunc, an Op or a callable f.a, b., got str"),
        (None, "f8", "got NoneType"),
    ],
)
def test_no_meaning(op: object, dtype: str, message: str) -> None:
    with pytest.raises(TypeError, match=f"op: .*{message}"):
        operator(op, buffer(np.zeros(2, dtype)))


def test_bytes_have_bits_but_are_no_numbers() -> None:
    assert combine(MPI.BAND, [0.0], [1.0], kind=MPI.BYTE).tolist() == [0] * 8
    with pytest.raises(TypeError, match="SUM has no meaning for MPI_BYTE"):
        combine(MPI.SUM, [1.0], [1.0], kind=MPI.BYTE)
    assert combine(MPI.SUM, [1], [2], "u1").tolist() == [3]


def test_bfloat16() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="pip install ml_dtypes")
    dtype = ml_dtypes.bfloat16
    assert combine(MPI.SUM, [256, 1], [1, 2], dtype).tolist() == [256, 3]  # 257 is no bfloat16
    assert str(combine(MPI.MAX, [1, nan], [nan, 2], dtype)) == "[nan nan]"
    assert combine(np.minimum, [1, 5], [3, 2], dtype).tolist() == [1, 2]
    with pytest.raises(TypeError, match="BAND has no meaning for bfloat16"):
        combine(MPI.BAND, [1], [1], dtype)
    with pytest.raises(TypeError, match="LAND has no meaning for bfloat16"):
        combine(MPI.LAND, [1], [1], dtype)


def test_contiguous_datatypes_are_combined_item_by_item() -> None:
    two = MPI.DOUBLE.Create_contiguous(2)
    assert combine(MPI.SUM, [1.0, 2.0], [3.0, 4.0], kind=two).tolist() == [4, 6]
    two.Free()


def test_derived_datatypes_with_gaps_are_refused() -> None:
    every_other = MPI.DOUBLE.Create_vector(2, 1, 2).Commit()
    part = buffer([np.zeros(3), 1, every_other])
    every_other.Free()
    for op in (MPI.SUM, MPI.MINLOC, np.add, lambda a, b: a):
        with pytest.raises(TypeError, match="derived datatype with gaps"):
            operator(op, part)


# -- MINLOC and MAXLOC


@pytest.mark.parametrize(
    "kind",
    [
        MPI.FLOAT_INT,
        MPI.DOUBLE_INT,
        MPI.LONG_INT,
        MPI.SHORT_INT,
        MPI.INT_INT,
        MPI.LONG_DOUBLE_INT,
    ],
)
def test_pairs_by_their_datatype(kind: MPI.Datatype) -> None:
    dtype = buffer([np.zeros(64, "u1"), kind]).data.dtype
    left = np.array([(5, 0), (5, 3), (7, 0)], dtype)
    right = np.array([(3, 1), (5, 1), (9, 1)], dtype)
    for op, expected in (
        (MPI.MINLOC, [(3, 1), (5, 1), (7, 0)]),
        (MPI.MAXLOC, [(5, 0), (5, 1), (9, 1)]),
    ):
        assert combine(op, left, right, kind=kind).tolist() == expected
        assert combine(op, right, left, kind=kind).tolist() == expected


def test_pairs_of_any_field_names_and_packing() -> None:
    dtype = [("loss", "f8"), ("rank", "i2")]
    got = combine(MPI.MINLOC, [(2.0, 0), (1.0, 0)], [(1.0, 1), (1.0, 1)], dtype)
    assert got.tolist() == [(1.0, 1), (1.0, 0)]


@pytest.mark.parametrize("op", [MPI.MINLOC, MPI.MAXLOC])
def test_a_nan_wins_and_the_first_of_several(op: MPI.Op) -> None:
    dtype = "f8, i4"
    left = np.array([(nan, 4), (1, 0), (nan, 4), (-inf, 0), (inf, 0)], dtype)
    right = np.array([(1, 1), (nan, 7), (nan, 2), (nan, 1), (nan, 1)], dtype)
    for got in (combine(op, left, right), combine(op, right, left)):
        assert np.isnan(got["f0"]).all()
        assert got["f1"].tolist() == [4, 7, 2, 1, 1]


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
