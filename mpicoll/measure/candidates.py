"""What is worth measuring at a size: what the model does not rule out, in a few variants."""

from __future__ import annotations

from collections.abc import Sequence

from ..communicator.choice import Chooser, Query
from ..schedule import Algorithm
from .cases import Case

FACTOR = 4.0
"""What the model takes to be so many times as slow as the best is not measured."""

KEPT = 3
"""So many are always measured, as far as there are any."""

MOST = 12
"""No more are."""

LONG = 1 << 16
"""From so many bytes on other numbers of stripes are tried than the model's."""

RADICES = (2, 3, 4, 8)


def query_of(case: Case) -> Query:
    """What a case is to the choice."""
    return Query(case.collective, case.nbytes, case.commutes, case.equal_counts)


def candidates(chooser: Chooser, case: Case) -> list[tuple[str, float]]:
    """The names to measure with their predicted seconds, the model's choice first."""
    query = query_of(case)
    every = {
        variant.name: chooser.price(variant, query)
        for entry in chooser.candidates(query)
        for variant in _variants(chooser, entry, query)
    }
    model = chooser.choose(query).algorithm.name
    ranked = sorted(every.items(), key=lambda item: (item[0] != model, item[1]))
    near = [item for item in ranked if item[1] <= FACTOR * ranked[0][1]]
    return max(near, ranked[:KEPT], key=len)[:MOST]


def affordable(
    found: Sequence[tuple[str, float]], seconds: float, runs: int
) -> list[tuple[str, float]]:
    """The first of them that take no longer in so many runs each; ``KEPT`` in any case."""
    kept, spent = list[tuple[str, float]](), 0.0
    for one in found:
        spent += runs * one[1]
        if len(kept) >= KEPT and spent > seconds:
            break
        kept.append(one)
    return kept


def _variants(chooser: Chooser, entry: Algorithm, query: Query) -> list[Algorithm]:
    """An algorithm as the model has it; with other radices; of long vectors with other stripes."""
    own = [entry]
    if "radix" in entry.choices:
        own += [entry.variant(radix=radix) for radix in RADICES if radix <= chooser.size]
    cut = [chooser.cut(one, query) for one in own]
    if (query.nbytes or 0) < LONG:
        return cut
    return [variant for one in cut for variant in _stripes(one)]


def _stripes(entry: Algorithm) -> list[Algorithm]:
    """In as many stripes or blocks as it has, half as many and twice as many."""
    for key in {"stripes", "blocks"} & set(entry.choices):
        best = entry.options.get(key, 1)
        return [entry, *(entry.variant(**{key: n}) for n in (best // 2, 2 * best) if n)]
    return [entry]
