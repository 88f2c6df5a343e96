"""``mpicoll check``: every algorithm against NumPy, and against the vendor where it is right."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from ..schedule import VENDOR, collectives
from . import launch
from .options import (
    algorithms_option,
    collective_argument,
    ranks_option,
    require_algorithms,
    require_served,
)
from .progress import progress

if TYPE_CHECKING:
    from mpi4py import MPI

    from ..measure.checking import Tally

SHOWN = 10
"""How many wrong cells of a collective are named."""


@click.command(name="check")
@collective_argument
@ranks_option
@algorithms_option
@click.option("--quick", is_flag=True, help="A part of the cells, in well below a minute.")
def command(
    wanted: tuple[str, ...], ranks: int | None, algorithms: tuple[str, ...], quick: bool
) -> None:
    """Check every algorithm of the COLLECTIVEs (all, if none is named) against NumPy.

    Dtypes, operators, counts, roots, in place, v-forms with uneven counts, blocking, non-blocking
    and persistent; also the automatic choice, and the vendor where it can be trusted.  Where
    anything is wrong the exit status is 1.
    """
    names = wanted or collectives()
    require_algorithms(algorithms, names)
    number = launch.ranks_to_start(ranks)
    if number is not None:
        require_served(algorithms, names, number)
    world = launch.enter(ranks)
    require_served(algorithms, names, world.Get_size())
    sys.exit(_check(world, names, None if algorithms == ("all",) else algorithms, quick))


def _check(
    world: MPI.Intracomm, names: tuple[str, ...], algorithms: tuple[str, ...] | None, quick: bool
) -> int:
    from ..communicator import Communicator
    from ..measure.checking import check
    from ..measure.environment import library
    from ..measure.matrix import probes

    chief = world.Get_rank() == 0
    size = world.Get_size()
    if chief:
        click.echo(f"# {library()['vendor']}, {size} ranks")
        click.echo(f"{'collective':<16}{'cells':>8}{'wrong':>8}")
    tallies = []
    with Communicator(world) as comm, progress(len(names), shown=chief) as announce:
        for name in names:
            announce(name)
            tallies.append(check(comm, name, probes(name, size, quick), algorithms))
            announce("")
            if chief:
                click.echo("\n".join(tally_lines(tallies[-1])))
    if chief:
        click.echo("\n".join(total_lines(tallies)))
    return 1 if any(tally.wrong for tally in tallies) else 0


def tally_lines(tally: Tally) -> list[str]:
    """The line of a collective, and its first wrong cells in words."""
    shown = list(tally.wrong.items())[:SHOWN]
    more = tally.wrong_cells - len(shown)
    return [
        f"{tally.collective:<16}{tally.cells.total():>8}{tally.wrong_cells:>8}",
        *(f"  wrong: {cell}: {elements} elements" for cell, elements in shown),
        *([f"  and {more} more"] if more else []),
    ]


def total_lines(tallies: list[Tally]) -> list[str]:
    """The closing lines."""
    cells = sum(tally.cells.total() for tally in tallies)
    vendor = sum(tally.cells[VENDOR] for tally in tallies)
    wrong = sum(tally.wrong_cells for tally in tallies)
    return [
        f"{'total':<16}{cells:>8}{wrong:>8}",
        f"# {cells - vendor} cells of ours, {vendor} of the vendor's, against NumPy: {wrong} wrong",
    ]
