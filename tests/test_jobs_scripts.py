"""The job scripts without SLURM: the command lines that they come to, and the shell's own check."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SCRIPTS = sorted((ROOT / "jobs").glob("*.sbatch"))

PYTHON = """#!/bin/bash
case "$*" in
    *--version*) ;;
    *measure.environment*) echo "$LIBRARY" ;;
    *"import matplotlib"*) exit 1 ;;
    *) echo "$prefix python $*" ;;
esac
"""
"""Says how it was called; for the library it answers what the test wants."""

PASS_ON = """#!/bin/bash
prefix="$prefix $(basename "$0")"
while ! [[ $1 =~ ^(python|apptainer|srun)$ ]]; do
    prefix="$prefix $1"
    shift
done
export prefix
exec "$@"
"""
"""Stands for a launcher or a container: notes its options and runs the rest."""

MPICH = "MPICH 5.0.2 MPICH Version: 5.0.2"
OPEN_MPI = "Open MPI 5.0.11 Open MPI v5.0.11, package: ..."
INTEL = "Intel MPI 2021.16.0 Intel(R) MPI Library 2021.16"
CRAY = "MPICH 3.4.0 MPI VERSION : CRAY MPICH version 8.1.29"

SRUN = "--kill-on-bad-exit=1 --overlap --mem=0"


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    """A folder with stand-ins for all that a script calls."""
    for name in ("srun", "mpiexec", "mpirun", "apptainer", "timeout"):
        (tmp_path / name).write_text(PASS_ON)
    (tmp_path / "python").write_text(PYTHON)
    (tmp_path / "scontrol").write_text("#!/bin/bash\necho localhost\n")
    for path in tmp_path.iterdir():
        path.chmod(0o755)
    return tmp_path


def run(
    folder: Path, script: str, *words: str, library: str = MPICH, **settings: str
) -> subprocess.CompletedProcess[str]:
    """Run a script as a job of four tasks would."""
    given = {
        "PATH": f"{folder}:{os.environ['PATH']}",
        "LIBRARY": library,
        "MPICOLL_RESULTS": str(folder / "results"),
        "MPICOLL_HOME": str(ROOT),
        "MPICOLL_LAUNCHES": "1",
        "SLURM_JOB_ID": "7",
        "SLURM_NTASKS": "4",
        "SLURM_JOB_NODELIST": "localhost",
    }
    return subprocess.run(
        ["bash", f"jobs/{script}.sbatch", *words],
        cwd=ROOT, env={**given, "MPICOLL_VENV": str(folder / "venv"), **settings},
        capture_output=True, text=True, timeout=20,
    )  # fmt: skip


@pytest.fixture(autouse=True)
def venv(bench: Path) -> None:
    """A virtual environment that has the stand-in for Python."""
    (bench / "venv" / "bin").mkdir(parents=True)
    shutil.copy(bench / "python", bench / "venv" / "bin" / "python")


@pytest.mark.parametrize(
    ("library", "launcher"),
    [
        (MPICH, f"srun --mpi=pmi2 {SRUN}"),
        (INTEL, f"srun --mpi=pmi2 {SRUN}"),
        (CRAY, f"srun {SRUN}"),
        (OPEN_MPI, "mpiexec --bind-to none"),
    ],
)
def test_the_launcher_suits_the_library(bench: Path, library: str, launcher: str) -> None:
    ended = run(bench, "check", "bcast", "--quick", library=library)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.split() == [
        *launcher.split(),
        *("python", "-m", "mpi4py", "-m", "mpicoll", "check", "bcast", "--quick"),
    ]
    assert (bench / "results" / "check-7" / "check.txt").read_text() == ended.stdout


def test_a_launcher_of_ones_own(bench: Path) -> None:
    ended = run(bench, "check", MPICOLL_LAUNCHER="mpirun --map-by node")
    assert ended.stdout.split()[:4] == ["mpirun", "--map-by", "node", "python"]


def test_cores_and_gpus_are_passed_on(bench: Path) -> None:
    ended = run(bench, "check", SLURM_CPUS_PER_TASK="8", SLURM_GPUS_ON_NODE="4")
    assert "--cpus-per-task=8 --gpu-bind=none python" in ended.stdout


def test_a_container(bench: Path) -> None:
    image = bench / "image.sif"
    image.touch()
    ended = run(bench, "check", MPICOLL_IMAGE=str(image), SLURM_GPUS_ON_NODE="1")
    assert f"apptainer exec --nv {image} python -m mpi4py -m mpicoll check" in ended.stdout


def test_doctor_ends_where_mpi_hangs_at_its_start(bench: Path) -> None:
    ended = run(bench, "doctor", MPICOLL_PATIENCE="33")
    assert ended.stdout.split()[:3] == ["timeout", "33", "srun"]


def test_bench_goes_through_its_launches(bench: Path) -> None:
    ended = run(bench, "bench", "allreduce", "--sizes", "8", MPICOLL_LAUNCHES="2")
    assert ended.returncode == 0, ended.stderr
    results = bench / "results" / "bench-7"
    for number in ("1", "2"):
        line = (results / f"launch-{number}.txt").read_text()
        assert line.endswith(
            f"mpicoll bench --resume {results}/launch-{number}.json --seed {number} "
            "allreduce --sizes 8\n"
        )
    assert (results / "report.txt").read_text() == ended.stdout
    assert ended.stdout.startswith(" python -m mpicoll report ")


@pytest.mark.parametrize(
    ("tasks", "counts"),
    [("2", "2"), ("4", "2 3 4"), ("5", "2 3 4 5"), ("7", "2 3 4 6 7"), ("12", "2 3 4 6 8 12")],
)
def test_scaling_goes_through_numbers_of_ranks(bench: Path, tasks: str, counts: str) -> None:
    ended = run(bench, "scaling", SLURM_NTASKS=tasks)
    assert ended.returncode == 0, ended.stderr
    found = {path.stem: path.read_text() for path in (bench / "results/scaling-7").glob("ranks-*")}
    assert sorted(found, key=lambda name: int(name[6:])) == [f"ranks-{n}" for n in counts.split()]
    assert all(f" -n {name[6:]} python" in line for name, line in found.items())


def test_scaling_over_numbers_of_ones_own(bench: Path) -> None:
    run(bench, "scaling", MPICOLL_COUNTS="3 4")
    assert len(list((bench / "results" / "scaling-7").glob("ranks-*.txt"))) == 2


def test_results_are_never_overwritten_but_gone_on_with(bench: Path) -> None:
    assert run(bench, "check").returncode == 0
    again = run(bench, "check")
    assert again.returncode == 1 and "check-7 cannot be made" in again.stderr
    assert run(bench, "check", SLURM_RESTART_COUNT="1").returncode == 0


def test_a_status_of_the_ranks_is_that_of_the_job(bench: Path) -> None:
    (bench / "srun").write_text("#!/bin/bash\nexit 9\n")
    for script in ("doctor", "check", "bench", "scaling"):
        ended = run(bench, script, SLURM_JOB_ID=script)
        assert ended.returncode == 9, script
        assert "error: exit status 9" in ended.stderr


@pytest.mark.skipif(
    not shutil.which("shellcheck"), reason="shellcheck is missing: apt-get install shellcheck"
)
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_shellcheck_finds_nothing(script: Path) -> None:
    told = subprocess.run(
        ["shellcheck", "-x", str(script)], cwd=ROOT, capture_output=True, text=True
    )
    assert told.returncode == 0, told.stdout


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_each_script_says_what_it_is_for_and_sets_its_limits(script: Path) -> None:
    text = script.read_text()
    name = script.stem
    assert f"#SBATCH --job-name=mpicoll-{name}\n" in text
    assert "#SBATCH --time=" in text and "set -euo pipefail\n" in text
    assert (
        f"sbatch --nodes={'8' if name in ('bench', 'scaling') else '4'} jobs/{script.name}" in text
    )
    assert f"| `{script.name}`" in (ROOT / "jobs" / "README.md").read_text()
