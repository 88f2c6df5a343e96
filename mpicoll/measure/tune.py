"""Tuning: the constants of the links, then what wins at each size, kept in a file as it comes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from time import perf_counter

from ..communicator import Communicator, Tuning
from ..communicator.choice import Chooser
from ..communicator.tuning import Winner, here
from ..schedule import VENDOR, Machine
from .campaign import cell
from .candidates import affordable, candidates, query_of
from .cases import Case
from .environment import versions
from .files import write_anew
from .settings import LEAST, Settings
from .statistics import Summary, ratio, summarize
from .timing import WARM_UP, Timing
from .tune_text import to_toml
from .words import size_words

RUNS = {LEAST: LEAST + WARM_UP + 2, 3: 3 + 2}
"""By the fewest repetitions, how often a contender runs: with warm-up and checks; best first."""

PATIENCE = 2
"""A size that would take so many times its share of the time is not measured."""


@dataclass(frozen=True)
class Verdict:
    """What came of one size.

    ``winner``: the row of the file; ``model``: what the model chooses; ``gain``: the model's time
    over the winner's, with its interval (1 where they are one); ``wrong``: elements, by name;
    ``skipped``: why nothing was measured, if so.
    """

    case: Case
    winner: Winner
    model: str
    gain: tuple[float, float, float] = (1.0, 1.0, 1.0)
    wrong: int = 0
    skipped: str = ""


def judge(
    case: Case, timings: Sequence[Timing], model: str, noise_us: float, allow_vendor: bool
) -> Verdict:
    """The winner of one size: the fastest, if it beats the model's choice by more than noise.

    It does where the interval of their ratio leaves out 1 and their medians differ by more than
    ``noise_us``; else the model's choice stays.  What gave a wrong result cannot win, nor can the
    vendor unless it may.
    """
    right = {one.name: summarize(one.samples_us) for one in timings if not one.wrong}
    times = {name: round(summary.median, 3) for name, summary in right.items()}
    wrong = sum(one.wrong for one in timings)
    able = {name: one for name, one in right.items() if allow_vendor or name != VENDOR}
    if not able:
        return Verdict(case, Winner(case.nbytes, model, times), model, wrong=wrong)
    best = min(able, key=lambda name: able[name].median)
    if model not in able:
        return Verdict(case, Winner(case.nbytes, best, times), model, wrong=wrong)
    gain = _gain(able[model], able[best])
    apart = able[model].median - able[best].median
    use = best if best != model and gain[1] > 1 and apart > noise_us else model
    told = gain if use != model else (1.0, 1.0, 1.0)
    return Verdict(case, Winner(case.nbytes, use, times), model, told, wrong)


def _gain(model: Summary, best: Summary) -> tuple[float, float, float]:
    found = ratio(model, best)
    return found.value, found.low, found.high


def header(links: dict[str, Machine], comm: Communicator, command: str) -> Tuning:
    """A tuning of these ranks with the constants of their links and no winners yet."""
    made = {
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "mpicoll": versions()["mpicoll"],
        "command": command,
    }
    return Tuning(
        place=here(), made=made, nodes=comm.nodes,
        node=links.get("node"), network=links.get("network"),
    )  # fmt: skip


@dataclass(frozen=True)
class Search:
    """The search for winners among the ranks of a communicator that knows the links' constants.

    ``noise_us``: a difference that counts for nothing; ``allow_vendor``: whether it may win.
    """

    comm: Communicator
    settings: Settings
    noise_us: float
    allow_vendor: bool = False

    def verdicts(self, announce: Callable[[str], None]) -> Iterator[list[Verdict]]:
        """Those of one collective after another, in the time of the settings; collective.

        The time that is left is shared by the collectives that are left, and within each by the
        sizes that are left; each size is announced beforehand.
        """
        cases = self.settings.cases(self.comm.Get_size())
        end = perf_counter() + self.settings.time(len(cases))
        names = self.settings.collectives
        for done, name in enumerate(names):
            own = [case for case in cases if case.collective == name]
            until = end - (end - perf_counter()) * (1 - 1 / (len(names) - done))
            found, late = list[Verdict](), 0.0
            for case in own:
                announce(f"{name} {size_words(case.nbytes)}")
                share = max(0.0, until - perf_counter()) / (len(own) - len(found))
                verdict, late = self._size(case, self.comm.vendor.bcast(share), late)
                found.append(verdict)
            yield found

    def _size(self, case: Case, seconds: float, late: float) -> tuple[Verdict, float]:
        """The verdict of one size, and the mean of the seconds that a run took beyond the model's.

        ``late``: that of the size before it, by which this one's time is foreseen.
        """
        chooser = Chooser(self.comm.nodes, self.comm.tuning)
        model = chooser.choose(query_of(case)).algorithm.name
        every = [(name, price + late) for name, price in candidates(chooser, case)]
        fewest, found, needed = _affordable(every, seconds)
        if needed > PATIENCE * seconds:
            reason = f"it would take {needed:.2g} s, of --time {seconds:.2g} s are left for it"
            return Verdict(case, Winner(case.nbytes, model), model, skipped=reason), late
        wanted = replace(self.settings, algorithms=tuple(found), fewest=fewest)
        timings = cell(self.comm, wanted, case, seconds)
        chief = self.comm.rank == 0
        verdict = judge(case, timings, model, self.noise_us, self.allow_vendor) if chief else None
        agreed: Verdict = self.comm.vendor.bcast(verdict)
        beyond = [
            agreed.winner.times[name] * 1e-6 - (price - late)
            for name, price in found.items()
            if name in agreed.winner.times
        ]
        return agreed, max(0.0, sum(beyond) / len(beyond)) if beyond else late


def _affordable(
    every: Sequence[tuple[str, float]], seconds: float
) -> tuple[int, dict[str, float], float]:
    """The fewest repetitions and the contenders that fit into a time, and what they would need.

    The vendor's is taken to need as much as the slowest.
    """
    ways = []
    for fewest, runs in RUNS.items():
        found = dict(affordable(every, seconds, runs))
        ways.append((fewest, found, runs * (sum(found.values()) + max(found.values()))))
    return next((way for way in ways if way[2] <= PATIENCE * seconds), ways[-1])


def with_winners(tuning: Tuning, verdicts: Sequence[Verdict]) -> Tuning:
    """A tuning with the rows of one more collective, but for those of sizes that were skipped."""
    rows = tuple(one.winner for one in verdicts if not one.skipped)
    more = {verdicts[0].case.collective: rows} if rows else {}
    return replace(tuning, winners={**tuning.winners, **more})


def default_name(ranks: int) -> str:
    """The file for a tuning of so many ranks here."""
    place = here()
    words = f"{place.host.partition('.')[0]}-{place.mpi}-{ranks}".lower()
    return f"mpicoll-tuning-{re.sub(r'[^a-z0-9]+', '-', words)}.toml"


def save(tuning: Tuning, path: Path) -> None:
    """Write the file anew, at no moment leaving half of one."""
    write_anew(path, to_toml(tuning))
