"""What to measure, as data: which cases there are, and which algorithms run in each."""

from __future__ import annotations

from dataclasses import dataclass

from ..schedule import VENDOR, algorithms, find, require
from .cases import Case, even_case

ALL = "all"

SECONDS_A_CELL = 1.0
SECONDS_IN_ALL = 100.0
"""The time that is spent where none is asked for: so much a cell, and no more than that in all."""


@dataclass(frozen=True)
class Settings:
    """What to measure.

    ``sizes`` in bytes; ``algorithms``: names, or ``("all",)``; ``persistent``: plans bound once,
    else blocking calls; ``seconds``: for the whole run.
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
        """Our algorithms that run a case, the vendor's first where its result can be trusted."""
        own = self._own(case.collective)
        served = [name for name in own if self.refusal(case, name, size) is None]
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
        if self.algorithms != (ALL,):
            require(entry, size, case.commutes, case.equal_counts)
        return entry.refusal(size, case.commutes, case.equal_counts)

    def _own(self, collective: str) -> list[str]:
        names = algorithms(collective)
        wanted = names if self.algorithms == (ALL,) else self.algorithms
        return [name for name in names if name in wanted]

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
            "not_run": refused,
        }
