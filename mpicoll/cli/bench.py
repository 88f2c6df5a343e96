"""``mpicoll bench``: time every algorithm of every collective beside the vendor's."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from platform import node
from typing import TYPE_CHECKING, Any

import click

from ..schedule import Machine, Unserved, collectives
from . import launch
from .files import agree
from .options import (
    DTYPE,
    MACHINE,
    OPERATOR,
    RATE,
    SIZES,
    algorithms_option,
    collective_argument,
    ranks_option,
    require_algorithms,
)
from .outputs import Outputs, format_option, plot_option
from .progress import progress
from .repeat import run_launches

if TYPE_CHECKING:
    from mpi4py import MPI

    from ..communicator import Communicator
    from ..measure.cases import Case
    from ..measure.record import Record
    from ..measure.settings import Settings
    from ..measure.timing import Timing


# fmt: off
@click.command(name="bench")
@collective_argument
@ranks_option
@click.option(
    "--sizes", type=SIZES, default="4:64M:x4", show_default=True, metavar="SIZES",
    help="Bytes: 8,64K,1M or ranges low:high:xFACTOR.",
)
@algorithms_option
@click.option("--dtype", type=DTYPE, default="float32", show_default=True, help="NumPy's name.")
@click.option("--op", type=OPERATOR, default="sum", show_default=True, help="The operator.")
@click.option("--root", type=click.IntRange(min=0), default=0, show_default=True, help="The root.")
@click.option("--in-place", is_flag=True, help="Call with MPI.IN_PLACE where that exists.")
@click.option(
    "--call", type=click.Choice(["persistent", "blocking"]), default="persistent",
    show_default=True, help="Our algorithms as plans bound once, or as ordinary calls.",
)
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Save the full record.")
@click.option("--resume", "resume_file", type=click.Path(path_type=Path), metavar="FILE",
              help="As --json; where FILE is there, measure only the cells that it lacks.")
@plot_option
@format_option
@click.option("--seed", type=int, default=1, show_default=True, help="Shuffles the order of turns.")
@click.option("--time", "seconds", type=click.FloatRange(min=0), metavar="SECONDS",
              help="For a launch; by default 1 a cell and at most 100.")
@click.option("--repetitions", "fewest", type=click.IntRange(min=1), default=8, show_default=True,
              help="The fewest of a cell, however long they take.")
@click.option("--link", "rate", type=RATE, metavar="RATE",
              help="Of the links, each way, as 100mbit: the plot shows what they allow.")
@click.option("--machine", type=MACHINE, metavar="ALPHA,BETA,GAMMA",
              help="In s and s/byte: the plot shows the lower bound by these constants; "
              "by default those of the tuning file, if there is one.")
@click.option("--launches", type=click.IntRange(min=1), default=1, show_default=True,
              help="Jobs to start one after the other; with 4 or more their medians are compared.")
def command(
    wanted: tuple[str, ...], ranks: int | None, json_file: Path | None, resume_file: Path | None,
    plot_file: Path | None, report: str, call: str, launches: int, rate: float | None,
    machine: Machine | None, **options: Any,
) -> None:
    """Time every algorithm of the COLLECTIVEs (all, if none is named) beside the vendor's.

    Each result is checked before and after it is timed; a wrong one makes the exit status 1.
    """
    from ..measure.settings import Settings

    options["machine"] = _constants(rate, machine)
    settings = Settings(wanted or collectives(), persistent=call == "persistent", **options)
    outputs = Outputs(report, json_file, plot_file, resume_file)
    number = launch.ranks_to_start(ranks)
    if number is not None:
        _require_runnable(settings, number)
        outputs.require_new()
    if launches > 1:
        sys.exit(_several(settings, number, launches, outputs))
    world = launch.enter(ranks)
    _require_runnable(settings, world.Get_size())
    sys.exit(_bench(world, settings, outputs))
# fmt: on


def _constants(rate: float | None, machine: Machine | None) -> Machine | None:
    """The constants of the lower bound, as far as it was asked for."""
    from ..measure.limits import link

    if rate and machine:
        raise click.UsageError("--link and --machine both give the lower bound; leave one out")
    return link(rate) if rate else machine


def _require_runnable(settings: Settings, ranks: int) -> None:
    """Raise ``click.UsageError`` where what was asked for cannot be measured on so many ranks."""
    require_algorithms(settings.algorithms, settings.collectives)
    if settings.root >= ranks:
        raise click.UsageError(f"--root {settings.root}: expected less than the {ranks} ranks")
    try:
        cells = settings.cases(ranks)
    except (TypeError, Unserved) as error:
        raise click.UsageError(str(error)) from error
    if not cells:
        names = ", ".join(settings.algorithms)
        raise click.UsageError(f"--algorithms {names}: nothing to run; name at least one")


def _several(settings: Settings, ranks: int | None, launches: int, outputs: Outputs) -> int:
    """Run and merge several launches, print and save; the exit status."""
    if ranks is None:
        raise click.UsageError(
            f"--launches {launches}: a job is one launch; leave it out inside one"
        )
    if outputs.resume_file is not None:
        raise click.UsageError(
            "--resume: a launch goes on with one of its own; leave --launches out"
        )
    merged = run_launches(settings, ranks, launches)
    outputs.deliver(merged)
    return 1 if any(row["wrong"] for row in merged["rows"]) else 0


def _bench(world: MPI.Intracomm, settings: Settings, outputs: Outputs) -> int:
    """Measure, print and save; the exit status, the same on every rank."""
    from ..communicator import Communicator

    agree(world, outputs.require_new)
    earlier = agree(world, outputs.earlier)
    with Communicator(world) as comm:
        settings = _with_tuning(settings, comm)
        record = _record(comm, settings, outputs.record_file, earlier)
        _measure(comm, settings, record, outputs.report)
        if comm.Get_rank() == 0:
            outputs.draw(record.data)
        wrong: int = world.bcast(sum(row["wrong"] for row in record.rows))
    return 1 if wrong else 0


def _with_tuning(settings: Settings, comm: Communicator) -> Settings:
    """The settings, with the constants of the tuning file where none were given."""
    measured = comm.tuning.network if len(set(comm.nodes)) > 1 else comm.tuning.node
    return replace(settings, machine=settings.machine or measured)


def _record(
    comm: Communicator, settings: Settings, path: Path | None, earlier: dict[str, Any] | None
) -> Record:
    from ..measure.floor import measure_floor
    from ..measure.record import Record, header, resumed

    hosts = set(comm.vendor.allgather(node()))
    floor = measure_floor(comm, one_host=len(hosts) == 1)
    described = header(comm.vendor, sys.argv, settings.method(comm.Get_size()), floor)
    try:
        again = None if earlier is None else resumed(earlier, described)
    except ValueError as error:
        raise click.UsageError(f"--resume {path}: {error}; name another file") from error
    return Record(described, path if comm.Get_rank() == 0 else None, again)


def _measure(comm: Communicator, settings: Settings, record: Record, report: str) -> None:
    """Measure all cells; rank 0 prints each collective's table when it is complete."""
    from ..measure.campaign import run
    from ..measure.report import report_format

    cases, out = settings.cases(comm.Get_size()), report_format(report)
    missing = [case for case in cases if not record.has(case)]
    chief = comm.Get_rank() == 0
    show = _print if chief else _ignore
    show(out.header(record.data))
    with progress(len(missing), shown=chief) as announce:
        cells = run(comm, settings, missing, announce)
        for name in dict.fromkeys(case.collective for case in cases):
            for _ in range(sum(case.collective == name for case in missing)):
                _save(record, comm, *next(cells))
            rows = [row for row in record.rows if row["collective"] == name]
            announce("")
            show(out.section(record.data, rows) if chief else [])
    show(out.footer(record.data))


def _save(record: Record, comm: Communicator, case: Case, timings: list[Timing]) -> None:
    from ..measure.record import rows_of

    if comm.Get_rank() == 0:
        record.add(rows_of(case, comm.Get_size(), timings, comm.nodes))


def _print(lines: Sequence[str]) -> None:
    if lines:
        click.echo("\n".join(lines))


def _ignore(lines: Sequence[str]) -> None:
    pass
