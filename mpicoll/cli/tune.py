"""``mpicoll tune``: measure what is fastest here, and keep it in a file."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..schedule import collectives
from . import launch
from .files import agree, require_new
from .options import SIZES, collective_argument, one_of, ranks_option
from .progress import progress

if TYPE_CHECKING:
    from mpi4py import MPI

    from ..measure.settings import Settings
    from ..measure.tune import Search


def _libraries() -> tuple[str, ...]:
    from ..measure.export import libraries

    return libraries()


# fmt: off
@click.command(name="tune")
@collective_argument
@ranks_option
@click.option(
    "--sizes", type=SIZES, default="8:16M:x8", show_default=True, metavar="SIZES",
    help="Bytes: 8,64K,1M or ranges low:high:xFACTOR.",
)
@click.option("--time", "seconds", type=click.FloatRange(min=0), default=60.0, show_default=True,
              metavar="SECONDS", help="For the search; with 0 only the constants are measured.")
@click.option("--output", type=click.Path(path_type=Path), metavar="FILE",
              help="The tuning file; by default named for host, MPI and ranks, in this folder.  "
              "With --export: that file, by default standard output.")
@click.option("--allow-vendor", is_flag=True,
              help="The MPI library's own may win; it advances no non-blocking call of ours.")
@click.option("--from", "source", type=click.Path(path_type=Path, exists=True), metavar="FILE",
              help="A tuning file to export; nothing is measured.")
@click.option("--export", "library", type=one_of("library", _libraries), metavar="openmpi|mpich",
              help="Turn the tuning file of --from into one by which that library chooses.")
@click.option("--seed", type=int, default=1, show_default=True, help="Shuffles the order of turns.")
def command(
    wanted: tuple[str, ...], ranks: int | None, sizes: tuple[int, ...], seconds: float,
    output: Path | None, allow_vendor: bool, source: Path | None, library: str | None, seed: int,
) -> None:
    """Find the fastest algorithm of the COLLECTIVEs (all, if none is named) at each size.

    The constants of the links and the winners go into a tuning file, collective by collective, for
    Communicator(tuning=FILE) or MPICOLL_TUNING=FILE; it holds for this machine, MPI library and
    number of ranks.
    """
    from ..measure.settings import Settings

    if (source is None) != (library is None):
        raise click.UsageError("--from and --export belong together: a tuning file, and for whom")
    if source is not None and library is not None:
        _export(source, library, output)
        return
    settings = Settings(wanted or collectives(), sizes, seconds=seconds, seed=seed)
    number = launch.ranks_to_start(ranks)
    if number is not None:  # in a job, rank 0 looks alone
        require_new(output or _default(number))
    sys.exit(_tune(launch.enter(ranks), settings, output, allow_vendor))
# fmt: on


def _default(ranks: int) -> Path:
    """The file where none is named; MPI is loaded for its name, but not started outside a job."""
    from ..measure.environment import load_without_init

    load_without_init()
    from ..measure.tune import default_name

    return Path(default_name(ranks))


def _export(source: Path, library: str, output: Path | None) -> None:
    """Print or save the winners as a library's file; to standard error, what it comes to."""
    from ..communicator import Tuning, TuningError
    from ..measure.environment import NoLibrary
    from ..measure.export import exporter

    if output is not None:
        require_new(output)
    made = exporter(library)
    try:
        text, notes = made.export(Tuning.load(source))
    except (TuningError, LookupError, NoLibrary) as error:
        raise click.ClickException(str(error)) from error
    if output is None:
        click.echo(text, nl=False)
    else:
        output.write_text(text, encoding="utf-8")
    for note in notes:
        click.echo(note, err=True)
    click.echo(f"use it by: {made.OPTIONS.format(path=output or 'FILE')}", err=True)


def _tune(world: MPI.Intracomm, settings: Settings, output: Path | None, allow_vendor: bool) -> int:
    """Measure, print and save; the exit status, the same on every rank."""
    from ..communicator import Communicator, Tuning
    from ..measure.floor import noise_of
    from ..measure.links import measure_links
    from ..measure.tune import Search, header

    path = output or _default(world.Get_size())
    agree(world, lambda: require_new(path))
    with Communicator(world, tuning=Tuning()) as plain:
        noise_us = noise_of(plain)
        command_line = shlex.join(["mpicoll", *sys.argv[1:]])
        tuning = world.bcast(header(measure_links(plain), plain, command_line))
    with Communicator(world, tuning=tuning) as comm:
        return _search(Search(comm, settings, noise_us, allow_vendor), path)


def _search(search: Search, path: Path) -> int:
    """Print and save what is found, collective by collective; the exit status."""
    from ..measure.tune import save, with_winners
    from ..measure.tune_report import header_lines, section_lines

    comm, tuning, wrong = search.comm, search.comm.tuning, 0
    chief = comm.Get_rank() == 0
    if chief:
        save(tuning, path)
        click.echo("\n".join(header_lines(tuning, search.noise_us)))
    with progress(len(search.settings.cases(comm.Get_size())), shown=chief) as announce:
        for verdicts in search.verdicts(announce):
            tuning = with_winners(tuning, verdicts)
            wrong += sum(one.wrong for one in verdicts)
            announce("")
            if chief:
                save(tuning, path)
                click.echo("\n".join(section_lines(verdicts)))
    if chief:
        click.echo(f"#\n# saved in {path}; use it by: export MPICOLL_TUNING={path.absolute()}")
    return 1 if wrong else 0
