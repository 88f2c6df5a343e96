"""``mpicoll tune``: refusals before anything starts, a real search, its file used and exported."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from mpicoll.cli import main
from mpicoll.communicator.tuning import Tuning, here
from mpicoll.measure.tune import default_name

PROGRAM = """
import mpicoll
from mpi4py import MPI

with mpicoll.Communicator(MPI.COMM_WORLD) as comm:
    told = comm.explain("allreduce", 4096)
    if comm.rank == 0:
        print(told.algorithm, "|", told.why)
"""


def refuse(*arguments: str) -> str:
    """The message of a command line that must be refused with status 2."""
    result = CliRunner().invoke(main, ["tune", "-n", "2", *arguments])
    assert result.exit_code == 2, result.output
    return " ".join(result.output.split())


def tune(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A real run, in a folder."""
    command = [sys.executable, "-m", "mpicoll", "tune", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=100, cwd=folder)


def test_what_cannot_be_is_refused(tmp_path: Path) -> None:
    there = tmp_path / "there.toml"
    there.write_text("precious")
    assert "unknown collective 'shuffle'" in refuse("shuffle")
    assert "there.toml is there already and is not overwritten" in refuse("--output", str(there))
    assert "there is no directory" in refuse("--output", str(tmp_path / "no" / "a.toml"))
    assert "--from and --export belong together" in refuse("--export", "openmpi")
    assert "--from and --export belong together" in refuse("--from", str(there))
    assert "unknown library 'impi'; choose from: mpich, openmpi" in refuse(
        "--from", str(there), "--export", "impi"
    )
    assert there.read_text() == "precious"


def test_an_export_needs_a_sound_tuning_file(tmp_path: Path) -> None:
    broken = tmp_path / "broken.toml"
    broken.write_text("schema = 1\n")
    command = ["tune", "--from", str(broken), "--export", "openmpi"]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 1
    assert "broken.toml, line 1: run: it is missing" in result.output


def test_a_search_writes_what_a_communicator_uses_and_other_libraries_too(
    tmp_path: Path,
    mpiexec: Callable[..., subprocess.CompletedProcess[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ran = tune(
        tmp_path, "allreduce", "barrier", "-n", "2", "--sizes", "8,4K", "--time", "15",
        "--output", "t.toml",
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    assert lines[0].startswith("# mpicoll ") and "# allreduce" in lines and "# barrier" in lines
    assert lines[-1].startswith("# saved in t.toml; use it by: export MPICOLL_TUNING=/")
    tuning = Tuning.load(tmp_path / "t.toml")
    assert (tuning.place, tuning.nodes) == (here(), (0, 0))
    assert tuning.node is not None and tuning.node.alpha > 0 and tuning.network is None
    rows = {name: [row.up_to for row in found] for name, found in tuning.winners.items()}
    assert rows == {"allreduce": [8, 4096], "barrier": [0]}
    assert all(len(row.times) >= 3 for row in tuning.winners["allreduce"])

    monkeypatch.setenv("MPICOLL_TUNING", str(tmp_path / "t.toml"))
    (tmp_path / "program.py").write_text(PROGRAM)
    used = mpiexec(2, str(tmp_path / "program.py"))
    use = tuning.winners["allreduce"][1].use
    assert used.stdout == f"{use} | the fastest here, says {tmp_path / 't.toml'}\n", used.stderr

    again = tune(tmp_path, "barrier", "-n", "2", "--output", "t.toml")
    assert again.returncode == 2 and "t.toml is there already" in again.stderr
    out = tune(tmp_path, "--from", "t.toml", "--export", "openmpi")
    assert out.returncode == 0 and out.stdout.startswith("# Winners of mpicoll tune on 2 ranks")
    assert "use it by: mpiexec --mca coll ^han --mca coll_tuned_use_dynamic_rules 1" in out.stderr


def test_without_time_there_are_constants_alone(tmp_path: Path) -> None:
    ran = tune(tmp_path, "bcast", "-n", "2", "--sizes", "8", "--time", "0")
    assert ran.returncode == 0, ran.stderr
    assert "not measured: it would take" in ran.stdout
    tuning = Tuning.load(tmp_path / default_name(2))
    assert tuning.winners == {} and tuning.node is not None
