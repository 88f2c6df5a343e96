"""Open MPI: a rules file of its component ``tuned``.

Source of the format: Open MPI 5.0's documentation, "Tuning Collectives".  The numbers of the
algorithms are those of ``ompi_info --param coll tuned --level 9``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil
from typing import NamedTuple

from ...communicator.tuning import Tuning
from ...schedule import Algorithm
from ...schedule.steps import largest_power_of_two
from ._segments import Segment, segments

OPTIONS = (
    "mpiexec --mca coll ^han --mca coll_tuned_use_dynamic_rules 1 "
    "--mca coll_tuned_dynamic_rules_filename {path} ..."
)
"""Where ranks are on several nodes ``han`` would stand before ``tuned``."""


class Rule(NamedTuple):
    """An algorithm by its number, its fan-in or fan-out (0: its own) and the bytes of a segment."""

    algorithm: int
    fan: int = 0
    segment: int = 0


Make = Callable[[Algorithm, int, int], Rule | None]
"""(algorithm, ranks, bytes) -> rule."""


def _number(number: int) -> Make:
    return lambda entry, ranks, nbytes: Rule(number)


def _pipeline(number: int, fan: int = 0) -> Make:
    """An algorithm that sends a vector in segments, as many as ours has stripes."""
    return lambda entry, ranks, nbytes: Rule(number, fan, _part(nbytes, _stripes(entry)))


def _ring(entry: Algorithm, ranks: int, nbytes: int) -> Rule:
    """With stripes a block of the ring goes in so many segments."""
    stripes = _stripes(entry)
    return Rule(4) if stripes == 1 else Rule(5, 0, _part(nbytes, stripes * ranks))


def _scatter_allgather(entry: Algorithm, ranks: int, nbytes: int) -> Rule:
    """As ours, recursive doubling at a power of two, else round the ring."""
    return Rule(8 if ranks == largest_power_of_two(ranks) else 9)


def _binary(number: int) -> Make:
    """An algorithm that is there with radix 2 alone."""
    return lambda entry, ranks, nbytes: Rule(number) if _radix(entry, ranks) == 2 else None


def _radix(entry: Algorithm, ranks: int) -> int:
    return entry.settings(ranks)["radix"]


def _stripes(entry: Algorithm) -> int:
    return entry.options.get("stripes", 1)


def _part(nbytes: int, parts: int) -> int:
    """The bytes of a segment; 0, which is none, where there is but one."""
    return 0 if parts == 1 else ceil(nbytes / parts)


THEIRS: dict[str, tuple[str, int, dict[str, Make]]] = {
    "allgather": ("allgather", 0, {
        "bruck": _binary(2), "recursive_doubling": _number(3), "ring": _number(4),
        "neighbor_exchange": _number(5),
    }),
    "allreduce": ("allreduce", 2, {
        "star": _number(1), "recursive_doubling": _number(3), "ring": _ring,
        "rabenseifner": _number(6),
    }),
    "alltoall": ("alltoall", 3, {
        "linear": _number(1), "pairwise": _number(2), "bruck": _binary(3),
    }),
    "barrier": ("barrier", 6, {
        "linear": _number(1), "dissemination": _binary(4), "tree": _number(6),
    }),
    "bcast": ("bcast", 7, {
        "linear": _number(1), "chain": _pipeline(3), "binary_tree": _pipeline(5),
        "binomial": _pipeline(6), "scatter_allgather": _scatter_allgather,
    }),
    "exscan": ("exscan", 8, {"linear": _number(1), "recursive_doubling": _number(2)}),
    "gather": ("gather", 9, {"linear": _number(1), "binomial": _number(2)}),
    "reduce": ("reduce", 11, {
        "linear": _number(1), "chain": _pipeline(3), "binomial": _pipeline(5),
        "rabenseifner": _number(7),
    }),
    "reduce_scatter": ("reduce_scatter", 12, {"recursive_halving": _number(2), "ring": _number(3)}),
    "reduce_scatter_block": ("reduce_scatter", 13, {
        "recursive_doubling": _number(2), "recursive_halving": _number(3),
    }),
    "scan": ("scan", 14, {"linear": _number(1), "recursive_doubling": _number(2)}),
    "scatter": ("scatter", 15, {"linear": _number(1), "binomial": _number(2)}),
}  # fmt: skip
"""Open MPI's collectives: ours, its number there, and what each of our algorithms is there."""


WITHOUT_SIZES = ("exscan", "gather", "scan", "scatter")
"""Those whose rules cannot depend on the size: where one algorithm does not serve all, no rule.

Open MPI 5.0 takes the size of a scan for that of an element, and in a gather or scatter looks at
arguments that do not count on every rank, so that ranks would run different algorithms.
"""

ORDER = (
    "for operators that commute only: Open MPI runs what its rules say for others too, and some "
    "of it gives wrong results there"
)
"""Seen with 5.0.11: ring and pipeline, with an operator that was made with commute=False."""


def export(tuning: Tuning) -> tuple[str, list[str]]:
    """The rules file, and notes.

    Sizes are n in both.  For other numbers of ranks the rules leave Open MPI to choose.
    """
    ranks, parts, notes = len(tuning.nodes), list[str](), list[str]()
    for name, (ours, number, makes) in THEIRS.items():
        rows = tuning.winners.get(ours, ())
        found, told = segments(ours, rows, ranks, makes)
        notes += [note if name == ours else f"{name}, {note}" for note in told]
        if name in WITHOUT_SIZES and len(found) > 1:
            notes.append(f"{name}: no rule, since Open MPI does not tell its sizes apart")
        elif found:
            parts.append(_collective(name, number, ranks, found))
    notes += [ORDER] if {"reduce", "allreduce", "reduce_scatter"} & tuning.winners.keys() else []
    heading = f"# Winners of mpicoll tune on {ranks} ranks, from {tuning.path}"
    counted = f"{len(parts)} # collectives"
    return "\n".join([heading, *(f"# {note}" for note in notes), counted, *parts]) + "\n", notes


def _collective(name: str, number: int, ranks: int, found: Sequence[Segment[Rule]]) -> str:
    """A collective's rules at three numbers of ranks: fewer, ours, and more."""
    lines = [f"{number} # {name}", "3 # numbers of ranks"]
    free = ["1 # size", "0 0 0 0"]
    lines += ["0 # ranks and more", *free, f"{ranks} # ranks", f"{len(found)} # sizes"]
    for segment in found:
        rule = segment.theirs or Rule(0)
        lines.append(f"{segment.above + 1} {rule.algorithm} {rule.fan} {rule.segment}")
    return "\n".join([*lines, f"{ranks + 1} # ranks and more", *free])
