"""The catalogue of algorithms: a decorator that registers, and the look-ups.

A module in ``algorithms/`` is a collective, a decorated function in it is an algorithm, and its
docstring is the help text.  Restrictions and closed forms are data on the algorithm.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from functools import cache

from .algorithm import Algorithm
from .algorithms import __path__ as folder
from .contract import CONTRACTS, Cut
from .errors import BadOption, UnknownName
from .forms import Form, Forms
from .steps import Rounds

VENDOR = "vendor"
"""The name of the MPI library's own collective, where an algorithm is named."""

_REGISTERED: dict[tuple[str, str], Algorithm] = {}


def algorithm(
    *,
    rounds: str,
    volume: str,
    startups: str | None = None,
    reduced: str = "0",
    rank: tuple[str, str, str] | None = None,
    local: tuple[str, str, str] | None = None,
    local_rank: tuple[str, str, str] | None = None,
    blocks: str = "1",
    commutes: bool = False,
    power_of_two: bool = False,
    even: bool = False,
    equal_counts: bool = False,
    pipelined: bool = False,
    canonical: str = "0",
    options: Mapping[str, str] | None = None,
) -> Callable[[Callable[..., Rounds]], Callable[..., Rounds]]:
    """Register a generator function as an algorithm of the collective that its module is named for.

    ``rounds``, ``startups`` (messages; by default the rounds), ``volume``, ``reduced``, ``blocks``
    (of a vector): closed forms in the names of ``Form``, bytes in units of n.  ``commutes``,
    ``power_of_two``, ``even``, ``equal_counts``: restrictions.  ``pipelined``: its blocks are an
    option.  ``canonical``: 1 where an ordered run has the bits of the canonical tree.

    The function takes ``rank`` and ``size`` and, where it needs them, ``root``, ``blocks`` (the
    number of blocks of a vector), ``ordered`` (the operator does not commute), ``nodes`` (the node
    of each rank) and its ``options``, given here with their default values.  ``rank``: messages,
    bytes and bytes combined of the rank that has most of them over all rounds, where that is not
    the sum of each round's busiest; ``local``, ``local_rank``: those of all and of ``rank`` that
    stay inside nodes.
    """

    def register(function: Callable[..., Rounds]) -> Callable[..., Rounds]:
        collective = function.__module__.rpartition(".")[2]
        every = (startups or rounds, volume, reduced)
        own, nothing = rank or every, ("0", "0", "0")
        _REGISTERED[collective, function.__name__] = Algorithm(
            collective, function.__name__, function, commutes, power_of_two, even, equal_counts,
            pipelined, Form.of(blocks), _forms(rounds, every), _forms(rounds, own),
            _forms("0", local or nothing), _forms("0", local_rank or nothing),
            Form.of(canonical),
            {name: Form.of(text) for name, text in (options or {}).items()},
        )  # fmt: skip
        return function

    return register


def _forms(rounds: str, counts: tuple[str, str, str]) -> Forms:
    return Forms(Form.of(rounds), *map(Form.of, counts))


@cache
def catalogue() -> dict[str, dict[str, Algorithm]]:
    """All algorithms: collective -> name -> algorithm, found by listing the folder."""
    for module in pkgutil.iter_modules(folder):
        importlib.import_module(f".algorithms.{module.name}", __package__)
    return {
        collective: {key[1]: value for key, value in _REGISTERED.items() if key[0] == collective}
        for collective in CONTRACTS
    }


def collectives() -> tuple[str, ...]:
    """The names of all collectives."""
    return tuple(CONTRACTS)


def algorithms(collective: str) -> tuple[str, ...]:
    """The names of a collective's algorithms."""
    if collective not in CONTRACTS:
        raise UnknownName("collective", collective, collectives())
    return tuple(catalogue()[collective])


@cache
def find(collective: str, name: str) -> Algorithm:
    """The algorithm of that name, options after it: ``ring``, ``ring:stripes=16``.

    The same object for the same text.  Raises ``UnknownName``, listing the choices, or
    ``BadOption`` for an option that is not there or cannot be.
    """
    if not isinstance(name, str):
        raise TypeError(f"algorithm: expected a name, got {type(name).__name__}")
    base, *options = name.split(":")
    if base not in algorithms(collective):
        raise UnknownName(f"algorithm of {collective}", base, algorithms(collective))
    entry = catalogue()[collective][base]
    return entry.variant(**dict(map(_option, options))) if options else entry


def _option(text: str) -> tuple[str, int]:
    key, _, value = text.partition("=")
    if not value.isdecimal():
        raise BadOption(f"option {text!r}: expected a name and a number, as in stripes=16")
    return key, int(value)


def serving(
    collective: str, size: int, commuting: bool = True, equal_counts: bool = True
) -> tuple[Algorithm, ...]:
    """The algorithms that may run in this case."""
    entries = (catalogue()[collective][name] for name in algorithms(collective))
    return tuple(one for one in entries if one.refusal(size, commuting, equal_counts) is None)


def require(entry: Algorithm, size: int, commuting: bool = True, equal_counts: bool = True) -> None:
    """Raise ``Unserved`` with the reason and the alternatives where the case cannot be served.

    Raises ``ValueError`` where there is no rank at all.
    """
    if size < 1:
        raise ValueError(f"size {size}: expected at least 1 rank")
    reason = entry.refusal(size, commuting, equal_counts)
    if reason is not None:
        raise entry.unserved(reason, serving(entry.collective, size, commuting, equal_counts))


@cache
def relays(entry: Algorithm, size: int, root: int = 0) -> bool:
    """Whether some rank touches blocks that it neither starts nor ends with.

    Such a rank must be told their sizes where only the root knows them (scatterv, gatherv).
    """
    if entry.contract.cut is Cut.VECTOR:
        return False
    count = entry.block_count(size)
    return any(_touches_foreign(entry, rank, size, root, count) for rank in range(size))


def _touches_foreign(entry: Algorithm, rank: int, size: int, root: int, count: int) -> bool:
    contract = entry.contract
    known = {*contract.start(rank, size, root, count), *contract.end(rank, size, root, count)}
    rounds = entry.generate(rank, size, root)
    return any(not known.issuperset(step.blocks) for steps in rounds for step in steps)
