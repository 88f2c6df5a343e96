"""The check: every algorithm through every case, its result held to NumPy's."""

from __future__ import annotations

import os
import sys
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, TypeAlias

from ..communicator import Communicator
from ..schedule import VENDOR, base_name, serving
from .cases import AUTO, Case
from .matrix import Probe, variants
from .trial import Trial

PATIENCE = 60.0
"""Seconds after which a cell counts as hanging."""

Say: TypeAlias = Callable[[str], None]


@dataclass
class Tally:
    """What a check of one collective found: cells by algorithm, and what was wrong in which."""

    collective: str
    cells: Counter[str] = field(default_factory=Counter)
    wrong: dict[str, int] = field(default_factory=dict)

    @property
    def wrong_cells(self) -> int:
        """The number of cells with a wrong element anywhere."""
        return len(self.wrong)


def contenders(case: Case, size: int, wanted: Sequence[str] | None) -> list[str]:
    """What runs a case: the vendor where it can be trusted, the automatic choice, all that serve.

    Those with a radix run in a second one too.  With ``wanted``, those alone.
    """
    others = [*([VENDOR] if case.distrust is None else []), AUTO]
    served = serving(case.collective, size, case.commutes, case.equal_counts)
    if wanted is None:
        return [*others, *(name for one in served for name in variants(one))]
    asked = (name for one in served for name in wanted if base_name(name) == one.name)
    return [*(name for name in others if name in wanted), *asked]


def check(
    comm: Communicator, collective: str, probes: Iterable[Probe], wanted: Sequence[str] | None
) -> Tally:
    """Run all cells of a collective; collective call, with the same tally on every rank."""
    cells: Counter[str] = Counter()
    mine: dict[str, int] = {}
    with _watchdog(comm.Get_rank()) as say:
        for probe in probes:
            for name, mode, wrong in _run(comm, probe, wanted, say):
                cells[name] += 1
                if wrong:
                    mine[describe(probe.case, name, mode)] = wrong
    every = comm.vendor.allgather(mine)
    total: Counter[str] = Counter()
    for found in every:
        total.update(found)
    return Tally(collective, cells, dict(total))


def describe(case: Case, name: str, mode: str) -> str:
    """A cell in words."""
    counts = case.counts if len(set(case.counts)) > 1 else case.counts[:1]
    details = (
        f"{case.method} {name}, {mode}, counts {','.join(map(str, counts))} {case.dtype}",
        f", {case.op}" if case.operates else "",
        f", root {case.root}" if case.contract.rooted else "",
        ", in place" if case.in_place else "",
    )
    return "".join(details)


def _run(
    comm: Communicator, probe: Probe, wanted: Sequence[str] | None, say: Say
) -> Iterator[tuple[str, str, int]]:
    trial = Trial(probe.case, comm.Get_rank(), comm.Get_size())
    for name in contenders(probe.case, comm.Get_size(), wanted):
        for mode in probe.modes:
            words = describe(probe.case, name, mode)
            say(words)
            try:
                yield name, mode, _cell(trial, comm, name, mode)
            except Exception as error:
                raise RuntimeError(f"check: {words}: {type(error).__name__}: {error}") from error


def _cell(trial: Trial, comm: Communicator, name: str, mode: str) -> int:
    """The wrong elements on this rank; a persistent call runs twice."""
    target, options = _target(comm, name)
    if mode == "persistent":
        return _persistent(trial, target, options)
    trial.fill()
    if mode == "blocking":
        trial.call(target, **options)()
    else:
        trial.call(target, prefix="I", **options)().Wait()
    return trial.wrong()


def _target(comm: Communicator, name: str) -> tuple[Any, dict[str, str]]:
    if name == VENDOR:
        return comm.vendor, {}
    return comm, {} if name == AUTO else {"algorithm": name}


def _persistent(trial: Trial, target: Any, options: dict[str, str]) -> int:
    plan = trial.call(target, suffix="_init", **options)()
    wrong = 0
    for _ in range(2):
        trial.fill()
        plan.Start()
        plan.Wait()
        wrong += trial.wrong()
    plan.Free()
    return wrong


@contextmanager
def _watchdog(rank: int) -> Iterator[Say]:
    """A function to name each cell by; a cell that lasts too long ends the job with its name."""
    state = deque([("", monotonic())], maxlen=1)
    over = threading.Event()

    def say(words: str) -> None:
        state.append((words, monotonic()))

    def watch() -> None:
        while not over.wait(1.0):
            words, since = state[0]
            if monotonic() - since > PATIENCE:
                print(f"check: rank {rank} hangs in {words}", file=sys.stderr, flush=True)
                os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield say
    finally:
        over.set()
