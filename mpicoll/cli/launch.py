"""Starting the ranks: the mpiexec that belongs to the MPI library, and jobs started by a wrong one.

A command that needs ranks calls ``enter``.  Outside a job that starts the same command again under
``mpiexec`` and ends with its exit status; inside it returns the world's communicator.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..schedule.words import counted

if TYPE_CHECKING:
    from mpi4py import MPI

TERMINAL = "MPICOLL_TERMINAL"
"""The variable that tells the ranks how many columns the terminal has that they cannot see."""


@dataclass(frozen=True)
class Launcher:
    """A way to start ranks.

    ``size``: the variable in which it tells its ranks how many they are; ``vendors``: how the names
    of the MPI libraries begin that it can start, all where there are none; ``signs``: what its
    ``--version`` says; ``oversubscribe``: its options to run more ranks than there are cores;
    ``hosts``: what comes before a list of hosts, one for each rank;
    ``certain``: no other launcher sets its variable, as srun may set that of Hydra.
    """

    name: str
    size: str
    vendors: tuple[str, ...] = ()
    signs: tuple[str, ...] = ()
    oversubscribe: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    certain: bool = False

    def starts(self, vendor: str) -> bool:
        """Whether it can start an MPI library of that name."""
        return not self.vendors or vendor.startswith(self.vendors)


LAUNCHERS = (
    Launcher(
        "Open MPI's mpiexec", "OMPI_COMM_WORLD_SIZE", ("Open MPI", "Spectrum MPI"),
        ("Open MPI", "OpenRTE", "PRRTE"),
        # Its ranks spin while they wait, and would keep those that have work off the core.
        ("--oversubscribe", "--mca", "mpi_yield_when_idle", "1"), ("--host",), certain=True,
    ),
    Launcher(
        "Hydra's mpiexec", "PMI_SIZE", ("MPICH", "MVAPICH", "Intel MPI"), ("HYDRA", "Intel(R) MPI"),
        hosts=("-ppn", "1", "-hosts"),
    ),
    Launcher("srun", "SLURM_STEP_NUM_TASKS"),
    Launcher("mpicoll -n", "MPICOLL_RANKS"),
)  # fmt: skip
"""Known launchers, the first that fits counting."""

OURS = LAUNCHERS[-1].size
"""The variable that we set for the ranks that we start, so that they never start ranks again."""

HOSTS = "MPICOLL_HOSTS"
"""The variable that names the file of the hosts to start ranks on."""

ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
"""Open MPI refuses root without these; set for the ranks that we start when the user is root."""


class WrongLauncher(click.ClickException):
    """The job's launcher and the MPI library do not belong together."""


@dataclass(frozen=True)
class Job:
    """The launcher that started this process, and the number of ranks that it announced."""

    launcher: Launcher
    ranks: int


def current_job(environ: Mapping[str, str] = os.environ) -> Job | None:
    """The job that this process is a rank of; None where it was started by itself."""
    for launcher in LAUNCHERS:
        if environ.get(launcher.size, "").isdigit():
            return Job(launcher, int(environ[launcher.size]))
    return None


def default_ranks() -> int:
    """As many ranks as there are cores, and at least 2."""
    from ..measure.environment import allowed_cores

    return max(2, len(allowed_cores()))


def ranks_to_start(ranks: int | None, environ: Mapping[str, str] = os.environ) -> int | None:
    """The number of ranks to start; None inside a job.

    Raises ``click.UsageError`` where the number and the job's differ, and ``WrongLauncher`` where
    SLURM gave several tasks that nothing started.
    """
    job = current_job(environ)
    if job is None:
        tasks = environ.get("SLURM_NTASKS", "1")
        if ranks is None and tasks not in ("", "1"):
            raise WrongLauncher(
                f"SLURM_NTASKS={tasks}, but this is a single process that no launcher started; "
                f"start it with: srun -n {tasks} mpicoll ..., or give -n RANKS"
            )
        return default_ranks() if ranks is None else ranks
    if ranks not in (None, job.ranks):
        raise click.UsageError(
            f"-n {ranks}, but this job has {job.ranks} ranks ({job.launcher.size}={job.ranks}); "
            "leave -n out inside a job"
        )
    return None


def enter(ranks: int | None, argv: Sequence[str] | None = None) -> MPI.Intracomm:
    """The world's communicator, inside a job; outside, start one and end with its exit status."""
    number = ranks_to_start(ranks)
    if number is None:
        return world()
    raise SystemExit(start(number, sys.argv[1:] if argv is None else argv))


def world() -> MPI.Intracomm:
    """``MPI.COMM_WORLD``, initialised; raises ``WrongLauncher`` where its size is not the job's."""
    from ..measure.environment import load_without_init

    found, job, mpi = _library(), current_job(), load_without_init()
    if not mpi.Is_initialized():
        if job is not None and job.launcher.certain and not job.launcher.starts(found["vendor"]):
            raise WrongLauncher(_mismatch(job, found, "cannot be started by it"))
        mpi.Init_thread()
    comm: MPI.Intracomm = mpi.COMM_WORLD
    size = comm.Get_size()
    if job is not None and job.ranks != size:
        raise WrongLauncher(_mismatch(job, found, f"sees {size}"))
    return comm


def _mismatch(job: Job, found: Mapping[str, str], what: str) -> str:
    try:
        cure = f"start with {find_mpiexec(found).path}, or without a launcher and with -n"
    except click.ClickException as error:
        cure = error.message
    return (
        f"started by the wrong launcher: {job.launcher.name} announced {job.ranks} ranks "
        f"({job.launcher.size}={job.ranks}), but {found['vendor']} ({found['path']}) {what}; {cure}"
    )


def _library() -> dict[str, str]:
    """The MPI library in use; where there is none, how to get one as a ``click`` error."""
    from ..measure.environment import NoLibrary, library

    try:
        return library()
    except NoLibrary as error:
        raise click.ClickException(str(error)) from error


@dataclass(frozen=True)
class Mpiexec:
    """An ``mpiexec`` and the launcher that it is."""

    path: str
    launcher: Launcher


def find_mpiexec(found: Mapping[str, str]) -> Mpiexec:
    """The ``mpiexec`` of the MPI library, as ``environment.library`` tells of it.

    It is looked for beside Python, then beside the library, then in PATH.  Raises
    ``click.ClickException`` where there is none that can start that library.
    """
    seen = [mpiexec for path in _candidates(found["path"]) if (mpiexec := _identify(path))]
    for mpiexec in seen:
        if mpiexec.launcher.starts(found["vendor"]):
            return mpiexec
    others = ", ".join(f"{mpiexec.path} is {mpiexec.launcher.name}" for mpiexec in seen)
    raise click.ClickException(
        f"no mpiexec can start {found['vendor']} ({found['path']}); found: {others or 'none'}; "
        "put the one of this MPI library first in PATH, or start with srun and leave -n out"
    )


def _candidates(library: str) -> list[str]:
    beside_python, beside_library = Path(sys.executable).parent, Path(library).parent.parent / "bin"
    places = [str(beside_python), str(beside_library), os.environ.get("PATH", os.defpath)]
    found = [shutil.which("mpiexec", path=place) for place in places]
    return list(dict.fromkeys(path for path in found if path))


def _identify(path: str) -> Mpiexec | None:
    try:
        told = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    text = told.stdout + told.stderr
    matching = (one for one in LAUNCHERS if any(sign in text for sign in one.signs))
    launcher = next(matching, None)
    return Mpiexec(path, launcher) if launcher else None


def command_line(
    mpiexec: Mpiexec, ranks: int, cores: int, argv: Sequence[str], hosts: Sequence[str] = ()
) -> list[str]:
    """What starts the ranks; an exception on one of them ends the whole job with its traceback.

    ``hosts``: one for each rank, in turns; none mean this one.
    """
    launcher = mpiexec.launcher
    crowded = launcher.oversubscribe if ranks > cores else ()
    places = [*launcher.hosts, ",".join(hosts)] if hosts else []
    python = [sys.executable, "-m", "mpi4py", "-m", "mpicoll"]
    return [mpiexec.path, *crowded, *places, "-n", str(ranks), *python, *argv]


def chosen_hosts(environ: Mapping[str, str] = os.environ) -> list[str]:
    """The hosts to start ranks on, each as often as it takes ranks; none mean this one.

    They stand in the file that ``--hosts`` names; raises ``click.UsageError`` where that is wrong.
    """
    path = environ.get(HOSTS)
    if not path:
        return []
    try:
        text = Path(path).read_text()
    except (OSError, UnicodeError) as error:
        raise click.UsageError(f"--hosts {path}: cannot be read: {error}") from error
    lines = [line for line in (raw.partition("#")[0].strip() for raw in text.splitlines()) if line]
    places = [re.fullmatch(r"([\w.-]+)(?::([1-9]\d*))?", line) for line in lines]
    for line, place in zip(lines, places, strict=True):
        if place is None:
            raise click.UsageError(f"--hosts {path}: {line!r}: expected HOST or HOST:RANKS")
    if not lines:
        raise click.UsageError(f"--hosts {path}: no host is there; expected one a line")
    return [place[1] for place in places if place for _ in range(int(place[2] or 1))]


def start(ranks: int, argv: Sequence[str], quiet: bool = False) -> int:
    """Start the ranks of a command and wait for them; the exit status of the job.

    Quiet: without its standard output.
    """
    from ..measure.environment import allowed_cores

    hosts, mpiexec = chosen_hosts(), find_mpiexec(_library())
    cores = len(hosts) or len(allowed_cores())
    if ranks > cores:
        places = f"{counted(cores, 'place')} of --hosts" if hosts else counted(cores, "core")
        click.echo(f"{ranks} ranks on {places}: slow; times will mean little", err=True)
    line = command_line(mpiexec, ranks, cores, argv, hosts)
    out = subprocess.DEVNULL if quiet else None
    environment = _environment() | {OURS: str(ranks)}
    job = subprocess.run(line, stdin=subprocess.DEVNULL, stdout=out, env=environment)
    return job.returncode if job.returncode >= 0 else 128 - job.returncode


def _environment() -> dict[str, str]:
    """This process's variables, with what root needs and what the ranks cannot see."""
    root = ROOT if hasattr(os, "geteuid") and os.geteuid() == 0 else {}
    columns = str(shutil.get_terminal_size().columns)
    terminal = {TERMINAL: columns} if sys.stderr.isatty() else {}
    return {**os.environ, **root, **terminal}
