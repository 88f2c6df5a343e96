"""What makes pytest fit for several ranks: one voice, and a failure on one rank is one on all.

Rank 0 prints.  After each test the ranks exchange what came of it, over a communicator that no test
touches.  Where one failed, all fail, and rank 0 shows the first failing rank's report.  A rank that
failed while the others still wait in the test ends the job.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Generator, Iterator
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI

import mpicoll

PATIENCE_S = 10.0
"""How long a rank that failed waits for the others to finish the test."""

_outcomes = MPI.COMM_WORLD.Dup()


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Silence every rank but 0."""
    if _outcomes.rank != 0:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let a test that failed on one rank fail on all."""
    report = yield
    last_before_teardown = call.when == "call" or (call.when == "setup" and not report.passed)
    if last_before_teardown:
        _agree(report)
    return report


def _agree(report: pytest.TestReport) -> None:
    mine = report.longreprtext if report.failed else ""
    if not _any_failed(bool(mine), report):
        return
    texts = dict(enumerate(_outcomes.allgather(mine)))
    failing = [rank for rank, text in texts.items() if text]
    report.outcome = "failed"
    report.longrepr = f"failed on ranks {failing}; rank {failing[0]}:\n{texts[failing[0]]}"


def _any_failed(failed: bool, report: pytest.TestReport) -> bool:
    total = np.zeros(1, "i4")
    request = _outcomes.Iallreduce(np.array([failed], "i4"), total)
    deadline = time.monotonic() + PATIENCE_S
    while not request.Test():
        os.sched_yield()
        if failed and time.monotonic() > deadline:
            print(f"\nrank {_outcomes.rank}, {report.nodeid}:", file=sys.__stderr__)
            print(f"{report.longreprtext}\nThe other ranks still wait.", file=sys.__stderr__)
            sys.__stderr__.flush()
            MPI.COMM_WORLD.Abort(1)
            os._exit(1)
    return bool(total[0])


@pytest.fixture(scope="session")
def comm() -> Iterator[Any]:
    """All ranks, with our collectives."""
    with mpicoll.Communicator(MPI.COMM_WORLD) as communicator:
        yield communicator
