"""What to measure, as data: which cases there are, and which algorithms run in each."""

from __future__ import annotations

from dataclasses import dataclass

from ..schedule import VENDOR, Machine, algorithms, base_name, find, require
from .cases import AUTO, Case, even_case

ALL = "all"

LEAST = 8
"""The fewest repetitions of a cell, where nothing else is asked for."""

SECONDS_A_CELL = 1.0
SECONDS_IN_ALL = 100.0
"""The time that is spent where none is asked for: so much a cell, and no more than that in all."""


@dataclass(frozen=True)
class Settings:
    """What to measure.

    ``sizes`` in bytes; ``algorithms``: names with their options, ``all``, ``auto``, ``vendor``;
    ``persistent``: plans bound once, else blocking calls; ``seconds``: for the whole run;
    ``fewest``: repetitions that each cell has, whatever time they take; ``machine``: the constants
    of the least time that a plot draws as a line, if any.
    """

    collectives: tuple[str, ...]
    sizes: tuple[int, ...]
    algorithms: tuple[str, ...] = (ALL,)
    dtype: str = "float32"
    op: str = "sum"
    root: int = 0
    in_place: bool = False
    persistent: bool = True
    seconds: float | None = None
    fewest: int = LEAST
    machine: Machine | None = None
    seed: int = 1

    def cases(self, size: int) -> list[Case]:
        """All cells on so many ranks; sizes that come to the same counts are one cell."""
        every = (
            even_case(name, nbytes, size, self.dtype, self.op, self.root, self.in_place)
            for name in self.collectives
            for nbytes in self.sizes
        )
        return [case for case in dict.fromkeys(every) if self.contenders(case, size)]

    def contenders(self, case: Case, size: int) -> list[str]:
        """What runs a case: the vendor's first where its result can be trusted, the choice last."""
        own = self._own(case.collective)
        served = [name for name in own if self.refusal(case, name, size) is None]
        served += [AUTO] * (AUTO in self.algorithms)
        wanted = bool(served) or VENDOR in self.algorithms
        return [*([VENDOR] if wanted and case.distrust is None else []), *served]

    def refusals(self, case: Case, size: int) -> dict[str, str]:
        """Why some contenders do not run a case."""
        found = {name: self.refusal(case, name, size) for name in self._own(case.collective)}
        every = {VENDOR: case.distrust} | found
        return {name: reason for name, reason in every.items() if reason is not None}

    def refusal(self, case: Case, name: str, size: int) -> str | None:
        """Why an algorithm does not run a case; raises ``Unserved`` if it was asked for by name."""
        entry = find(case.collective, name)
        if name in self.algorithms:
            require(entry, size, case.commutes, case.equal_counts)
        return entry.refusal(size, case.commutes, case.equal_counts)

    def _own(self, collective: str) -> list[str]:
        """Ours of a collective, in the catalogue's order, each with the options asked for."""
        names = algorithms(collective)
        named = [name for name in self.algorithms if base_name(name) in names]
        every = [*names, *named] if ALL in self.algorithms else named
        return sorted(dict.fromkeys(every), key=lambda name: names.index(base_name(name)))

    def time(self, cells: int) -> float:
        """The seconds for so many cells."""
        default = min(SECONDS_A_CELL * cells, SECONDS_IN_ALL)
        return default if self.seconds is None else self.seconds

    def method(self, size: int) -> dict[str, object]:
        """What a record says of how was measured, and what was not run and why."""
        collectives = {case.collective: self.refusals(case, size) for case in self.cases(size)}
        refused = {name: reasons for name, reasons in collectives.items() if reasons}
        return {
            "seed": self.seed,
            "persistent": self.persistent,
            "algorithms": list(self.algorithms),
            "fewest": self.fewest,
            "machine": self.machine,
            "not_run": refused,
        }
