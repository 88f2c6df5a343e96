"""MINLOC and MAXLOC: the extreme value and the smallest index that has it (MPI 4.1, 6.9.4)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .datatypes import Array


def is_pair(dtype: np.dtype[Any]) -> bool:
    """Whether a dtype is a record of a real value and an integer index, of any field names."""
    fields = list((dtype.fields or {}).values())
    return len(fields) == 2 and fields[0][0].kind in "?biuf" and fields[1][0].kind in "iu"


def minloc(left: Array, right: Array, out: Array) -> None:
    """The pair of the smaller value; of equal values, the smaller index; a NaN is the smallest."""
    value, index = _names(left)
    _pick(left, right, out, right[value] < left[value], value, index)


def maxloc(left: Array, right: Array, out: Array) -> None:
    """The pair of the larger value; of equal values, the smaller index; a NaN is the largest."""
    value, index = _names(left)
    _pick(left, right, out, right[value] > left[value], value, index)


def _pick(left: Array, right: Array, out: Array, beats: Array, value: str, index: str) -> None:
    """Set out to right where it beats left, or ties and has the smaller index, and else to left.

    A NaN beats a number and ties with a NaN.  Out may be either of the two.
    """
    left_nan, right_nan = left[value] != left[value], right[value] != right[value]
    ties = (left[value] == right[value]) | (left_nan & right_nan)
    chosen = (beats | right_nan) & ~left_nan | ties & (right[index] < left[index])
    np.copyto(out, right, where=chosen)
    np.copyto(out, left, where=~chosen)


def _names(pairs: Array) -> tuple[str, str]:
    value, index = pairs.dtype.names or ("", "")
    return value, index
