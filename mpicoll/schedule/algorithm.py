"""An algorithm: its schedule, restrictions, options and closed forms."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

from .contract import CONTRACTS, Contract, Cut
from .errors import BadOption, Unserved
from .forms import Count, Form, Forms, node_map
from .steps import Round, Rounds, largest_power_of_two

LEAST = {"radix": 2}
"""The least value of an option, where it is not 1."""


def base_name(name: str) -> str:
    """An algorithm's name without its options: ``ring`` of ``ring:stripes=16``."""
    return name.partition(":")[0]


@dataclass(frozen=True, eq=False)
class Algorithm:
    """One algorithm of one collective, with its options: its schedule and all that is known of it.

    ``name``: as users write it, the options after colons: ``bruck:radix=4``.  ``options``: those
    that are set; ``defaults``: what others are, as closed forms.  ``blocks``: the number of blocks
    that it cuts a vector into, which is an option itself where it is ``pipelined``.
    ``forms``: number of rounds; messages, bytes moved and bytes combined at the busiest rank of
    each round, summed over the rounds (see ``cost``).  ``rank_forms``: the same at the rank that
    has most over all rounds; ``local_forms``, ``local_rank_forms``: the parts of the two that stay
    inside nodes.
    ``canonical``: where it is not 0, an ordered run has the bits of the canonical tree.
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
    forms: Forms
    rank_forms: Forms
    local_forms: Forms
    local_rank_forms: Forms
    canonical: Form
    defaults: Mapping[str, Form]
    options: Mapping[str, int] = field(default_factory=dict)

    @property
    def base(self) -> str:
        """The name without options."""
        return base_name(self.name)

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

    # -- what it serves

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

    # -- options

    @cached_property
    def choices(self) -> tuple[str, ...]:
        """The options that it has.

        ``stripes``: the parts that a vector is cut into, which follow each other through the
        schedule a round apart; ``blocks``: those of a schedule that is a pipeline itself.
        """
        cuts = self.contract.cut is Cut.VECTOR and not self.contract.idempotent
        own = ("blocks",) if self.pipelined else ("stripes",) if cuts else ()
        return *self.defaults, *own

    def variant(self, **options: int) -> Algorithm:
        """The same algorithm with other options beside those that are set; one object for the same.

        Raises ``BadOption`` for an option that it does not have or that cannot be.
        """
        return _variant(self, **options)

    def settings(self, size: int) -> dict[str, int]:
        """The values of the function's options at this size, set or not."""
        return {
            name: self.options.get(name, max(LEAST.get(name, 1), int(form(size))))
            for name, form in self.defaults.items()
        }

    # -- counts

    def block_count(self, size: int, nodes: Sequence[int] | None = None) -> int:
        """The number of blocks at this size."""
        return self.contract.blocks(size, self.vector_blocks(size, nodes))

    def vector_blocks(self, size: int, nodes: Sequence[int] | None = None) -> int:
        """The number of blocks that a vector is cut into: b in the closed forms."""
        if "blocks" in self.options:
            return self.options["blocks"]
        return max(1, int(self.blocks(size, 1, nodes, **self.settings(size))))

    def count(self, size: int, nodes: Sequence[int] | None = None) -> Count:
        """What ``forms`` come to at this size."""
        return self._count(self.forms, size, nodes)

    def rank_count(self, size: int, nodes: Sequence[int] | None = None) -> Count:
        """What ``rank_forms`` come to at this size."""
        return self._count(self.rank_forms, size, nodes)

    def local_count(self, size: int, nodes: Sequence[int] | None = None) -> Count:
        """What ``local_forms`` come to at this size."""
        return self._count(self.local_forms, size, nodes)

    def local_rank_count(self, size: int, nodes: Sequence[int] | None = None) -> Count:
        """What ``local_rank_forms`` come to at this size."""
        return self._count(self.local_rank_forms, size, nodes)

    def _count(self, forms: Forms, size: int, nodes: Sequence[int] | None) -> Count:
        if size == 1:
            return Count(0, 0, 0, 0)
        return forms.at(size, self.vector_blocks(size, nodes), nodes, **self.settings(size))

    # -- schedules

    def schedule(
        self,
        rank: int,
        size: int,
        root: int = 0,
        ordered: bool = False,
        nodes: Sequence[int] | None = None,
    ) -> tuple[Round, ...]:
        """The rounds of one rank, as data; the same object for the same arguments.

        ``nodes``: the node of each rank, by default ``node_map(size)``.
        Raises ``ValueError`` for a rank, a root or a node map that is not there.
        """
        where = node_map(size, nodes) if "nodes" in self.parameters else None
        return _generate(self, rank, size, root, ordered, where)

    def generate(
        self,
        rank: int,
        size: int,
        root: int = 0,
        ordered: bool = False,
        nodes: Sequence[int] | None = None,
    ) -> tuple[Round, ...]:
        """As ``schedule``, but not kept: for those who go through all ranks once."""
        where = node_map(size, nodes) if "nodes" in self.parameters else None
        return _generate.__wrapped__(self, rank, size, root, ordered, where)


@lru_cache(maxsize=256)
def _generate(
    algorithm: Algorithm,
    rank: int,
    size: int,
    root: int,
    ordered: bool,
    nodes: tuple[int, ...] | None,
) -> tuple[Round, ...]:
    for what, number in (("rank", rank), ("root", root)):
        if not 0 <= number < size:
            raise ValueError(f"{what} {number}: expected 0 to {size - 1} of {size} ranks")
    if nodes is not None and len(nodes) != size:
        raise ValueError(f"a node map of {len(nodes)} ranks: expected one node for each of {size}")
    given = {
        "rank": rank, "size": size, "root": root, "ordered": ordered, "nodes": nodes,
        "blocks": algorithm.block_count(size, nodes), **algorithm.settings(size),
    }  # fmt: skip
    arguments = {name: value for name, value in given.items() if name in algorithm.parameters}
    return tuple(algorithm.function(**arguments)) if size > 1 else ()


@lru_cache(maxsize=1024)
def _variant(algorithm: Algorithm, **options: int) -> Algorithm:
    subject = f"{algorithm.collective} {algorithm.base}"
    for name, value in options.items():
        if name not in algorithm.choices:
            known = ", ".join(algorithm.choices) or "none"
            raise BadOption(f"{subject}: no option {name!r}; it has {known}")
        least = LEAST.get(name, 1)
        if value < least:
            raise BadOption(f"{subject}: {name} {value}: expected {least} or more")
    given = {**algorithm.options, **options}
    ordered = {name: given[name] for name in algorithm.choices if name in given}
    name = ":".join([algorithm.base, *(f"{key}={value}" for key, value in ordered.items())])
    return replace(algorithm, name=name, options=ordered)
