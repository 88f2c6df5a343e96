"""What a call will run, why, and what each other algorithm would cost; nothing is communicated."""

from __future__ import annotations

from dataclasses import dataclass

from ..schedule import CONTRACTS, VENDOR, Algorithm, Cut, UnknownName, algorithms, find
from ..schedule.words import counted
from ..transport.stripes import merged_rounds
from .choice import Chooser, Query
from .make import keeps_busy

FASTEST_VENDOR = "MPI's own is the fastest here, says {}; ours runs where its result might differ"


@dataclass(frozen=True)
class Price:
    """What an algorithm would cost by the model, or why it cannot serve.

    ``algorithm``: its name, with the stripes or blocks that the model gives it.  ``seconds``: the
    predicted time; ``rounds``: one after the other, all stripes together; ``nbytes``: what the
    busiest rank moves.  Where ``refused`` says why it cannot serve they are None.
    """

    algorithm: str
    seconds: float | None = None
    rounds: int | None = None
    nbytes: int | None = None
    refused: str | None = None


@dataclass(frozen=True)
class Explanation:
    """What a call of a collective will run.

    ``algorithm``: its name, with options; ``why``: in words; ``stripes``: the parts that its vector
    is cut into; ``costs``: every algorithm's, the cheapest first, those that cannot serve last.
    ``str()`` is a table.
    """

    collective: str
    nbytes: int
    ranks: int
    nodes: int
    algorithm: str
    why: str
    stripes: int
    costs: tuple[Price, ...]

    def __str__(self) -> str:
        place = f"{counted(self.ranks, 'rank')} of {counted(self.nodes, 'node')}"
        title = f"{self.collective} of {self.nbytes} bytes on {place}: {self.algorithm}"
        width = max(len("algorithm"), *(len(one.algorithm) for one in self.costs))
        rows = [_row(one, width, one.algorithm == self.algorithm) for one in self.costs]
        heading = f"  {'algorithm':<{width}}  predicted  rounds  bytes of the busiest rank"
        return "\n".join([title, f"  {self.why}", heading, *rows])


def explain(chooser: Chooser, query: Query, name: str | None = None) -> Explanation:
    """Explain the choice for a call of known size.

    Raises ``UnknownName``, or ``Unserved`` where a named algorithm cannot serve.
    """
    collective, nbytes = query.collective, query.nbytes
    if collective not in CONTRACTS:
        raise UnknownName("collective", collective, tuple(CONTRACTS))
    if not isinstance(nbytes, int) or nbytes < 0:
        raise ValueError(f"nbytes is {nbytes!r}, expected a number of bytes, 0 or more")
    chosen, why, stripes = _chosen(chooser, query, name)
    every = [chooser.cut(find(collective, one), query) for one in algorithms(collective)]
    if chosen != VENDOR and chosen not in (one.name for one in every):
        every.append(find(collective, chosen))
    prices = sorted((_price(chooser, one, query) for one in every), key=_rank)
    nodes = len(set(chooser.nodes))
    return Explanation(collective, nbytes, chooser.size, nodes, chosen, why, stripes, tuple(prices))


def _chosen(chooser: Chooser, query: Query, name: str | None) -> tuple[str, str, int]:
    """The name of what will run, why, and its number of stripes."""
    if name == VENDOR:
        return VENDOR, "named", 1
    if name is None and chooser.prefers_vendor(query):
        return VENDOR, FASTEST_VENDOR.format(chooser.tuning.path), 1
    choice = chooser.choose(query, name)
    options = choice.algorithm.options
    return choice.algorithm.name, choice.why, options.get("stripes", options.get("blocks", 1))


def _price(chooser: Chooser, entry: Algorithm, query: Query) -> Price:
    reason = chooser.refusal(entry, query)
    if reason is not None:
        return Price(entry.base, refused=reason)
    size, nodes = chooser.size, chooser.nodes
    stripes = entry.options.get("stripes", 1) if entry.contract.cut is Cut.VECTOR else 1
    alone = round(entry.count(size, nodes).rounds)
    rounds = merged_rounds(alone, stripes, keeps_busy(entry, size, nodes)) if stripes > 1 else alone
    moved = round(entry.rank_count(size, nodes).volume * (query.nbytes or 0))
    return Price(entry.name, chooser.price(entry, query), rounds, moved)


def _rank(price: Price) -> tuple[bool, float]:
    return price.refused is not None, price.seconds or 0.0


def _row(price: Price, width: int, runs: bool) -> str:
    start = f"{'>' if runs else ' '} {price.algorithm:<{width}}"
    if price.seconds is None:
        return f"{start}  cannot serve: {price.refused}"
    return f"{start}  {_time_words(price.seconds):>9}  {price.rounds:>6}  {price.nbytes:>12}"


def _time_words(seconds: float) -> str:
    """A time with its unit: 3.21 us, 45.6 ms."""
    value, unit = seconds * 1e6, "us"
    for larger in ("ms", "s"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:.3g} {unit}"
