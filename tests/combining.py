"""What the tests of operators share."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpicoll.transport.buffers import Buffer, vector
from mpicoll.transport.operators import operator


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
