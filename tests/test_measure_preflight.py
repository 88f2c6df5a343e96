"""The preflight of a job: a neighbour that does not answer is named, in time."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

Mpiexec = Callable[..., subprocess.CompletedProcess[str]]

SILENT = """
import time
from mpi4py import MPI
from mpicoll.cli import doctor
doctor.PATIENCE_S = 1.0
if MPI.COMM_WORLD.rank == 1:
    time.sleep(30)
print(doctor._neighbours(MPI.COMM_WORLD), flush=True)
"""


def test_those_beside_a_silent_rank_name_it_and_the_job_ends(
    tmp_path: Path, mpiexec: Mpiexec
) -> None:
    program = tmp_path / "program.py"
    program.write_text(SILENT)
    start = time.monotonic()
    ended = mpiexec(4, str(program))
    assert time.monotonic() - start < 15
    assert ended.returncode != 0
    for rank in (0, 2):
        assert f"rank {rank} on" in ended.stdout
    assert ended.stdout.count("heard nothing from rank 1 in 1 s") == 2
    assert "rank 3 on" not in ended.stdout
    assert "UCX_NET_DEVICES" in ended.stdout


def test_all_is_well(mpiexec: Mpiexec) -> None:
    ended = mpiexec(3, "-m", "mpicoll", "doctor")
    lines = {line.split()[1]: line for line in ended.stdout.splitlines()[:-1] if line[0] != " "}
    assert lines["hosts"].endswith(": 0 1 2")
    assert lines["neighbours"].startswith("ok       neighbours    all answer; a message of 1 MiB")
    assert lines["allreduce"] == "ok       allreduce     right, the vendor's and ours"
