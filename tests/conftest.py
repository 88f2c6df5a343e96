"""What tests without a launcher share: how to start a program on several ranks."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

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
