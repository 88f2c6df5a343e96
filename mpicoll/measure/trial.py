"""One rank's part of a case: its buffers, the call on them, and the check of what came out.

The data follow from the collective's contract: a rank sends the blocks that it starts with and
must receive the blocks that it ends with, whatever the algorithm.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np
from mpi4py import MPI

from ..schedule import Cut
from .cases import Case
from .patterns import OPERATIONS, Array, combination, contribution

POISON = 0xA5
"""The byte that fills every place where no data have been put."""

GUARD = 64
"""Bytes of poison before and after each buffer."""


class Guarded:
    """An array with poison before and after it.

    ``content`` is what the array starts with; None for poison of ``count`` elements.
    """

    def __init__(self, dtype: str, count: int, content: Array | None = None) -> None:
        nbytes = count * np.dtype(dtype).itemsize
        raw = np.empty(nbytes + 3 * GUARD, np.uint8)
        self._raw = raw[-raw.ctypes.data % GUARD :][: nbytes + 2 * GUARD]
        self.data: Array = self._raw[GUARD : GUARD + nbytes].view(dtype)
        self.content = content
        self.fill()

    def fill(self) -> None:
        """Put poison everywhere, then the content."""
        self._raw.fill(POISON)
        self.refill()

    def refill(self) -> None:
        """Put the content back."""
        if self.content is not None:
            np.copyto(self.data, self.content)

    def wrong(self, expected: Array | None = None) -> int:
        """How many elements are not as expected at the start, and guard bytes not poison.

        Without ``expected`` the elements must be the content, or all poison.
        """
        guards = np.concatenate([self._raw[:GUARD], self._raw[self._raw.size - GUARD :]])
        return int(np.count_nonzero(guards != POISON)) + self._differing(expected)

    def _differing(self, expected: Array | None) -> int:
        wanted = self.content if expected is None else expected
        if wanted is None:
            return int(np.count_nonzero(self.data.view(np.uint8) != POISON))
        return int(np.count_nonzero(self.data[: wanted.size] != wanted))


class Trial:
    """One rank's part of a case: its buffers, the call on them and the check of the result.

    Buffers are allocated and touched; ``fill`` readies them for a call whose result counts and
    ``wrong`` is the number of elements that are not as they should be afterwards.
    """

    def __init__(self, case: Case, rank: int, size: int) -> None:
        self.case, self.rank, self.size = case, rank, size
        self.send, self.receive, self.expected = _buffers(case, rank, size)
        self.arguments = _arguments(self)

    @property
    def inside(self) -> bool:
        """Whether this rank's call is in place."""
        rooted = self.case.contract.rooted
        return self.case.in_place and (not rooted or self.rank == self.case.root)

    def fill(self) -> None:
        """Put the data to send, and poison where data will arrive."""
        for buffer in self._present():
            buffer.fill()

    def refill(self) -> None:
        """Put back what a call in place consumed."""
        if self.receive is not None:
            self.receive.refill()

    def wrong(self) -> int:
        """Elements of the result that are wrong, of the sent data that changed, guards broken."""
        received = self.receive.wrong(self.expected) if self.receive is not None else 0
        return received + (self.send.wrong() if self.send is not None else 0)

    def _present(self) -> list[Guarded]:
        return [buffer for buffer in (self.send, self.receive) if buffer is not None]

    def call(self, comm: Any, prefix: str = "", suffix: str = "", **options: Any) -> Any:
        """The bound call: ``prefix="I"`` for non-blocking, ``suffix="_init"`` for persistent."""
        method = self.case.method
        name = prefix + (method.lower() if prefix else method) + suffix
        return partial(getattr(comm, name), *self.arguments, **options)


def _pieces(case: Case, holdings: dict[int, int], size: int) -> Array | None:
    """The content of the blocks that a contract names, end to end; None where it names none."""
    parts = [
        _piece(case, ranks, case.starts[block], case.counts[block], size)
        for block, ranks in holdings.items()
    ]
    return np.concatenate(parts) if parts else None


def _piece(case: Case, bits: int, start: int, count: int, size: int) -> Array:
    ranks = [rank for rank in range(size) if bits >> rank & 1]
    if len(ranks) == 1:
        return contribution(case.dtype, case.op, ranks[0], start, count)
    return combination(case.dtype, case.op, ranks, start, count)


_Buffers: TypeAlias = tuple[Guarded | None, Guarded | None, Array | None]


def _buffers(case: Case, rank: int, size: int) -> _Buffers:
    """The buffer to send from, the buffer to receive into, and the result due in it."""
    if case.contract.idempotent:
        return None, None, None
    blocks = len(case.counts)
    sent = _pieces(case, case.contract.start(rank, size, case.root, blocks), size)
    due = _pieces(case, case.contract.end(rank, size, case.root, blocks), size)
    if case.collective == "bcast":
        return None, _guarded(case, sent, case.counts[0]), due
    if case.in_place and (not case.contract.rooted or rank == case.root):
        return _in_place(case, rank, sent, due)
    count = due.size if due is not None else case.count
    receives = due is not None or not case.contract.rooted
    send = _guarded(case, sent) if sent is not None else None
    return send, _guarded(case, None, count) if receives else None, due


def _in_place(case: Case, rank: int, sent: Array | None, due: Array | None) -> _Buffers:
    assert sent is not None
    if case.collective == "scatter":
        return _guarded(case, sent), None, None
    if case.collective not in ("gather", "allgather"):
        return None, _guarded(case, sent), due
    whole = np.full(case.count * case.itemsize, POISON, np.uint8).view(case.dtype)
    whole[case.starts[rank] :][: sent.size] = sent
    return None, _guarded(case, whole), due


def _guarded(case: Case, content: Array | None, count: int = 0) -> Guarded:
    return Guarded(case.dtype, count if content is None else content.size, content)


def _arguments(trial: Trial) -> tuple[Any, ...]:
    """The arguments of the call, in mpi4py's order, with the specs that mpi4py reads fastest."""
    case, counts = trial.case, trial.case.counts
    if case.contract.idempotent:
        return ()
    root = (case.root,) if case.contract.rooted else ()
    if case.collective == "bcast":
        return _spec(trial, trial.receive), *root
    uneven = () if case.equal_counts else counts
    sides = {"scatter": (uneven, ()), "gather": ((), uneven), "allgather": ((), uneven)}
    if case.contract.cut is Cut.PAIR and uneven:
        row = counts[trial.rank * trial.size :][: trial.size]
        sides["alltoall"] = row, counts[trial.rank :: trial.size]
    to_send, to_receive = sides.get(case.collective, ((), ()))
    each = (counts,) if case.method == "Reduce_scatter" else ()
    op = (operator(case.op),) if case.operates else ()
    return *_both(trial, to_send, to_receive), *each, *op, *root


def _both(trial: Trial, to_send: Sequence[int], to_receive: Sequence[int]) -> tuple[Any, Any]:
    send, receive = _spec(trial, trial.send, to_send), _spec(trial, trial.receive, to_receive)
    if not trial.inside:
        return send, receive
    return (send, MPI.IN_PLACE) if trial.receive is None else (MPI.IN_PLACE, receive)


def _spec(trial: Trial, buffer: Guarded | None, counts: Sequence[int] = ()) -> Any:
    if buffer is None:
        return None
    datatype = mpi_datatype(trial.case.dtype)
    if trial.case.method == "Alltoallw":
        displacements = [n * trial.case.itemsize for n in accumulate(counts, initial=0)][:-1]
        return [buffer.data, list(counts), displacements, datatype * len(counts)]
    parts = [buffer.data, *([list(counts)] if counts else []), *datatype]
    return parts if len(parts) > 1 else buffer.data


def mpi_datatype(dtype: str) -> list[MPI.Datatype]:
    """MPI's datatype for a dtype of that name, for the end of a spec; none for ``float16``."""
    return [] if dtype == "float16" else [MPI.Datatype.fromcode(np.dtype(dtype).char)]


def operator(op: str) -> MPI.Op | Callable[[Array, Array], Array]:
    """The operator as a call takes it: MPI's own by its name, else the callable."""
    handle: MPI.Op | None = getattr(MPI, op.upper(), None)
    return OPERATIONS[op].combine if handle is None else handle
