"""``-n RANKS --hosts FILE``: which hosts, in the words of each launcher; refusals."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from mpicoll.cli import launch, main

PYTHON = [sys.executable, "-m", "mpi4py", "-m", "mpicoll"]


def chosen(text: str, folder: Path) -> list[str]:
    """The hosts of a file with that text."""
    (folder / "hosts").write_text(text)
    return launch.chosen_hosts({launch.HOSTS: str(folder / "hosts")})


def test_hosts_stand_as_often_as_they_take_ranks(tmp_path: Path) -> None:
    assert chosen("a\n\n# none\nb-1.net:3  # fast\nc\n", tmp_path) == [
        "a", "b-1.net", "b-1.net", "b-1.net", "c",
    ]  # fmt: skip
    assert launch.chosen_hosts({}) == []


@pytest.mark.parametrize("text", ["a b", "a:0", "a:x", ":2", "a slots=2", "a,b"])
def test_what_is_no_host_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(click.UsageError) as refused:
        chosen(text, tmp_path)
    assert refused.value.message == (
        f"--hosts {tmp_path / 'hosts'}: {text!r}: expected HOST or HOST:RANKS"
    )


def test_a_file_without_hosts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(click.UsageError, match="no host is there; expected one a line"):
        chosen("# none\n", tmp_path)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Hydra's mpiexec", ["-ppn", "1", "-hosts", "a,a,b"]),
        ("Open MPI's mpiexec", ["--host", "a,a,b"]),
    ],
)
def test_each_launcher_is_told_its_way(name: str, words: list[str]) -> None:
    (launcher,) = (one for one in launch.LAUNCHERS if one.name == name)
    mpiexec = launch.Mpiexec("/x/mpiexec", launcher)
    line = launch.command_line(mpiexec, 3, 3, ["check"], ["a", "a", "b"])
    assert line == ["/x/mpiexec", *words, "-n", "3", *PYTHON, "check"]


def test_a_file_that_is_not_there_is_refused_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(launch.HOSTS, "/nowhere")
    result = CliRunner().invoke(main, ["check", "-n", "2", "--quick"])
    assert result.exit_code == 2
    assert "--hosts /nowhere: cannot be read" in " ".join(result.output.split())
