"""``mpicoll verify``: proofs, without running MPI."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import click

from ..schedule import (
    Algorithm,
    ScheduleError,
    algorithms,
    collectives,
    find,
    sample_roots,
    verify,
)
from ..schedule.words import counted
from .options import COLLECTIVE, Parsed
from .progress import progress


def parse_ranks(text: str) -> list[int]:
    """Rising numbers of ranks from 8, 1:64 (both ends count) or several with commas between."""
    ranks: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition(":")
        if not (first.isdecimal() and (last or first).isdecimal()):
            raise ValueError(f"ranks {part!r}: expected numbers as in 8, 1:64 or 2,4,16:20")
        run = range(int(first), int(last or first) + 1)
        if not run or run[0] < 1:
            raise ValueError(f"ranks {part!r}: expected 1 <= first <= last")
        ranks.update(run)
    return sorted(ranks)


class Outcome(NamedTuple):
    """What became of one algorithm: how many cases hold, or the first fault."""

    entry: Algorithm
    cases: int
    refused: int
    canonical: bool
    fault: str | None = None

    def __str__(self) -> str:
        name = f"{self.entry.collective} {self.entry.name}"
        if self.fault is not None:
            return f"{name:<34}  FAILED at {self.fault}"
        proved = f"{counted(self.cases, 'case'):>11} proved"
        return f"{name:<34}{proved}{''.join(self._remarks())}"

    def _remarks(self) -> Iterator[str]:
        if self.entry.contract.operates:
            yield ", the operator must commute" if self.entry.commutes else ", in rank order"
            yield ", with the bits of the canonical tree" if self.canonical else ""
        if self.refused:
            yield f", {counted(self.refused, 'number')} of ranks refused"


@click.command(name="verify")
@click.argument("collective", required=False, type=COLLECTIVE)
@click.argument("algorithm", required=False)
@click.option(
    "--ranks",
    type=Parsed("ranks", parse_ranks),
    default="1:64",
    show_default=True,
    help="Numbers of ranks: 8, 1:64 or 2,4,16:20.",
)
@click.option("--root", type=click.IntRange(min=0), help="One root in place of a sample of them.")
def command(
    collective: str | None, algorithm: str | None, ranks: list[int], root: int | None
) -> None:
    """Prove the ALGORITHM of the COLLECTIVE right, or all: on symbols, without running MPI.

    Every message meets its receive, no order of sends can deadlock, and every block ends with each
    contribution exactly once, in rank order where the operator needs it.
    """
    began = time.perf_counter()
    entries = selected(collective, algorithm)
    if root is not None:
        check_root(entries, ranks, root)
    outcomes = []
    with progress(len(entries)) as advance:
        for entry in entries:
            advance(f"{entry.collective} {entry.name}")
            outcomes.append(prove(entry, ranks, root))
    click.echo("\n".join(map(str, outcomes)))
    raise SystemExit(conclude(outcomes, time.perf_counter() - began))


def selected(collective: str | None, algorithm: str | None) -> list[Algorithm]:
    """The algorithms asked for: one, those of a collective, or all."""
    if collective is not None and algorithm is not None:
        return [find(collective, algorithm)]
    chosen = collectives() if collective is None else (collective,)
    return [find(name, one) for name in chosen for one in algorithms(name)]


def check_root(entries: Sequence[Algorithm], ranks: Sequence[int], root: int) -> None:
    """Refuse a root that no case has."""
    if not any(entry.contract.rooted for entry in entries):
        raise click.UsageError(f"--root: {entries[0].collective} has no root; leave it out")
    if root >= ranks[-1]:
        raise click.UsageError(f"--root {root} is not among {ranks[-1]} ranks")


def prove(entry: Algorithm, ranks: Sequence[int], root: int | None) -> Outcome:
    """Verify an algorithm at all numbers of ranks that it serves, until one fails."""
    served = [size for size in ranks if entry.refusal(size) is None]
    refused, done, canonical = len(ranks) - len(served), 0, True
    for size, one in cases(entry, served, root):
        try:
            canonical &= verify(entry, size, one).canonical
        except ScheduleError as error:
            where = f"{size} ranks" + (f", root {one}" if entry.contract.rooted else "")
            return Outcome(entry, done, refused, canonical, f"{where}: {error}")
        done += 1
    return Outcome(entry, done, refused, canonical)


def cases(entry: Algorithm, served: Iterable[int], root: int | None) -> Iterator[tuple[int, int]]:
    """The (number of ranks, root) of all cases; ``root`` in place of a sample of them."""
    for size in served:
        fixed = entry.contract.rooted and root is not None
        for one in [root or 0] if fixed else sample_roots(entry.contract, size):
            if one < size:
                yield size, one


def conclude(outcomes: Sequence[Outcome], seconds: float) -> int:
    """Print the sums and return the exit status; to have proved nothing is an error of usage."""
    proved = sum(outcome.cases for outcome in outcomes)
    failed = sum(outcome.fault is not None for outcome in outcomes)
    if proved + failed == 0:
        raise click.UsageError("nothing was proved: no case is left of these ranks and this root")
    sums = f"{counted(len(outcomes), 'algorithm')}, {counted(proved, 'case')} proved"
    click.echo(f"{sums}, {failed} failed, {seconds:.1f} s")
    return int(failed > 0)
