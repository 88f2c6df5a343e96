"""``mpicoll bench --resume``: what is there stays, what is missing is measured; refusals."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from measured import SMALL

from mpicoll.measure.cases import even_case
from mpicoll.measure.record import Record, load, resumed

BENCH = ("bench", "-n", "2", "allreduce", "--algorithms", "ring", "--time", "0")


def mpicoll(*arguments: str) -> subprocess.CompletedProcess[str]:
    """A real run."""
    command = [sys.executable, "-m", "mpicoll", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=100)


def test_only_missing_cells_are_measured(tmp_path: Path) -> None:
    file = tmp_path / "record.json"
    assert mpicoll(*BENCH, "--sizes", "64,8", "--resume", str(file)).returncode == 0
    first = json.loads(file.read_text())
    again = mpicoll(*BENCH, "--sizes", "8,16,64", "--resume", str(file))
    assert again.returncode == 0, again.stderr
    second = json.loads(file.read_text())
    assert second["rows"][:4] == first["rows"]
    assert [row["bytes"] for row in second["rows"]] == [64, 64, 8, 8, 16, 16]
    assert len(second["resumed"]) == 1 and "resumed" not in first
    assert all(f" {size} " in again.stdout for size in (8, 16, 64))


def test_the_seed_of_a_record_stays(tmp_path: Path) -> None:
    file = tmp_path / "record.json"
    assert mpicoll(*BENCH, "--sizes", "8", "--resume", str(file)).returncode == 0
    refused = mpicoll(*BENCH, "--sizes", "16", "--seed", "2", "--resume", str(file))
    assert refused.returncode == 2
    assert f"--resume {file}: the record there has seed 1, this run 2" in refused.stderr


@pytest.mark.parametrize("text", ["[]", "{}", "text", '{"schema": 99}'])
def test_another_file_is_no_record(tmp_path: Path, text: str) -> None:
    file = tmp_path / "record.json"
    file.write_text(text)
    with pytest.raises(ValueError, match="is not a record of mpicoll bench with schema 1"):
        load(file)
    assert file.read_text() == text


def test_no_file_and_an_empty_one_are_no_record_yet(tmp_path: Path) -> None:
    assert load(tmp_path / "record.json") is None
    (tmp_path / "record.json").touch()
    assert load(tmp_path / "record.json") is None


def altered(*path: str) -> dict[str, Any]:
    """The small record with another value there."""
    record: dict[str, Any] = json.loads(json.dumps(SMALL))
    inner = record
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = "other"
    return record


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("ranks", ["ranks"]),
        ("MPI library", ["mpi", "vendor"]),
        ("seed", ["environment", "method", "seed"]),
        ("persistent", ["environment", "method", "persistent"]),
        ("algorithms", ["environment", "method", "algorithms"]),
    ],
)
def test_a_record_of_another_run_is_refused(name: str, path: list[str]) -> None:
    with pytest.raises(ValueError, match=rf"^the record there has {name} .*, this run other$"):
        resumed(SMALL, altered(*path))


def test_a_run_on_other_hosts_goes_on_and_says_so() -> None:
    record = resumed(SMALL, {**SMALL, "started": "later", "hosts": ["there"]})
    assert record["rows"] == SMALL["rows"]
    assert record["resumed"] == [{"started": "later", "hosts": ["there"]}]
    assert len(resumed(record, SMALL)["resumed"]) == 2


def test_a_record_knows_its_cells() -> None:
    record = Record({}, earlier=SMALL)
    assert record.has(even_case("allreduce", 8, 2))
    assert record.has(even_case("barrier", 0, 2))
    assert not record.has(even_case("allreduce", 16, 2))
    assert not record.has(even_case("allreduce", 8, 2, in_place=True))
    assert not record.has(even_case("allreduce", 8, 2, "float64"))
    assert not record.has(even_case("bcast", 8, 2))
