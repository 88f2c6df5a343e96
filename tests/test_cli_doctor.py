"""``mpicoll doctor`` and how ranks are started: right and wrong launchers, made up and real."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from mpicoll.cli import doctor, launch
from mpicoll.cli.doctor import Finding, lines
from mpicoll.measure.environment import library

HYDRA, OPEN = "HYDRA build details:\n    Version: 5.0", "mpiexec (Open MPI) 5.0.11"
MPICH = {"vendor": "MPICH 5.0.2", "library": "MPICH", "path": ""}
OPENMPI = {"vendor": "Open MPI 5.0.11", "library": "Open MPI", "path": ""}


@pytest.fixture
def launcher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Path]:
    """``launcher(place, version)`` makes an mpiexec; places: python, library, path."""
    for place in ("python", "library", "path"):
        (tmp_path / place / "bin").mkdir(parents=True)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python" / "bin" / "python"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'path' / 'bin'}:/usr/bin:/bin")

    def make(place: str, version: str) -> Path:
        path = tmp_path / place / "bin" / "mpiexec"
        path.write_text(f"#!/bin/sh\ncat <<END\n{version}\nEND\n")
        path.chmod(0o755)
        return path

    return make


def test_the_mpiexec_beside_python_comes_first(
    launcher: Callable[[str, str], Path], tmp_path: Path
) -> None:
    found = {**MPICH, "path": str(tmp_path / "library" / "lib" / "libmpi.so.12")}
    in_path = launcher("path", HYDRA)
    assert launch.find_mpiexec(found).path == str(in_path)
    beside_library = launcher("library", HYDRA)
    assert launch.find_mpiexec(found).path == str(beside_library)
    beside_python = launcher("python", HYDRA)
    assert launch.find_mpiexec(found).path == str(beside_python)
    launcher("python", OPEN)  # of another library: passed over
    assert launch.find_mpiexec(found).path == str(beside_library)


def test_no_mpiexec_of_the_library_names_those_that_are(
    launcher: Callable[[str, str], Path],
) -> None:
    path = launcher("python", OPEN)
    with pytest.raises(click.ClickException) as told:
        launch.find_mpiexec(MPICH)
    assert "no mpiexec can start MPICH 5.0.2" in told.value.message
    assert f"{path} is Open MPI's mpiexec" in told.value.message
    assert "start with srun and leave -n out" in told.value.message


def test_command_lines(launcher: Callable[[str, str], Path]) -> None:
    launcher("python", HYDRA)
    hydra = launch.find_mpiexec(MPICH)
    python = [sys.executable, "-m", "mpi4py", "-m", "mpicoll"]
    line = launch.command_line(hydra, 4, 2, ["check", "-n", "4"])
    assert line == [hydra.path, "-n", "4", *python, "check", "-n", "4"]
    launcher("python", OPEN)
    openmpi = launch.find_mpiexec(OPENMPI)
    assert launch.command_line(openmpi, 2, 2, [])[:3] == [openmpi.path, "-n", "2"]
    crowded = ["--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]
    assert launch.command_line(openmpi, 3, 2, [])[1:5] == crowded


@pytest.mark.parametrize(
    ("environ", "job"),
    [
        ({}, None),
        ({"OMPI_COMM_WORLD_SIZE": "4"}, ("Open MPI's mpiexec", 4)),
        ({"PMI_SIZE": "3", "SLURM_NTASKS": "5"}, ("Hydra's mpiexec", 3)),
        ({"SLURM_STEP_NUM_TASKS": "8"}, ("srun", 8)),
        ({"PMI_SIZE": "2", "MPICOLL_RANKS": "2"}, ("Hydra's mpiexec", 2)),
        ({"MPICOLL_RANKS": "2"}, ("mpicoll -n", 2)),
        ({"PMI_SIZE": ""}, None),
    ],
)
def test_the_job_is_known_by_the_launchers_variables(
    environ: dict[str, str], job: tuple[str, int] | None
) -> None:
    found = launch.current_job(environ)
    assert (found and (found.launcher.name, found.ranks)) == job


def test_how_many_ranks_to_start() -> None:
    assert launch.ranks_to_start(5, {}) == 5
    assert launch.ranks_to_start(5, {"SLURM_NTASKS": "4"}) == 5
    assert (launch.ranks_to_start(None, {}) or 0) >= 2
    assert launch.ranks_to_start(None, {"PMI_SIZE": "3"}) is None
    assert launch.ranks_to_start(3, {"PMI_SIZE": "3"}) is None
    with pytest.raises(click.UsageError, match="-n 2, but this job has 3 ranks"):
        launch.ranks_to_start(2, {"PMI_SIZE": "3"})
    with pytest.raises(launch.WrongLauncher, match=r"SLURM_NTASKS=4.*srun -n 4"):
        launch.ranks_to_start(None, {"SLURM_NTASKS": "4"})


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mpicoll", *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )


def announced(ranks: int) -> dict[str, str]:
    """What the launcher of another MPI library than the one in use tells its ranks."""
    other = "PMI_SIZE" if library()["vendor"].startswith("Open") else "OMPI_COMM_WORLD_SIZE"
    return {other: str(ranks)}


@pytest.mark.parametrize("command", [("check", "barrier"), ("bench", "barrier", "--time", "0")])
def test_a_job_of_the_wrong_launcher_stops_with_the_cure(command: tuple[str, ...]) -> None:
    told = run(*command, **announced(4))
    assert told.returncode == 1
    assert "started by the wrong launcher" in told.stderr
    assert "announced 4 ranks" in told.stderr and "start with " in told.stderr
    assert library()["vendor"] in told.stderr


def test_ranks_that_do_not_know_of_each_other_never_start_ranks_again() -> None:
    told = run("check", "barrier", MPICOLL_RANKS="4")
    assert told.returncode == 1
    assert "mpicoll -n announced 4 ranks (MPICOLL_RANKS=4)" in told.stderr
    assert "sees 1" in told.stderr


def test_slurm_tasks_that_nothing_started_stop_with_the_cure() -> None:
    told = run("check", "barrier", SLURM_NTASKS="4")
    assert told.returncode == 1
    assert "SLURM_NTASKS=4, but this is a single process" in told.stderr
    assert "srun -n 4" in told.stderr


def test_no_library_stops_with_what_to_install() -> None:
    for arguments in (("check", "-n", "2"), ("bench", "-n", "2"), ("doctor",)):
        told = run(*arguments, MPI4PY_LIBMPI="/nowhere/libmpi.so")
        assert told.returncode == 1
        assert "pip install 'mpicoll[mpich]'" in told.stdout + told.stderr
        assert "Traceback" not in told.stderr


@pytest.mark.parametrize("command", ["bench", "check", "doctor"])
def test_help_never_touches_mpi(command: str) -> None:
    told = run(command, "--help", MPI4PY_LIBMPI="/nowhere/libmpi.so")
    assert told.returncode == 0, told.stderr
    program = (
        "import sys; from mpicoll.cli import main\n"
        f"try: main(['{command}', '--help'])\n"
        "finally: print(sorted(m for m in sys.modules if m.startswith('mpi4py')))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert loaded.stdout.rstrip().endswith("[]")


def test_report_of_findings() -> None:
    good, bad = Finding("threads", "multiple"), Finding("cores", "2 for 4", "start at most 2")
    assert lines([good, bad]) == [
        "ok       threads       multiple",
        "PROBLEM  cores         2 for 4",
        "                       cure: start at most 2",
        "1 problem",
    ]
    assert lines([good])[-1] == "no problem found"


@pytest.mark.parametrize(
    ("gpus", "aware", "cupy", "cure", "words"),
    [
        ([], None, False, "", "none seen"),
        (["H200"], True, True, "", "this MPI takes device buffers; CuPy is installed"),
        (["H200"], False, True, "", "does not take device buffers"),
        (["H200"], None, False, "pip install 'mpicoll[cuda13]'", "CuPy is not installed"),
    ],
)
def test_gpus(
    gpus: list[str], aware: bool | None, cupy: bool, cure: str, words: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(doctor, "nvidia_gpus", lambda: gpus)
    monkeypatch.setattr(doctor, "gpu_aware", lambda path: aware)
    monkeypatch.setattr(doctor, "cuda_major", lambda: 13)
    monkeypatch.setattr(doctor, "find_spec", lambda name: object() if cupy else None)
    found = doctor._gpu(MPICH)
    assert found.cure == cure and words in found.found


def test_alone_it_finds_the_library_and_its_launcher() -> None:
    told = run("doctor")
    assert library()["vendor"] in told.stdout
    assert "ok       launcher" in told.stdout
    assert "ok       world         1 rank (no job" in told.stdout
    assert told.returncode == ("PROBLEM" in told.stdout)


def test_under_a_launcher_it_counts_the_ranks(
    mpiexec: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    told = mpiexec(2, "-m", "mpicoll", "doctor")
    assert "ok       world         2 ranks" in told.stdout
    assert told.stdout.count("MPI library") == 1


def test_how_plans_are_replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    from mpicoll.transport.compiled import kernel

    kernel.cache_clear()
    monkeypatch.setenv("MPICOLL_JIT", "0")
    finding = doctor._replay(MPICH)
    assert finding.found.startswith("plans are interpreted (") and not finding.cure
    kernel.cache_clear()
    monkeypatch.setenv("MPICOLL_JIT", "1")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name)
    monkeypatch.setitem(sys.modules, "mpicoll.transport.kernel", None)
    broken = doctor._replay(MPICH)
    assert "Numba does not work here" in broken.found
    assert broken.cure == "mend it, or say MPICOLL_JIT=0"
    kernel.cache_clear()
