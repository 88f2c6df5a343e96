"""What a case of a collective is: the call and its numbers, the same on every rank.

Counts are in elements, sizes in bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np

from ..schedule import CONTRACTS, Algorithm, Contract, Cut, UnknownName, even_blocks
from .patterns import DTYPES, OPERATIONS

AUTO = "auto"
"""The name of what the communicator chooses by itself, where an algorithm is named."""

METHODS = {
    "barrier": ("Barrier",),
    "bcast": ("Bcast",),
    "scatter": ("Scatter", "Scatterv"),
    "gather": ("Gather", "Gatherv"),
    "allgather": ("Allgather", "Allgatherv"),
    "reduce": ("Reduce",),
    "allreduce": ("Allreduce",),
    "reduce_scatter": ("Reduce_scatter_block", "Reduce_scatter"),
    "alltoall": ("Alltoall", "Alltoallv", "Alltoallw"),
    "scan": ("Scan",),
    "exscan": ("Exscan",),
}
"""The MPI methods of each collective; where there are several, the first needs equal counts."""


@dataclass(frozen=True)
class Case:
    """One case of one collective, the same on every rank.

    ``counts``: elements of each block: one block for a vector, one a rank, or one an ordered pair
    of ranks, as the collective's contract cuts its data.
    """

    collective: str
    method: str
    counts: tuple[int, ...]
    dtype: str = "float32"
    op: str = "sum"
    root: int = 0
    in_place: bool = False

    def __post_init__(self) -> None:
        for kind, name, choices in (
            ("collective", self.collective, tuple(CONTRACTS)),
            (f"method of {self.collective}", self.method, METHODS.get(self.collective, ())),
            ("dtype", self.dtype, DTYPES),
            ("operator", self.op, tuple(OPERATIONS)),
        ):
            if name not in choices:
                raise UnknownName(kind, name, choices)
        if self.contract.reduces and not OPERATIONS[self.op].serves(self.dtype):
            raise TypeError(f"operator {self.op!r} has no meaning for dtype {self.dtype!r}")

    @property
    def contract(self) -> Contract:
        """What the collective promises."""
        return CONTRACTS[self.collective]

    @property
    def operates(self) -> bool:
        """Whether the collective combines data by the operator."""
        return self.contract.operates

    @property
    def equal_counts(self) -> bool:
        """Whether the method promises equal counts."""
        return self.method == METHODS[self.collective][0]

    @property
    def commutes(self) -> bool:
        """Whether nothing depends on an order of the ranks."""
        return not self.operates or OPERATIONS[self.op].commutes

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return np.dtype(self.dtype).itemsize

    @cached_property
    def count(self) -> int:
        """The elements of the size column: the vector, all blocks, or all that one rank sends."""
        return sum(self.counts) // (self.ranks if self.contract.cut is Cut.PAIR else 1)

    @property
    def ranks(self) -> int:
        """The number of ranks that the counts are for; 1 for a vector, which serves any."""
        number = len(self.counts)
        return int(number**0.5) if self.contract.cut is Cut.PAIR else number

    @property
    def nbytes(self) -> int:
        """The bytes of the size column."""
        return self.count * self.itemsize

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Where each block starts in the whole vector, in elements."""
        return tuple(accumulate(self.counts, initial=0))[:-1]

    @property
    def distrust(self) -> str | None:
        """Why the vendor's own result cannot be held to NumPy's, or None where it can."""
        small = np.dtype(self.dtype).kind in "biu" and self.itemsize < 4
        reasons = (
            (self.dtype == "float16", "MPI has no float16"),
            (self.operates and self.op == "affine", "MPI has no operator affine"),
            (
                self.operates and self.dtype == "bool" and not self.op.startswith("l"),
                f"MPI's {self.op} has no meaning for bool",
            ),
            (
                self.operates and self.op in ("sum", "prod") and small,
                "each MPI library has its own result where small integers overflow",
            ),
        )
        return next((reason for holds, reason in reasons if holds), None)

    def block_bytes(
        self, algorithm: Algorithm, size: int, nodes: Sequence[int] | None = None
    ) -> list[int]:
        """The size of each of the algorithm's blocks, for ``schedule.cost``."""
        if self.contract.cut is Cut.VECTOR:
            return even_blocks(algorithm, size, self.nbytes, nodes)
        return [count * self.itemsize for count in self.counts]


def even_case(
    collective: str,
    nbytes: int,
    size: int,
    dtype: str = "float32",
    op: str = "sum",
    root: int = 0,
    in_place: bool = False,
) -> Case:
    """The case of about ``nbytes`` bytes in equal blocks, at least an element each.

    Raises ``UnknownName`` for a name that is not there, ``TypeError`` for an operator that has no
    meaning for the dtype.
    """
    if collective not in CONTRACTS:
        raise UnknownName("collective", collective, tuple(CONTRACTS))
    contract, itemsize = CONTRACTS[collective], np.dtype(dtype).itemsize
    parts = 1 if contract.cut is Cut.VECTOR else size
    count = 0 if contract.idempotent else max(1, nbytes // itemsize // parts)
    counts = (count,) * contract.blocks(size)
    in_place = in_place and can_be_in_place(collective)
    return Case(collective, METHODS[collective][0], counts, dtype, op, root, in_place)


def can_be_in_place(collective: str) -> bool:
    """Whether the collective knows ``MPI.IN_PLACE``: not with one buffer or none."""
    return collective not in ("bcast", "barrier")
