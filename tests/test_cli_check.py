"""``mpicoll check``: what it prints, its status, and a real run."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from click.testing import CliRunner

from mpicoll.cli import main
from mpicoll.cli.check import tally_lines, total_lines
from mpicoll.measure.checking import Tally

GOOD = Tally("bcast", Counter(ring=30, vendor=10))
BAD = Tally("scan", Counter(linear=20), {f"cell {number}": number for number in range(1, 13)})


def test_lines_of_a_collective() -> None:
    assert tally_lines(GOOD) == ["bcast                 40       0"]
    lines = tally_lines(BAD)
    assert lines[0] == "scan                  20      12"
    assert lines[1] == "  wrong: cell 1: 1 elements"
    assert len(lines) == 12 and lines[-1] == "  and 2 more"


def test_closing_lines() -> None:
    assert total_lines([GOOD, BAD]) == [
        "total                 60      12",
        "# 50 cells of ours, 10 of the vendor's, against NumPy: 12 wrong",
    ]


def test_refusals() -> None:
    for arguments, message in (
        (["shuffle"], "unknown collective 'shuffle'; choose from: barrier"),
        (["--algorithms", "loop"], "unknown algorithm 'loop'; choose from: all"),
        (
            ["alltoall", "--algorithms", "ring"],
            "unknown algorithm 'ring'; choose from: all, auto, vendor, bruck",
        ),
        (["-n", "0"], "0 is not in the range x>=1"),
        (
            ["-n", "6", "allgather", "--algorithms", "recursive_doubling"],
            "it needs a power of two of ranks, not 6",
        ),
    ):
        result = CliRunner().invoke(main, ["check", *arguments])
        assert result.exit_code == 2
        assert message in " ".join(result.output.split())


def check(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mpicoll", "check", *arguments],
        capture_output=True,
        text=True,
        timeout=100,
    )


def test_a_run_counts_its_cells() -> None:
    ran = check("-n", "3", "--quick", "bcast", "scan")
    assert ran.returncode == 0, ran.stderr
    rows = {line.split()[0]: line.split()[1:] for line in ran.stdout.splitlines()}
    assert rows["total"][1] == rows["bcast"][1] == rows["scan"][1] == "0"
    assert int(rows["total"][0]) == int(rows["bcast"][0]) + int(rows["scan"][0]) > 200


WRONG = """
from mpicoll.cli import main
from mpicoll.measure import trial

combination = trial.combination
trial.combination = lambda *given: combination(*given) + 1
main(["check", "scan", "--quick", "--algorithms", "linear"])
"""


def test_a_wrong_result_makes_the_status_one(
    mpiexec: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    script = tmp_path / "wrong.py"
    script.write_text(WRONG)
    ran = mpiexec(2, str(script))
    assert ran.returncode == 1, ran.stderr
    assert re.search(r"  wrong: Scan linear, \w+, counts 1 int64, sum: 1 elements", ran.stdout)
