"""The README holds: its example prints what it says, its catalogue is the catalogue."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

README = (Path(__file__).parent.parent / "README.md").read_text()


def block(language: str) -> str:
    """The first code block in a language."""
    found = re.search(rf"^```{language}\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    assert found, f"no {language} block in the README"
    return found[1]


def marked(name: str) -> str:
    """What stands between the markers of a generated part."""
    return README.partition(f"<!-- {name} -->\n")[2].partition(f"<!-- end of {name} -->")[0]


def test_the_example_prints_what_it_says(
    tmp_path: Path, mpiexec: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    (tmp_path / "example.py").write_text(block("python"))
    command, _, output = block("console").partition("\n")
    dollar, launcher, option, ranks, *program = shlex.split(command)
    assert [dollar, launcher, option, program[0]] == ["$", "mpiexec", "-n", "python"]
    result = mpiexec(int(ranks), *program[1:], cwd=tmp_path)
    assert (result.returncode, result.stdout) == (0, output), result.stderr


def test_the_catalogue_is_current() -> None:
    command = [sys.executable, "-m", "mpicoll", "list", "--markdown"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert marked("mpicoll list --markdown").strip() == printed.stdout.strip(), (
        "paste what `mpicoll list --markdown` prints between the README's markers"
    )


def test_it_shows_what_the_benchmark_printed() -> None:
    assert "vendor" in marked("bench/run")
