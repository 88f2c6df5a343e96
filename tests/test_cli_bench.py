"""``mpicoll bench``: sizes, refusals before anything starts, and one real run of each kind."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

from mpicoll.cli import main
from mpicoll.cli.options import parse_size, parse_sizes
from mpicoll.schedule import Machine, algorithms


def refuse(*arguments: str) -> str:
    """The message of a command line that must be refused with status 2."""
    result: Result = CliRunner().invoke(main, ["bench", "-n", "3", *arguments])
    assert result.exit_code == 2, result.output
    return " ".join(result.output.split())


def bench(*arguments: str, timeout: float = 100) -> subprocess.CompletedProcess[str]:
    """A real run."""
    return subprocess.run(
        [sys.executable, "-m", "mpicoll", "bench", *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
    )


@pytest.mark.parametrize(
    ("text", "size"),
    [("64", 64), ("4K", 4096), ("4k", 4096), ("2M", 2097152), ("1G", 1073741824), ("8KiB", 8192)],
)
def test_size(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("8", (8,)),
        ("8,1K", (8, 1024)),
        ("8:64:x2", (8, 16, 32, 64)),
        ("8:64", (8, 16, 32, 64)),
        ("8:100:x4", (8, 32)),
        ("4,1:4:x2", (4, 1, 2)),
        ("1K:1M:x32", (1024, 32768, 1048576)),
    ],
)
def test_sizes(text: str, sizes: tuple[int, ...]) -> None:
    assert parse_sizes(text) == sizes


@pytest.mark.parametrize("text", ["", "x", "-1", "1T", "8:4:x2", "0:8:x2", "8:64:x1", "8:64:4"])
def test_sizes_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        parse_sizes(text)


def test_unknown_names_list_the_choices() -> None:
    assert "unknown collective 'shuffle'; choose from: barrier, bcast" in refuse("shuffle")
    assert "unknown dtype 'f4'; choose from: bool, int8" in refuse("--dtype", "f4")
    assert "unknown operator 'avg'; choose from: sum, prod" in refuse("--op", "avg")
    assert "unknown format 'xml'; choose from: csv, nccl, osu" in refuse("--format", "xml")
    told = refuse("allreduce", "--algorithms", "ring,star,loop")
    assert "unknown algorithm 'loop'; choose from: all, " in told and "rabenseifner" in told
    assert "size '8Q': expected a number of bytes such as 64" in refuse("--sizes", "8Q")


def test_what_cannot_run_is_refused_with_the_reason() -> None:
    told = refuse("allgather", "--algorithms", "recursive_doubling")
    assert "it needs a power of two of ranks, not 3; these can: ring, bruck" in told
    assert "--root 3: expected less than the 3 ranks" in refuse("--root", "3")
    assert "'band' has no meaning for dtype 'float32'" in refuse("--op", "band")
    assert "nothing to run" in refuse("barrier", "--algorithms", ",")


def test_options_that_cannot_be_are_refused() -> None:
    told = refuse("allreduce", "--algorithms", "ring:stripes=0")
    assert "--algorithms ring:stripes=0: allreduce ring: stripes 0: expected 1 or more" in told
    assert "no option 'radix'" in refuse("allreduce", "--algorithms", "auto,ring:radix=4")
    told = refuse("bcast", "--link", "1gbit", "--machine", "1e-6,1e-9")
    assert "--link and --machine both give the lower bound; leave one out" in told


def test_no_file_is_overwritten(tmp_path: Path) -> None:
    there = tmp_path / "run.json"
    there.write_text("precious")
    assert "is there already and is not overwritten; name another" in refuse("--json", str(there))
    assert "is there already" in refuse("--plot", str(there))
    assert "there is no directory" in refuse("--json", str(tmp_path / "none" / "run.json"))
    assert there.read_text() == "precious"


def test_a_run_prints_a_table_and_saves_every_sample(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    ran = bench(
        "barrier", "allreduce", "-n", "2", "--sizes", "8,4K", "--time", "0.3", "--json", str(path)
    )
    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    assert lines[0].startswith("# mpicoll ")
    assert any(line.startswith("#") and line.endswith("vs vendor") for line in lines)
    assert lines[-1] == "# Wrong: 0"
    record: dict[str, Any] = json.loads(path.read_text())
    assert list(record) == [
        "schema", "mpicoll", "started", "argv", "mpi", "ranks", "hosts", "environment", "rows",
    ]  # fmt: skip
    assert (record["schema"], record["ranks"]) == (1, 2)
    assert record["argv"][1:3] == ["bench", "barrier"]
    cells = {(row["collective"], row["bytes"]) for row in record["rows"]}
    assert cells == {("barrier", 0), ("allreduce", 8), ("allreduce", 4096)}
    assert all(len(row["samples_us"]) >= 8 and row["wrong"] == 0 for row in record["rows"])
    ring = next(row for row in record["rows"] if row["algorithm"] == "ring")
    assert (ring["rounds"], ring["bytes_sent_max"]) == (2, 8)


def test_osu_rows_start_with_the_size_and_end_with_the_validation() -> None:
    ran = bench("bcast", "-n", "2", "--sizes", "64", "--time", "0", "--format", "osu")
    rows = [line.split() for line in ran.stdout.splitlines() if line and line[0].isdigit()]
    assert rows and all(row[0] == "64" and row[2] == "Pass" and float(row[1]) > 0 for row in rows)


def test_several_launches_are_one_record(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    ran = bench(
        "reduce", "-n", "2", "--sizes", "64", "--algorithms", "auto,binomial:stripes=2",
        "--time", "0", "--repetitions", "3", "--machine", "1e-6,1e-9,1e-10",
        "--launches", "2", "--in-place", "--json", str(path),
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert "medians over 2 launches" in ran.stdout
    record = json.loads(path.read_text())
    assert [row["algorithm"] for row in record["rows"]] == [
        "vendor", "binomial:stripes=2", "auto",
    ]  # fmt: skip
    assert record["rows"][2]["chosen"] in [*algorithms("reduce")]
    assert all(len(row["samples_us"]) == 6 for row in record["rows"])
    assert record["environment"]["method"]["machine"] == [1e-6, 1e-9, 1e-10, 1.0]
    assert all(len(row["launch_medians_us"]) == 2 and row["in_place"] for row in record["rows"])


def test_the_tuning_gives_the_constants_of_the_lower_bound() -> None:
    from mpicoll.cli.bench import _with_tuning
    from mpicoll.communicator.tuning import Tuning
    from mpicoll.measure.settings import Settings

    near, far, given = Machine(1e-6, 1e-10), Machine(1e-4, 1e-8), Machine(1e-3, 1e-7)
    tuning, settings = Tuning(node=near, network=far), Settings(("bcast",), (8,))
    one, two = (SimpleNamespace(nodes=nodes, tuning=tuning) for nodes in ((0, 0), (0, 1)))
    untuned = SimpleNamespace(nodes=(0, 1), tuning=Tuning())
    found = [_with_tuning(settings, comm).machine for comm in (one, two, untuned)]
    assert found == [near, far, None]
    assert _with_tuning(replace(settings, machine=given), two).machine == given


def test_more_ranks_than_cores_run_and_say_so() -> None:
    ran = bench("barrier", "-n", "4", "--time", "0", "--algorithms", "tree")
    assert ran.returncode == 0, ran.stderr
    from mpicoll.measure.environment import allowed_cores

    crowded = len(allowed_cores()) < 4
    assert ("WARNING: more ranks than cores" in ran.stdout) is crowded
    assert ("times will mean little" in ran.stderr) is crowded
