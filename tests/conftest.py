"""What tests share: how to start a program on several ranks, derived datatypes that are freed."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from mpi4py import MPI
    from specs import Commit

ROOT = Path(__file__).parent.parent


@pytest.fixture
def mpiexec() -> Callable[..., subprocess.CompletedProcess[str]]:
    """``mpiexec(ranks, *arguments)`` runs Python so on that many ranks, for 60 seconds at most."""

    def run(ranks: int, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
        script = f'source "{ROOT}/tests/environment"; launcher; exec "${{launch[@]}}" "$@"'
        command = ["bash", "-c", script, "launch", str(ranks), "python", "-m", "mpi4py", *arguments]
        return subprocess.run(
            command,
            env=dict(os.environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            **options,
        )

    return run


@pytest.fixture
def derived() -> Iterator[Commit]:
    """Commits a derived datatype, and frees it after the test."""
    made: list[MPI.Datatype] = []

    def commit(datatype: MPI.Datatype) -> MPI.Datatype:
        made.append(datatype.Commit())
        return datatype

    yield commit
    for datatype in made:
        datatype.Free()
