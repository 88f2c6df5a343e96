"""Operators: MPI's own, on every dtype that they serve, in one process."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from combining import buffer, combine
from mpi4py import MPI

from mpicoll.transport.operators import operator

nan, inf = float("nan"), float("inf")


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
