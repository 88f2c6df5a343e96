"""The catalogue of algorithms: a decorator that registers, and the look-ups.

A module in ``algorithms/`` is a collective, a decorated function in it is an algorithm, and its
docstring is the help text.  Restrictions and closed forms are data on the algorithm.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from math import ceil, log2
from types import CodeType

from .algorithms import __path__ as folder
from .contract import CONTRACTS, Contract, Cut
from .errors import UnknownName, Unserved
from .steps import Round, Rounds, ceil_log2, largest_power_of_two

VENDOR = "vendor"
"""The name of the MPI library's own collective, where an algorithm is named."""

_FORM_FUNCTIONS = {"min": min, "max": max, "sum": sum, "range": range, "ceil": ceil, "log2": log2}
_REGISTERED: dict[tuple[str, str], Algorithm] = {}


@dataclass(frozen=True)
class Form:
    """A closed form in p ranks: q = ceil(log2 p), P = largest power of two <= p, Q = log2 P."""

    text: str
    code: CodeType

    @classmethod
    def of(cls, text: str) -> Form:
        """Compile a closed form: an arithmetic expression in p, q, P, Q and b, the blocks."""
        return cls(text, compile(text, text, "eval"))

    def __call__(self, size: int, blocks: int = 1) -> float:
        """The value at this number of ranks, with a vector in so many blocks."""
        power = largest_power_of_two(size)
        names = {"p": size, "q": ceil_log2(size), "P": power, "Q": ceil_log2(power), "b": blocks}
        return float(eval(self.code, {"__builtins__": _FORM_FUNCTIONS, **names}))


@dataclass(frozen=True, eq=False)
class Algorithm:
    """One algorithm of one collective: its schedule, restrictions and closed forms.

    ``rounds``: number of rounds.  ``startups``, ``volume``, ``reduced``: messages, bytes moved and
    bytes combined at the busiest rank of each round, summed over the rounds; bytes in units of n
    (see ``cost``).  ``blocks`` is the number of blocks of a vector.  ``canonical``: where it is
    not 0, an ordered run has the bits of the canonical tree (see ``verify``).
    """

    collective: str
    name: str
    function: Callable[..., Rounds]
    commutes: bool
    power_of_two: bool
    even: bool
    equal_counts: bool
    pipelined: bool
    blocks: Form
    rounds: Form
    startups: Form
    volume: Form
    reduced: Form
    canonical: Form

    @property
    def contract(self) -> Contract:
        """What the collective promises."""
        return CONTRACTS[self.collective]

    @property
    def summary(self) -> str:
        """The first line of the docstring."""
        return self.help.partition("\n")[0]

    @property
    def help(self) -> str:
        """The whole docstring."""
        return inspect.getdoc(self.function) or ""

    @cached_property
    def parameters(self) -> frozenset[str]:
        """The names of the arguments that the function takes."""
        return frozenset(inspect.signature(self.function).parameters)

    @property
    def restrictions(self) -> tuple[str, ...]:
        """When it may run, in words."""
        flags = (
            (self.commutes, "the operator must commute"),
            (self.power_of_two, "the number of ranks must be a power of two"),
            (self.even, "the number of ranks must be even"),
            (self.equal_counts, "counts must be equal"),
        )
        return tuple(text for flag, text in flags if flag)

    def refusal(self, size: int, commuting: bool = True, equal_counts: bool = True) -> str | None:
        """Why this case cannot be served, or None where it can."""
        reasons = (
            (self.commutes and not commuting and size > 1, "its operator must commute"),
            (
                self.power_of_two and size != largest_power_of_two(size),
                f"it needs a power of two of ranks, not {size}",
            ),
            (self.even and size % 2 and size > 1, f"it needs an even number of ranks, not {size}"),
            (self.equal_counts and not equal_counts, "it needs equal counts"),
        )
        return next((reason for fails, reason in reasons if fails), None)

    def unserved(self, reason: str, others: Iterable[Algorithm]) -> Unserved:
        """The error of a call that this cannot serve and others can."""
        names = ", ".join(other.name for other in others)
        call = f"{self.collective} {self.name!r} cannot serve this call"
        return Unserved(f"{call}: {reason}; these can: {names}")

    def block_count(self, size: int, blocks: int | None = None) -> int:
        """The number of blocks at this size; ``blocks`` is a pipelined algorithm's choice."""
        return self.contract.blocks(size, self.vector_blocks(size, blocks))

    def vector_blocks(self, size: int, blocks: int | None = None) -> int:
        """The number of blocks that a vector is cut into: b in the closed forms.

        Raises ``ValueError`` for ``blocks`` below 1, or where the algorithm is not pipelined.
        """
        if blocks is None:
            return max(1, int(self.blocks(size)))
        if not self.pipelined:
            name = f"{self.collective} {self.name}"
            raise ValueError(f"blocks {blocks}: {name} cuts its data by itself; leave it out")
        if blocks < 1:
            raise ValueError(f"blocks {blocks}: expected 1 or more")
        return blocks

    def schedule(
        self, rank: int, size: int, root: int = 0, blocks: int | None = None, ordered: bool = False
    ) -> tuple[Round, ...]:
        """The rounds of one rank, as data; the same object for the same arguments.

        Raises ``ValueError`` for a rank or a root that is not there.
        """
        return _generate(self, rank, size, root, blocks, ordered)

    def generate(
        self, rank: int, size: int, root: int = 0, blocks: int | None = None, ordered: bool = False
    ) -> tuple[Round, ...]:
        """As ``schedule``, but not kept: for those who go through all ranks once."""
        return _generate.__wrapped__(self, rank, size, root, blocks, ordered)


@lru_cache(maxsize=256)
def _generate(
    algorithm: Algorithm, rank: int, size: int, root: int, blocks: int | None, ordered: bool
) -> tuple[Round, ...]:
    for what, number in (("rank", rank), ("root", root)):
        if not 0 <= number < size:
            raise ValueError(f"{what} {number}: expected 0 to {size - 1} of {size} ranks")
    count = algorithm.block_count(size, blocks)
    given = {"rank": rank, "size": size, "root": root, "blocks": count, "ordered": ordered}
    arguments = {name: value for name, value in given.items() if name in algorithm.parameters}
    return tuple(algorithm.function(**arguments)) if size > 1 else ()


def algorithm(
    *,
    rounds: str,
    volume: str,
    startups: str | None = None,
    reduced: str = "0",
    blocks: str = "1",
    commutes: bool = False,
    power_of_two: bool = False,
    even: bool = False,
    equal_counts: bool = False,
    pipelined: bool = False,
    canonical: str = "0",
) -> Callable[[Callable[..., Rounds]], Callable[..., Rounds]]:
    """Register a generator function as an algorithm of the collective that its module is named for.

    The function takes ``rank`` and ``size`` and, where it needs them, ``root``, ``blocks`` (the
    number of blocks of a vector) and ``ordered`` (the operator does not commute).
    """

    def register(function: Callable[..., Rounds]) -> Callable[..., Rounds]:
        collective = function.__module__.rpartition(".")[2]
        forms = (blocks, rounds, startups or rounds, volume, reduced, canonical)
        _REGISTERED[collective, function.__name__] = Algorithm(
            collective, function.__name__, function, commutes, power_of_two, even, equal_counts,
            pipelined, *map(Form.of, forms),
        )  # fmt: skip
        return function

    return register


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


def find(collective: str, name: str) -> Algorithm:
    """The algorithm of that name; raises ``UnknownName``, listing the choices."""
    if name not in algorithms(collective):
        raise UnknownName(f"algorithm of {collective}", name, algorithms(collective))
    return catalogue()[collective][name]


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
