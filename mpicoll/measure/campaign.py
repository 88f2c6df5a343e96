"""A run of cells, measured one after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from time import perf_counter

from ..communicator import Communicator
from .cases import Case
from .settings import Settings
from .timing import Timing, contender, measure
from .trial import Trial
from .words import size_words


def run(
    comm: Communicator, settings: Settings, cases: Sequence[Case], announce: Callable[[str], None]
) -> Iterator[tuple[Case, list[Timing]]]:
    """Measure one case after another; the time that is left is shared by the cases that are left.

    Each is announced beforehand, in words.
    """
    end = perf_counter() + settings.time(len(cases))
    for index, case in enumerate(cases):
        announce(f"{case.collective} {size_words(case.nbytes)}")
        left = comm.vendor.bcast(end - perf_counter(), root=0)
        yield case, cell(comm, settings, case, max(0.0, left) / (len(cases) - index))


def cell(comm: Communicator, settings: Settings, case: Case, seconds: float) -> list[Timing]:
    """Measure one case in about so many seconds; collective."""
    trial = Trial(case, comm.Get_rank(), comm.Get_size())
    names = settings.contenders(case, comm.Get_size())
    contenders = [contender(trial, comm, name, settings.persistent) for name in names]
    seed = f"{settings.seed} {case.collective} {case.nbytes}"
    timings = measure(trial, comm, contenders, seconds, seed, settings.fewest)
    for one in contenders:
        one.free()
    return timings
