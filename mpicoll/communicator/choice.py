"""Which algorithm runs: the one that was named, or the cheapest by the model that serves."""

from __future__ import annotations

from functools import lru_cache

from ..schedule import Algorithm, Machine, cut, estimate, find, relays, require, serving

MACHINE = Machine()
"""The constants by which the automatic choice prices algorithms."""


def choose(
    collective: str,
    name: str | None,
    size: int,
    nbytes: int,
    commutes: bool,
    equal: bool,
    deterministic: bool,
) -> Algorithm:
    """The algorithm for a call of n = ``nbytes``: the named one, or the cheapest that serves.

    A vector is cut as the model says, where the name does not.

    Raises ``UnknownName``, or ``Unserved`` where the named one cannot serve the call.
    """
    if name is None:
        return _cheapest(collective, size, nbytes, commutes, equal, deterministic)
    entry = find(collective, name)
    require(entry, size, commutes, equal)
    if deterministic and not _is_canonical(entry, size):
        reason = "with deterministic=True its bits must be those of the canonical tree"
        raise entry.unserved(reason, _candidates(collective, size, commutes, equal, deterministic))
    return cut(entry, size, nbytes, MACHINE)


@lru_cache(maxsize=1024)
def _cheapest(
    collective: str, size: int, nbytes: int, commutes: bool, equal: bool, deterministic: bool
) -> Algorithm:
    candidates = _candidates(collective, size, commutes, equal, deterministic)
    cheapest = min(candidates, key=lambda entry: _price(entry, size, nbytes, equal))
    return cut(cheapest, size, nbytes, MACHINE)


def _candidates(
    collective: str, size: int, commutes: bool, equal: bool, deterministic: bool
) -> list[Algorithm]:
    entries = serving(collective, size, commutes, equal)
    return [entry for entry in entries if not deterministic or _is_canonical(entry, size)]


def _is_canonical(entry: Algorithm, size: int) -> bool:
    """Whether an ordered run has the canonical tree's bits; what does not reduce always has."""
    return not entry.contract.operates or size == 1 or bool(entry.canonical(size))


def _price(entry: Algorithm, size: int, nbytes: int, equal: bool) -> float:
    """The estimate, with the broadcast of the counts where ranks must be told them."""
    price = estimate(entry, size, nbytes, MACHINE)
    tells = not equal and entry.contract.rooted and relays(entry, size)
    return price + (estimate(find("bcast", "binomial"), size, 8 * size, MACHINE) if tells else 0)
