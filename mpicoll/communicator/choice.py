"""Which algorithm runs: the one that was named, or the tuned one, or the cheapest by the model."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from ..schedule import CONTRACTS, VENDOR, Algorithm, cut, estimate, find, relays, require, serving
from .tuning import Tuning

CANONICAL = "with deterministic=True its bits must be those of the canonical tree"
"""Why an algorithm may not serve a call that it could serve otherwise."""


class Query(NamedTuple):
    """What the choice depends on: what all ranks know of a call.

    ``nbytes``: n, None where ranks cannot know it.  ``commutes``: the operator's ranks may be
    combined in any order.  ``equal``: all blocks have one size.  ``deterministic``: the bits may
    depend on the number of ranks only.
    """

    collective: str
    nbytes: int | None
    commutes: bool = True
    equal: bool = True
    deterministic: bool = False


class Choice(NamedTuple):
    """An algorithm, with its options, and in words why it is the one."""

    algorithm: Algorithm
    why: str


class Chooser:
    """Chooses for the ranks of one communicator: ``nodes`` is the node of each."""

    def __init__(self, nodes: Sequence[int], tuning: Tuning) -> None:
        self.nodes, self.tuning = tuple(nodes), tuning
        self.size = len(self.nodes)
        self.link, self.inside = tuning.links(self.nodes)
        self._automatic = lru_cache(maxsize=1024)(self._choose)

    def choose(self, query: Query, name: str | None = None) -> Choice:
        """The algorithm for a call: the named one, or the best that serves.

        A vector is cut as the model says, where the name does not.  Raises ``UnknownName``, or
        ``Unserved`` where the named one cannot serve the call.
        """
        if name is None:
            return self._automatic(query)
        entry = find(query.collective, name)
        require(entry, self.size, query.commutes, query.equal)
        reason = self.refusal(entry, query)
        if reason is not None:
            raise entry.unserved(reason, self.candidates(query))
        return Choice(self.cut(entry, query), "named")

    def prefers_vendor(self, query: Query) -> bool:
        """Whether MPI's own collective won where this was tuned, and may serve."""
        fixed = query.deterministic and CONTRACTS[query.collective].operates
        return not fixed and self._winner(query) == VENDOR

    def candidates(self, query: Query) -> list[Algorithm]:
        """The algorithms that serve a call, their vectors not cut yet."""
        entries = serving(query.collective, self.size, query.commutes, query.equal)
        return [entry for entry in entries if self.refusal(entry, query) is None]

    def refusal(self, entry: Algorithm, query: Query) -> str | None:
        """Why an algorithm cannot serve a call, or None where it can."""
        reason = entry.refusal(self.size, query.commutes, query.equal)
        if reason is None and query.deterministic and not _is_canonical(entry, self.size):
            return CANONICAL
        return reason

    def cut(self, entry: Algorithm, query: Query) -> Algorithm:
        """The algorithm with the model's number of stripes, where it has none yet."""
        nbytes = query.nbytes or 0
        return cut(entry, self.size, nbytes, self.link, self.nodes, self.inside)

    def price(self, entry: Algorithm, query: Query) -> float:
        """The predicted time in seconds, with that of the counts where ranks must be told them."""
        price = self._estimate(entry, query.nbytes or 0)
        tells = not query.equal and entry.contract.rooted and relays(entry, self.size)
        return price + (self._estimate(find("bcast", "binomial"), 8 * self.size) if tells else 0)

    def _estimate(self, entry: Algorithm, nbytes: int) -> float:
        return estimate(entry, self.size, nbytes, self.link, self.nodes, self.inside)

    def _choose(self, query: Query) -> Choice:
        winner = self._winner(query)
        if winner not in (None, VENDOR):
            entry = find(query.collective, winner)
            if self.refusal(entry, query) is None:
                return Choice(self.cut(entry, query), f"the fastest here, says {self.tuning.path}")
        cheapest = min(self.candidates(query), key=lambda entry: self.price(entry, query))
        return Choice(self.cut(cheapest, query), f"the cheapest by the model{self._since(winner)}")

    def _winner(self, query: Query) -> str | None:
        """What won where this was tuned; None where it was not, or the size is not known."""
        if query.nbytes is None:
            return None
        row = self.tuning.winner(query.collective, query.nbytes, self.nodes)
        return row.use if row else None

    def _since(self, winner: str | None) -> str:
        """What became of the tuning, where there is one."""
        tuning = self.tuning
        if tuning.refused:
            return f"; {tuning.path} is not used: {tuning.refused}"
        if winner is not None:
            return f"; {winner}, the fastest here, cannot serve this call"
        return f"; {tuning.path} has nothing for it" if tuning.path else ""


def _is_canonical(entry: Algorithm, size: int) -> bool:
    """Whether an ordered run has the canonical tree's bits; what does not reduce always has."""
    return not entry.contract.operates or size == 1 or bool(entry.canonical(size))
