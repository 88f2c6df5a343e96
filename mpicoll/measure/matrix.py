"""The cases that a check goes through: every call, count, root, dtype and operator of a collective.

Two families: all counts, roots, forms and in place with one exact dtype, in each way to call; and
all dtypes with all operators at one count, the ways to call taking turns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import cycle, product

from ..schedule import CONTRACTS, Algorithm, Cut
from ..schedule.steps import split
from .cases import METHODS, Case, can_be_in_place
from .patterns import DTYPES, OPERATIONS

MODES = ("blocking", "nonblocking", "persistent")
"""The ways to call a collective."""

RADIX = 5
"""One that is no algorithm's own, and no power of two."""

SOME = 13
MANY = 1000


@dataclass(frozen=True)
class Probe:
    """A case and the ways in which it is called."""

    case: Case
    modes: tuple[str, ...]


def probes(collective: str, size: int, quick: bool = False) -> list[Probe]:
    """What is checked of a collective on so many ranks; ``quick``: about a fifth of it."""
    turns = cycle(MODES)
    shapes = (Probe(case, (next(turns),) if quick else MODES) for case in _shapes(collective, size))
    types = (Probe(case, (next(turns),)) for case in _types(collective, size))
    every = list(dict.fromkeys((*shapes, *types)))
    return every[::2] if quick else every


def variants(entry: Algorithm) -> list[str]:
    """The names by which an algorithm is checked: its own, and where it has a radix, another."""
    return [entry.name, *([entry.variant(radix=RADIX).name] if "radix" in entry.choices else [])]


def _shapes(collective: str, size: int) -> Iterator[Case]:
    for (method, counts), kind, root, in_place in product(
        _forms(collective, size),
        _exact_kinds(collective),
        _roots(collective, size),
        _places(collective),
    ):
        if not in_place or _symmetric(collective, counts, size):
            yield Case(collective, method, counts, *kind, root, in_place)


def _types(collective: str, size: int) -> Iterator[Case]:
    places = cycle(_places(collective))
    method, counts = METHODS[collective][0], _blocks(collective, SOME, size)
    for dtype, op in _all_kinds(collective):
        yield Case(
            collective, method, counts, dtype, op, _roots(collective, size)[-1], next(places)
        )


def _exact_kinds(collective: str) -> list[tuple[str, str]]:
    """A dtype and operator that commutes, and where it matters one that does not."""
    ordered = [("complex128", "affine")] if CONTRACTS[collective].operates else []
    return [("int64", "sum"), *ordered]


def _all_kinds(collective: str) -> list[tuple[str, str]]:
    contract = CONTRACTS[collective]
    if contract.idempotent:
        return []
    if not contract.operates:
        return [(dtype, "sum") for dtype in DTYPES]
    pairs = product(DTYPES, OPERATIONS.values())
    return [(dtype, op.name) for dtype, op in pairs if op.serves(dtype)]


def _places(collective: str) -> tuple[bool, ...]:
    return (False, True) if can_be_in_place(collective) else (False,)


def _roots(collective: str, size: int) -> tuple[int, ...]:
    """Rank 0, one amid, the last; 0 where there is no root."""
    rooted = CONTRACTS[collective].rooted
    return tuple(dict.fromkeys((0, size // 2, size - 1))) if rooted else (0,)


def _forms(collective: str, size: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    """The methods of a collective, each with the counts that it is called with."""
    plain, *uneven = METHODS[collective]
    if CONTRACTS[collective].idempotent:
        yield plain, (0,)
        return
    for count in _counts(size):
        yield plain, _blocks(collective, count, size)
    for method in uneven:
        for counts in _uneven(collective, size):
            yield method, counts


def _counts(size: int) -> Iterable[int]:
    """None, one, and numbers around the number of ranks that do not divide by it."""
    return dict.fromkeys((0, 1, size - 1, size, size + 1, SOME, 2 * size - 1, MANY))


def _blocks(collective: str, count: int, size: int) -> tuple[int, ...]:
    return (count,) * CONTRACTS[collective].blocks(size)


def _uneven(collective: str, size: int) -> Iterator[tuple[int, ...]]:
    """Counts a rank (or a pair): fewer than ranks, all with one rank, growing from none."""
    if CONTRACTS[collective].cut is Cut.PAIR:
        pairs = list(product(range(size), repeat=2))
        yield tuple((source + target) % 4 for source, target in pairs)
        yield tuple((3 * source + 5 * target) % 7 for source, target in pairs)
        yield tuple(SOME * (source == size - 1) for source, _ in pairs)
        return
    for total in (0, 1, size - 1, SOME, MANY):
        yield tuple(split(total, size))
    yield tuple(SOME * (rank == size - 1) for rank in range(size))
    yield tuple(5 * rank % 7 for rank in range(size))


def _symmetric(collective: str, counts: tuple[int, ...], size: int) -> bool:
    """Whether a call in place is allowed: an alltoall's pairs must owe each other as much."""
    if CONTRACTS[collective].cut is not Cut.PAIR:
        return True
    pairs = product(range(size), repeat=2)
    return all(counts[a * size + b] == counts[b * size + a] for a, b in pairs)
