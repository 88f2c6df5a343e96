"""What becomes of a whole job when one of its ranks fails: it ends, soon, with the traceback."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

Mpiexec = Callable[..., subprocess.CompletedProcess[str]]

PROLOGUE = """
import numpy as np
from mpi4py import MPI
import mpicoll
comm = mpicoll.Communicator(MPI.COMM_WORLD)
mine, got = np.ones(1000), np.zeros(1000)
"""

FAULTS = {
    "a rank raises while the others wait": """
comm.Allreduce(mine, got)
if comm.rank == 1:
    raise ArithmeticError("the fault")
comm.Allreduce(mine, got)
""",
    "an operator raises": """
def op(left, right):
    raise ArithmeticError("the fault")
comm.Allreduce(mine, got, op=op)
""",
    "an operator raises on one rank, in a request": """
def op(left, right):
    if comm.rank == 1:
        raise ArithmeticError("the fault")
    return left + right
comm.Iscan(mine, got, op=op, algorithm="linear").Wait()
""",
    "an operator raises in a plan": """
def op(left, right):
    raise ArithmeticError("the fault")
with comm.Allreduce_init(mine, got, op=op) as plan:
    plan.Start()
    plan.Wait()
""",
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
def test_the_job_ends_with_the_traceback(tmp_path: Path, mpiexec: Mpiexec, fault: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROLOGUE + fault)
    started = time.monotonic()
    result = mpiexec(3, str(program))
    assert result.returncode != 0
    assert "Traceback" in result.stderr and "ArithmeticError: the fault" in result.stderr
    assert time.monotonic() - started < 10
