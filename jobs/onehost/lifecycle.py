"""Up, down and status of a cluster, seen from outside."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from . import needs
from .enter import from_outside
from .errors import ClusterError
from .spec import PLACE, Spec, environment, load

FOLDERS = ("bin", "holders", "log", "tmp")
SPACES = ("--pid", "--fork", "--kill-child", "--mount-proc", "--net", "--uts", "--ipc")
PATIENCE = 60.0
"""Seconds until a cluster must be up."""


def up(spec: Spec) -> bool:
    """Make a cluster; False where just this one is up already.

    Raises ``ClusterError`` where another of that name is up, or something fails; then, as after
    any interruption, nothing is left of it.
    """
    needs.require(spec.slurm)
    if machine(spec.name) is not None:
        if not (spec.files / "ready").exists():
            raise ClusterError(f"cluster {spec.name!r} is just being made by another command")
        if load(spec.name) == spec:
            return False
        raise ClusterError(
            f"cluster {spec.name!r} is up, but is not like that; "
            f"take it down first (jobs/cluster down --name {spec.name}), or choose another --name"
        )
    down(spec.name)
    with undone_on_failure(spec.name):
        start(spec)
    return True


@contextmanager
def undone_on_failure(name: str) -> Iterator[None]:
    """Take the cluster down where what is inside fails or a signal ends it."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = {
        number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)
    }
    try:
        yield
    except BaseException:
        down(name)
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def start(spec: Spec) -> None:
    """Start process 1 of the cluster and wait until all is made."""
    files = spec.files
    for folder in FOLDERS:
        (files / folder).mkdir(parents=True)
    spec.save()
    command = ["unshare", *SPACES, sys.executable, "-m", "onehost.machine", spec.name]
    with (files / "log" / "machine").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=Path(__file__).parent.parent, stdin=subprocess.DEVNULL, stdout=log,
            stderr=log, start_new_session=True, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        )  # fmt: skip
    (files / "pid").write_text(str(process.pid))
    end = time.monotonic() + PATIENCE
    while not (files / "ready").exists():
        if process.poll() is not None or time.monotonic() > end:
            raise ClusterError(f"cluster {spec.name!r} did not come up:\n{logs(files)}")
        time.sleep(0.05)


def logs(files: Path) -> str:
    """The last lines of each process that said something."""
    parts = []
    for path in sorted((files / "log").iterdir()):
        lines = path.read_text(errors="replace").splitlines()[-5:]
        parts += [f"  {path.name}: {line}" for line in lines]
    return "\n".join(parts) or "  (no process said anything)"


def machine(name: str) -> int | None:
    """Process 1 of a cluster, by its number outside; None where it does not run."""
    outer = _parent(name)
    try:
        inner = Path(f"/proc/{outer}/task/{outer}/children").read_text().split()[0]
    except (OSError, IndexError):
        return None
    return int(inner) if _is_of(inner, name) else None


def _parent(name: str) -> int | None:
    """What started process 1 of a cluster, and takes it along when it ends."""
    try:
        number = (Spec(name).files / "pid").read_text()
    except OSError:
        return None
    return int(number) if number and _is_of(number, name) else None


def _is_of(process: int | str, name: str) -> bool:
    """Whether a process is a cluster's process 1 or what started it."""
    try:
        words = Path(f"/proc/{process}/cmdline").read_text().rstrip("\0").split("\0")
    except OSError:
        return False
    return words[-3:] == ["-m", "onehost.machine", name]


def down(name: str) -> bool:
    """End all of a cluster and remove its files; False where there was none."""
    files = Spec(name).files
    processes = [process for process in (_parent(name), machine(name)) if process is not None]
    for process in processes:
        os.kill(process, signal.SIGKILL)
    while any(_is_of(process, name) for process in processes):
        time.sleep(0.02)
    if not files.exists():
        return False
    shutil.rmtree(files)
    if not any(PLACE.iterdir()):
        PLACE.rmdir()
    return True


def names() -> list[str]:
    """The clusters of which there is anything."""
    return sorted(path.name for path in PLACE.iterdir()) if PLACE.is_dir() else []


def require_up(name: str) -> tuple[Spec, int]:
    """A cluster, and its process 1; raises ``ClusterError`` where it is not up."""
    spec, process = load(name), machine(name)
    if spec is None or process is None:
        others = ", ".join(names()) or "none"
        raise ClusterError(
            f"cluster {name!r} is not up (there are: {others}); start it: jobs/cluster up"
        )
    return spec, process


def inside(
    name: str, command: list[str], extra: dict[str, str]
) -> tuple[list[str], dict[str, str]]:
    """What runs a command on the login host from outside, and its variables.

    Raises ``ClusterError`` where the cluster is not up.
    """
    spec, process = require_up(name)
    variables = {**os.environ, **environment(spec), **extra}
    return from_outside(process, command, os.getcwd()), variables
