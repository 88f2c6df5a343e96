"""``mpicoll doctor``: what is wrong with MPI here, and the cure of each problem."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from platform import node
from statistics import median
from typing import TYPE_CHECKING

import click

from ..measure.devices import cuda_major, gpu_aware, nvidia_gpus
from ..measure.environment import NoLibrary, allowed_cores, library, thread_level
from ..schedule.words import counted
from . import launch

if TYPE_CHECKING:
    from mpi4py import MPI

PATIENCE_S = 10.0
"""How long a rank waits for its neighbours."""

SHOWN = 32
"""How many hosts are listed."""


@dataclass(frozen=True)
class Finding:
    """One line of the report: what was looked at, what was found, and the cure of a problem."""

    subject: str
    found: str
    cure: str = ""


@click.command(name="doctor")
def command() -> None:
    """Look at the MPI library, its launcher, threads, cores and GPUs; name each problem's cure.

    On several ranks also at their hosts, at messages between neighbours and at an allreduce.  Run
    it alone, or under the launcher in doubt.  Where there is a problem the exit status is 1.
    """
    findings = list(examine())
    if _speaks():
        click.echo("\n".join(lines(findings)))
    sys.exit(1 if any(finding.cure for finding in findings) else 0)


def _speaks() -> bool:
    """Whether this rank prints: rank 0, or each of those that do not know of each other."""
    mpi = sys.modules.get("mpi4py.MPI")
    return mpi is None or not mpi.Is_initialized() or mpi.COMM_WORLD.Get_rank() == 0


def lines(findings: list[Finding]) -> list[str]:
    """The report."""
    problems = sum(bool(finding.cure) for finding in findings)
    verdict = counted(problems, "problem") if problems else "no problem found"
    return [line for finding in findings for line in _lines(finding)] + [verdict]


def _lines(finding: Finding) -> list[str]:
    mark = "PROBLEM" if finding.cure else "ok"
    cure = [f"{'':<9}{'':<14}cure: {finding.cure}"] if finding.cure else []
    return [f"{mark:<9}{finding.subject:<14}{finding.found}", *cure]


def examine() -> Iterator[Finding]:
    """All findings; without an MPI library only that."""
    try:
        found = library()
    except NoLibrary as error:
        problem, _, cure = str(error).partition("; ")
        yield Finding("MPI library", problem, cure)
        return
    yield Finding("MPI library", f"{found['vendor']}: {found['path'] or 'file not seen'}")
    yield _launcher(found)
    for part in (_world, _threads, _cores, _replay, _gpu):
        yield part(found)
    mpi = sys.modules["mpi4py.MPI"]
    if mpi.Is_initialized() and mpi.COMM_WORLD.Get_size() > 1:
        for check in (_mapping, _neighbours, _allreduce):
            yield check(mpi.COMM_WORLD)


def _launcher(found: dict[str, str]) -> Finding:
    try:
        mpiexec = launch.find_mpiexec(found)
    except click.ClickException as error:
        problem, _, cure = error.message.partition("; ")
        return Finding("launcher", problem, cure.partition("; ")[2] or cure)
    return Finding("launcher", f"{mpiexec.launcher.name} starts it: {mpiexec.path}")


def _world(found: dict[str, str]) -> Finding:
    """The ranks that the launcher announced and those that MPI sees; initialises MPI."""
    try:
        ranks = launch.ranks_to_start(None)
        size = launch.world().Get_size()
    except launch.WrongLauncher as error:
        problem, _, cure = error.message.partition("; ")
        return Finding("world", problem, cure)
    alone = " (no job; give a command -n RANKS and it starts them)" if ranks else ""
    return Finding("world", f"{counted(size, 'rank')}{alone}")


def _threads(found: dict[str, str]) -> Finding:
    mpi = sys.modules["mpi4py.MPI"]
    if not mpi.Is_initialized():
        return Finding("threads", "not known, since MPI was not initialised")
    return Finding("threads", thread_level(mpi.Query_thread()))


def _cores(found: dict[str, str]) -> Finding:
    """Cores and ranks of this host."""
    mpi, allowed = sys.modules["mpi4py.MPI"], len(allowed_cores())
    if not mpi.Is_initialized():
        return Finding("cores", f"{allowed}")
    here = mpi.COMM_WORLD.Split_type(mpi.COMM_TYPE_SHARED)
    allowed = len(set().union(*here.allgather(allowed_cores())))
    ranks = here.Get_size()
    here.Free()
    crowded = f"start at most {allowed} ranks a host, or give the job more cores"
    return Finding("cores", f"{allowed} for {ranks} on this host", crowded * (ranks > allowed))


def _replay(found: dict[str, str]) -> Finding:
    """Whether short plans are compiled; a Numba that does not work is a problem."""
    from ..transport.compiled import kernel

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        walk = kernel()
    if caught:
        problem, _, cure = str(caught[0].message).rpartition("; ")
        return Finding("replay", problem, cure)
    if walk is not None:
        return Finding("replay", "short plans are compiled by Numba")
    why = "MPICOLL_JIT=0" if find_spec("numba") else "Numba is not installed: mpicoll[jit]"
    return Finding("replay", f"plans are interpreted ({why})")


def _mapping(world: MPI.Intracomm) -> Finding:
    """Which ranks are on which host."""
    places: dict[str, list[str]] = {}
    for rank, host in enumerate(world.allgather(node())):
        places.setdefault(host, []).append(str(rank))
    listed = [f"{host}: {' '.join(ranks)}" for host, ranks in list(places.items())[:SHOWN]]
    more = [f"and {len(places) - SHOWN} more"] if len(places) > SHOWN else []
    return Finding("hosts", "; ".join([*listed, *more]))


def _neighbours(world: MPI.Intracomm) -> Finding:
    """Messages round the ring of ranks; where one does not come, the job ends here."""
    from ..measure.preflight import MESSAGE, message_ms, silent_neighbours
    from ..measure.words import size_words

    silent = silent_neighbours(world, PATIENCE_S)
    if silent:
        _give_up(world, silent)
    times = world.allgather(message_ms(world))
    slowest = max(range(len(times)), key=times.__getitem__)
    return Finding(
        "neighbours",
        f"all answer; a message of {size_words(MESSAGE)} takes {median(times):.2f} ms, "
        f"at most {times[slowest]:.2f} (rank {(slowest - 1) % len(times)} to {slowest})",
    )


def _give_up(world: MPI.Intracomm, silent: list[int]) -> None:
    """Say who was not heard, leave the others time to say so too, and end the job."""
    peers = " and ".join(map(str, silent))
    missed = Finding(
        "neighbours",
        f"rank {world.Get_rank()} on {node()} heard nothing from rank {peers} in {PATIENCE_S:g} s",
        "name a network that joins all hosts: UCX_NET_DEVICES=eth0 (MPICH), "
        "OMPI_MCA_btl_tcp_if_include=eth0 (Open MPI), FI_TCP_IFACE=eth0 (Intel MPI); "
        "open the firewall between them",
    )
    click.echo("\n".join(_lines(missed)))
    sys.stdout.flush()
    time.sleep(1)
    world.Abort(1)


def _allreduce(world: MPI.Intracomm) -> Finding:
    from ..measure.preflight import wrong_allreduces

    wrong = wrong_allreduces(world)
    cure = "run mpicoll check for the cells that are wrong, and update the MPI library"
    found = f"wrong: {' and '.join(wrong)}" if wrong else "right, the vendor's and ours"
    return Finding("allreduce", found, cure if wrong else "")


def _gpu(found: dict[str, str]) -> Finding:
    """GPUs, CuPy and whether MPI takes device pointers; imports nothing that is not there."""
    gpus = nvidia_gpus()
    if not gpus:
        return Finding("GPU", "none seen (no nvidia-smi, or it lists none)")
    aware = {True: "takes", False: "does not take", None: "does not say whether it takes"}
    words = f"{', '.join(gpus)}; this MPI {aware[gpu_aware(found['path'])]} device buffers"
    extra = f"cuda{max(12, min(13, cuda_major() or 12))}"
    if find_spec("cupy") is None:
        return Finding("GPU", f"{words}; CuPy is not installed", f"pip install 'mpicoll[{extra}]'")
    return Finding("GPU", f"{words}; CuPy is installed")
