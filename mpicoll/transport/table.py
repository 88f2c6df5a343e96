"""What a compiled plan's table says: a row is one of these words, three addresses and a count.

The first row is the number of rows, the addresses of ``MPI_Startall`` and ``MPI_Waitall``, and that
of memory for as many statuses as any round has requests.
"""

from __future__ import annotations

from typing import Any

import numpy as np

START, WAIT, COPY, COMBINE = 0, 1, 2, 3
"""Start and wait for requests, copy bytes; from the last one up, an operator on a dtype."""

OPERATORS = (np.add, np.multiply, np.maximum, np.minimum)
DTYPES = tuple(map(np.dtype, ("f4", "f8", "i4", "i8")))
"""What compiled code combines: these operators on these dtypes, but for those of ``combining``."""


def combining(operator: np.ufunc | None, dtype: np.dtype[Any]) -> int | None:
    """The word for an operator on a dtype, or None where compiled code has none."""
    if operator not in OPERATORS or dtype not in DTYPES:
        return None
    if operator in (np.maximum, np.minimum) and dtype.kind == "f":
        return None  # of 0.0 and -0.0 NumPy's own loops take either, and all ranks must agree
    return COMBINE + OPERATORS.index(operator) * len(DTYPES) + DTYPES.index(dtype)
