"""Exscan: rank r gets the combination of the vectors of ranks 0 to r - 1; rank 0 gets nothing."""

from __future__ import annotations

from ..catalogue import algorithm
from ..steps import AUX, DATA, LEFT, Round, Rounds, Step, ceil_log2, copy, recv, send
from ..steps import reduce as combine
from .scan import add_lower_total, group_totals, upwards


@algorithm(rounds="p - 1", volume="p - 1", reduced="p - 2", rank=("1", "1", "p > 2"))
def linear(rank: int, size: int) -> Rounds:
    """Each rank passes up what came from below together with its own.

    Cost: (p-1)(alpha + n beta + n gamma).  Best for very few ranks.
    """
    yield [copy(0, DATA, AUX)]
    for sender in range(size - 1):
        arrives: Round = []
        if rank == sender + 1:
            arrives = [recv(rank - 1, 0)]
            arrives += [combine(0, DATA, AUX, LEFT)] if rank < size - 1 else []
        yield [send(rank + 1, 0, AUX)] if rank == sender else arrives


@algorithm(
    rounds="1 + ceil(log2(p - 1)) if p > 1 else 0",
    volume="1 + ceil(log2(p - 1)) if p > 1 else 0",
    reduced="ceil(log2(p - 1)) if p > 1 else 0",
)
def hillis_steele(rank: int, size: int) -> Rounds:
    """All vectors move up one rank; then a scan among the ranks that got one.

    Cost: (1 + ceil(log2(p-1)))(alpha + n beta + n gamma).  Best in general.
    Source: Träff, arXiv 2507.04785; Hillis and Steele, CACM 29(12), 1986.
    """
    yield [copy(0, DATA, AUX)]
    sends: list[Step] = [send(rank + 1, 0, AUX)] if rank < size - 1 else []
    yield sends + ([recv(rank - 1, 0)] if rank else [])
    for level in range(ceil_log2(size - 1)):
        yield upwards(rank, size, 1 << level, first=1)


@algorithm(
    rounds="q",
    volume="q",
    reduced="sum(max((i > 0 and 2**i + 1 < p) * (1 + (3 * 2**i + 1 < p)), 2 ** (i + 1) < p)"
    " for i in range(q))",
    canonical="1",
)
def recursive_doubling(rank: int, size: int) -> Rounds:
    """Neighbouring groups exchange their totals; the upper one's ranks take them into account.

    Cost: q (alpha + n beta) + 2 q n gamma, with two vectors of scratch.  Its bits are those of the
    canonical tree.  Best where results must not depend on the algorithm.
    Source: Grama, Gupta, Karypis, Kumar, Introduction to Parallel Computing, 2003, section 4.3;
    Träff, arXiv 2507.04785.
    """
    yield [copy(0, DATA, AUX)]
    for level in range(ceil_log2(size)):
        first = rank >> level & 1 and rank % (1 << level) == 0
        if first:
            yield group_totals(rank, size, level, theirs=DATA)
        else:
            yield [*group_totals(rank, size, level), *add_lower_total(rank, size, level)]
