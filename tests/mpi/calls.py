"""One call of each method, with data that differ by rank and place, and the result worked out.

Rank r holds ``100 r + i`` at place i; in an alltoall the element i for rank t is
``10000 r + 100 t + i``.  The expected results are closed forms in r, p and i, not computed by any
collective.  Where counts are uneven, some are zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from guarded import Guarded, poison
from mpi4py import MPI


@dataclass
class Call:
    """Arguments for one rank, and what its receive buffer must begin with afterwards."""

    args: tuple[Any, ...] = ()
    keywords: dict[str, Any] = field(default_factory=dict)
    send: Guarded | None = None
    recv: Guarded | None = None
    expected: np.ndarray | None = None

    def check(self, what: str) -> None:
        """Right result, send buffer unchanged, nothing written around the buffers."""
        if self.send is not None:
            assert self.send.unchanged, f"{what}: the send buffer changed"
        if self.recv is not None and self.expected is not None:
            assert self.recv.intact, f"{what}: written outside the receive buffer"
            got = self.recv.array[: self.expected.size]
            np.testing.assert_array_equal(got, self.expected, what)

    def reset(self) -> None:
        """Put the receive buffer's first content back."""
        if self.recv is not None:
            self.recv.reset()


@dataclass(frozen=True)
class Case:
    """The place in the table: rank, ranks, elements, root, in place or not."""

    rank: int
    size: int
    n: int
    root: int = 0
    in_place: bool = False

    @property
    def at_root(self) -> bool:
        """Whether this rank is the root."""
        return self.rank == self.root

    @property
    def counts(self) -> list[int]:
        """Uneven counts, one a rank, from 0 to n."""
        return [(self.n, 0, (self.n + 1) // 2)[rank % 3] for rank in range(self.size)]

    @property
    def displacements(self) -> list[int]:
        """Starts of the blocks of ``counts``, with a gap of one element before each."""
        return [sum(self.counts[:rank]) + rank + 1 for rank in range(self.size)]

    def pair_counts(self, rank: int) -> list[int]:
        """What this rank sends to each: symmetric, so that it serves in place as well."""
        return [(self.n, 0, (self.n + 1) // 2)[(rank + peer) % 3] for peer in range(self.size)]


def ramp(rank: int, count: int, start: int = 0) -> np.ndarray:
    """``100 rank + i`` for i from ``start``."""
    return 100 * rank + np.arange(start, start + count, dtype="i8")


def _sum(ranks: int, places: np.ndarray) -> np.ndarray:
    """The sum of ``100 r + i`` over ranks 0 to ``ranks - 1``."""
    return 50 * ranks * (ranks - 1) + ranks * places


def _reducing(case: Case, expected: np.ndarray, recv_count: int, send_count: int) -> Call:
    mine = ramp(case.rank, send_count)
    if case.in_place:
        recv = Guarded(mine)
        return Call((MPI.IN_PLACE, recv.array), {}, None, recv, expected)
    send, recv = Guarded(mine), Guarded(poison(recv_count))
    return Call((send.array, recv.array), {}, send, recv, expected)


def barrier(case: Case) -> Call:
    return Call()


def bcast(case: Case) -> Call:
    recv = Guarded(ramp(case.root, case.n) if case.at_root else poison(case.n))
    return Call((recv.array,), {"root": case.root}, None, recv, ramp(case.root, case.n))


def reduce(case: Case) -> Call:
    total = _sum(case.size, np.arange(case.n))
    if case.at_root:
        call = _reducing(case, total, case.n, case.n)
    else:
        aside = Case(case.rank, case.size, case.n, case.root)
        call = _reducing(aside, poison(case.n), case.n, case.n)
    call.keywords["root"] = case.root
    return call


def allreduce(case: Case) -> Call:
    return _reducing(case, _sum(case.size, np.arange(case.n)), case.n, case.n)


def scan(case: Case) -> Call:
    return _reducing(case, _sum(case.rank + 1, np.arange(case.n)), case.n, case.n)


def exscan(case: Case) -> Call:
    untouched = ramp(0, case.n) if case.in_place else poison(case.n)
    before = _sum(case.rank, np.arange(case.n)) if case.rank else untouched
    return _reducing(case, before, case.n, case.n)


def reduce_scatter_block(case: Case) -> Call:
    mine = np.arange(case.rank * case.n, (case.rank + 1) * case.n)
    return _reducing(case, _sum(case.size, mine), case.n, case.size * case.n)


def reduce_scatter(case: Case) -> Call:
    start, count = sum(case.counts[: case.rank]), case.counts[case.rank]
    total = _sum(case.size, np.arange(start, start + count))
    call = _reducing(case, total, count, sum(case.counts))
    call.keywords["recvcounts"] = case.counts
    return call


def _spread(case: Case, blocks: dict[int, np.ndarray]) -> np.ndarray:
    """A vector with the given ranks' blocks at ``displacements`` and poison elsewhere."""
    whole = poison(sum(case.counts) + case.size + 1)
    for rank, block in blocks.items():
        start = case.displacements[rank]
        whole[start : start + block.size] = block
    return whole


def _scattering(case: Case, whole: np.ndarray, spec: Callable[..., Any], count: int) -> Call:
    send = Guarded(whole) if case.at_root else None
    given = spec(send.array) if send else None
    if case.in_place and case.at_root:
        return Call((given, MPI.IN_PLACE), {"root": case.root}, send)
    recv = Guarded(poison(count))
    return Call((given, recv.array), {"root": case.root}, send, recv, ramp(case.rank, count))


def scatter(case: Case) -> Call:
    whole = np.concatenate([ramp(rank, case.n) for rank in range(case.size)])
    return _scattering(case, whole, lambda array: array, case.n)


def scatterv(case: Case) -> Call:
    whole = _spread(case, {rank: ramp(rank, case.counts[rank]) for rank in range(case.size)})
    return _scattering(
        case,
        whole,
        lambda array: [array, case.counts, case.displacements, MPI.INT64_T],
        case.counts[case.rank],
    )


def _gathering(case: Case, before: np.ndarray, after: np.ndarray, spec: Any, count: int) -> Call:
    """Not in place, ``before`` is all poison; in place it has this rank's block."""
    recv = Guarded(before if case.in_place else poison(before.size))
    if case.in_place:
        return Call((MPI.IN_PLACE, spec(recv.array)), {}, None, recv, after)
    send = Guarded(ramp(case.rank, count))
    return Call((send.array, spec(recv.array)), {}, send, recv, after)


def _at_root(case: Case, every: Callable[[Case], Call]) -> Call:
    if case.at_root:
        call = every(case)
    else:
        call = every(Case(case.rank, case.size, case.n, case.root))
        call.args, call.recv = (call.args[0], None), None
    call.keywords["root"] = case.root
    return call


def allgather(case: Case) -> Call:
    before = poison(case.size * case.n)
    before[case.rank * case.n : (case.rank + 1) * case.n] = ramp(case.rank, case.n)
    after = np.concatenate([ramp(rank, case.n) for rank in range(case.size)])
    return _gathering(case, before, after, lambda array: array, case.n)


def allgatherv(case: Case) -> Call:
    blocks = {rank: ramp(rank, case.counts[rank]) for rank in range(case.size)}
    return _gathering(
        case,
        _spread(case, {case.rank: blocks[case.rank]}),
        _spread(case, blocks),
        lambda array: [array, case.counts, case.displacements, MPI.INT64_T],
        case.counts[case.rank],
    )


def gather(case: Case) -> Call:
    return _at_root(case, allgather)


def gatherv(case: Case) -> Call:
    return _at_root(case, allgatherv)


def _trade(case: Case, counts: list[int], spec: Callable[..., Any]) -> Call:
    """Row of this rank out, column of this rank in, blocks of ``counts`` with gaps of one."""
    starts = [sum(counts[:peer]) + peer for peer in range(case.size)]
    row, column = poison(sum(counts) + case.size), poison(sum(counts) + case.size)
    for peer, (start, count) in enumerate(zip(starts, counts, strict=True)):
        row[start : start + count] = 10000 * case.rank + ramp(peer, count)
        column[start : start + count] = 10000 * peer + ramp(case.rank, count)
    if case.in_place:
        recv = Guarded(row)
        return Call((MPI.IN_PLACE, spec(recv.array, counts, starts)), {}, None, recv, column)
    send, recv = Guarded(row), Guarded(poison(row.size))
    args = (spec(send.array, counts, starts), spec(recv.array, counts, starts))
    return Call(args, {}, send, recv, column)


def alltoall(case: Case) -> Call:
    row = np.concatenate([10000 * case.rank + ramp(peer, case.n) for peer in range(case.size)])
    column = np.concatenate([10000 * peer + ramp(case.rank, case.n) for peer in range(case.size)])
    if case.in_place:
        recv = Guarded(row)
        return Call((MPI.IN_PLACE, recv.array), {}, None, recv, column)
    send, recv = Guarded(row), Guarded(poison(row.size))
    return Call((send.array, recv.array), {}, send, recv, column)


def alltoallv(case: Case) -> Call:
    def spec(array: np.ndarray, counts: list[int], starts: list[int]) -> list[Any]:
        return [array, counts, starts, MPI.INT64_T]

    return _trade(case, case.pair_counts(case.rank), spec)


def alltoallw(case: Case) -> Call:
    def spec(array: np.ndarray, counts: list[int], starts: list[int]) -> list[Any]:
        return [array, counts, [8 * start for start in starts], [MPI.INT64_T] * case.size]

    return _trade(case, case.pair_counts(case.rank), spec)
