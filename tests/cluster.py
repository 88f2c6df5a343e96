"""What the tests on a cluster share: whether there can be one, and how to use it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
COMMAND = str(ROOT / "jobs" / "cluster")

PROGRAMS = {
    "slurmctld": "slurmctld", "slurmd": "slurmd", "sbatch": "slurm-client", "munged": "munge",
    "ip": "iproute2", "tc": "iproute2",
}  # fmt: skip


def obstacle() -> str:
    """Why there can be no cluster here, and the cure; empty where there can."""
    path = f"{os.environ['PATH']}:/usr/sbin:/sbin"
    lacking = {package for name, package in PROGRAMS.items() if not shutil.which(name, path=path)}
    if lacking:
        return f"a cluster needs Debian packages: apt-get install {' '.join(sorted(lacking))}"
    if os.geteuid() != 0:
        return "a cluster needs root: run the tests as root"
    spaces = ["unshare", "--net", "--pid", "--mount", "--uts", "--ipc", "--fork", "true"]
    if subprocess.run(spaces, capture_output=True).returncode:
        return "a cluster needs namespaces, which this container forbids: start it --privileged"
    return ""


needs_cluster = pytest.mark.skipif(bool(obstacle()), reason=obstacle())
"""Skips where this machine or user cannot run a cluster, and says what is missing."""

ENDED = ("COMPLETED", "FAILED", "TIMEOUT", "CANCELLED", "NODE_FAIL", "OUT_OF_MEMORY", "BOOT_FAIL")


def call(*words: str, timeout: float = 60, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run ``jobs/cluster``."""
    return subprocess.run(
        [COMMAND, *words],
        cwd=ROOT, env={**os.environ, **variables}, capture_output=True, text=True, timeout=timeout,
    )  # fmt: skip


@dataclass(frozen=True)
class Cluster:
    """A cluster that is up, by its name."""

    name: str

    def run(self, *words: str, on: str = "login", **variables: str) -> str:
        """The standard output of a command on one of its hosts, which must succeed."""
        ended = call("run", "--name", self.name, "--on", on, "--", *words, **variables)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return ended.stdout

    def submit(
        self, script: str, folder: Path, *words: str, options: tuple[str, ...] = (), **settings: str
    ) -> Job:
        """Submit a job script with the arguments ``words``; its results go to the folder."""
        venv = {"MPICOLL_VENV": sys.prefix, "MPICOLL_RESULTS": str(folder)}
        head = ("sbatch", "--parsable", f"--output={folder}/%j.out", *options)
        told = self.run(*head, f"jobs/{script}.sbatch", *words, **{**venv, **settings})
        return Job(self, int(told), folder, script)


@dataclass(frozen=True)
class Job:
    """A job that was submitted."""

    cluster: Cluster
    number: int
    folder: Path
    script: str

    @property
    def results(self) -> Path:
        """The folder that it makes for its results."""
        return self.folder / f"{self.script}-{self.number}"

    @property
    def output(self) -> str:
        """What it has said so far."""
        path = self.folder / f"{self.number}.out"
        return path.read_text() if path.exists() else ""

    def shown(self, key: str) -> str:
        """A field of what scontrol shows of it."""
        text = self.cluster.run("scontrol", "show", "job", "--oneliner", str(self.number))
        match = re.search(rf"\b{key}=(\S+)", text)
        assert match, text
        return match[1]

    def wait(self, seconds: float) -> int:
        """Its exit status, when it has ended; that must be so in time."""
        until(lambda: self.shown("JobState") in ENDED, seconds, self)
        return int(self.shown("ExitCode").partition(":")[0])

    def measured(self) -> list[Path]:
        """The records that it has saved so far."""
        return [path for path in self.results.glob("*.json") if path.stat().st_size]


def until(ready: Callable[[], bool], seconds: float, job: Job | None = None) -> None:
    """Wait until something is so; that must be in time."""
    end = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < end, f"not after {seconds} s: {job and job.output}"
        time.sleep(0.2)


@contextmanager
def cluster(name: str, *options: str) -> Iterator[Cluster]:
    """A cluster, for as long as it is needed."""
    made = call("up", "--name", name, *options)
    assert made.returncode == 0, made.stderr
    try:
        yield Cluster(name)
    finally:
        ended = call("down", "--name", name)
        assert ended.returncode == 0, ended.stderr
