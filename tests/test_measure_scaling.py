"""Time over ranks: limit and law worked out by hand, table, picture, and ``mpicoll report``."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from measured import SMALL, record, row

from mpicoll.cli import main
from mpicoll.cli.options import parse_machine, parse_rate
from mpicoll.measure.scaling import law_us, limit_us, panels, scaling_lines
from mpicoll.measure.scaling_plot import plot_scaling
from mpicoll.schedule import Machine

MIB = 1 << 20


def measured(ranks: int, **medians: float) -> dict[str, Any]:
    """A record of an allreduce of 1 MiB on so many ranks."""
    rows = (row(name, MIB, median, None) for name, median in medians.items())
    return {**record(*rows), "ranks": ranks}


TWO = measured(2, vendor=90_000.0, star=180_000.0, ring=88_000.0)
FOUR = measured(4, vendor=140_000.0, star=526_252.9, ring=131_563.2)


def test_limit_and_law() -> None:
    (panel,) = panels([FOUR, TWO])
    # 2 (p - 1)/p n = 1.5 MiB of data; 1514 bytes on the link carry 1448; 8 bits; 1e8 bit/s
    assert limit_us(panel, 4, 1e8) == pytest.approx(131_564.4, abs=0.1)
    assert limit_us(panel, 2, 1e8) == pytest.approx(87_709.6, abs=0.1)
    assert limit_us(panel, 2, 1e9) == pytest.approx(8_770.96, abs=0.01)
    assert law_us(panel, "ring", 4, 1e8) == pytest.approx(131_564.4, abs=0.1)
    assert law_us(panel, "star", 4, 1e8) == pytest.approx(526_257.7, abs=0.1)  # 2 (p - 1) n
    assert law_us(panel, "star", 2, 1e8) == pytest.approx(175_419.2, abs=0.1)
    assert law_us(panel, "vendor", 4, 1e8) is None


def test_the_table() -> None:
    lines = scaling_lines([FOUR, TWO], 1e8)
    assert lines[0] == "# medians in ms, MPICH 5.0.2, mpicoll 0.1.0, links of 100 Mbit/s"
    assert "4.6% of packet headers" in lines[1]
    assert lines[3] == "# allreduce of 1 MiB"
    assert [line.split() for line in lines[4:]] == [
        ["ranks", "limit", "vendor", "star", "ring"],
        ["2", "87.7", "90.00", "(1.03x)", "180.00", "(2.05x)", "88.00", "(1.00x)"],
        ["4", "131.6", "140.00", "(1.06x)", "526.25", "(4.00x)", "131.56", "(1.00x)"],
    ]


def test_the_table_without_a_rate_and_with_a_gap() -> None:
    lines = scaling_lines([TWO, measured(3, vendor=1_000.0)], None)
    assert [line.split() for line in lines[-2:]] == [
        ["2", "90.00", "180.00", "88.00"],
        ["3", "1.00", "-", "-"],
    ]
    assert not any("limit" in line for line in lines)


def test_two_records_of_the_same_number_are_refused() -> None:
    with pytest.raises(ValueError, match=r"records of \[2, 2\] ranks: expected one of each number"):
        panels([TWO, TWO])


def test_the_picture_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "scaling.png"
    plot_scaling([TWO, FOUR], 1e8, path)
    drawn = path.read_bytes()
    assert drawn.startswith(b"\x89PNG") and len(drawn) > 5_000
    with pytest.raises(FileExistsError):
        plot_scaling([TWO, FOUR], None, path)
    assert path.read_bytes() == drawn


@pytest.mark.parametrize(
    ("text", "rate"), [("100mbit", 1e8), ("2.5gbit", 2.5e9), ("56KBIT", 56e3), ("1mbit", 1e6)]
)
def test_rate(text: str, rate: float) -> None:
    assert parse_rate(text) == rate


@pytest.mark.parametrize(
    ("text", "machine"),
    [("5e-6,2e-10,1e-10", (5e-6, 2e-10, 1e-10)), ("0.001,1e-8", (0.001, 1e-8, 0))],
)
def test_machine(text: str, machine: tuple[float, float, float]) -> None:
    assert parse_machine(text) == Machine(*machine)


@pytest.mark.parametrize("text", ["", "5e-6", "1e-6,x", "5,1e-9,0", "-1e-6,0,0", "1e-6,0,0,0"])
def test_no_machine(text: str) -> None:
    with pytest.raises(ValueError, match="expected alpha in s, beta and gamma in s/byte"):
        parse_machine(text)


@pytest.mark.parametrize("text", ["", "100", "mbit", "0mbit", "-1mbit", "1tbit", "100 mbit"])
def test_no_rate(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected such as 100mbit or 2\.5gbit"):
        parse_rate(text)


def saved(folder: Path, *records: dict[str, Any]) -> list[str]:
    """Files with those records."""
    paths = [folder / f"{number}.json" for number in range(len(records))]
    for path, one in zip(paths, records, strict=True):
        path.write_text(json.dumps(one))
    return [str(path) for path in paths]


def report(*words: str) -> Result:
    """What ``mpicoll report`` says."""
    return CliRunner().invoke(main, ["report", *words])


def test_report_of_one_record_is_its_table(tmp_path: Path) -> None:
    told = report(*saved(tmp_path, SMALL))
    assert told.exit_code == 0 and "# allreduce" in told.output and "Wrong: 3" in told.output


def test_report_of_launches_compares_their_medians(tmp_path: Path) -> None:
    out = tmp_path / "merged.json"
    told = report(*saved(tmp_path, SMALL, SMALL), "--json", str(out))
    assert told.exit_code == 0 and "medians over 2 launches" in told.output
    assert json.loads(out.read_text())["rows"][0]["launch_medians_us"] == [4.0, 4.0]


def test_report_over_ranks(tmp_path: Path) -> None:
    files = saved(tmp_path, TWO, FOUR)
    told = report(*files, "--link", "100mbit", "--plot", str(tmp_path / "x.png"))
    assert told.exit_code == 0, told.output
    assert "526.25 (4.00x)" in told.output and (tmp_path / "x.png").exists()
    refused = report(*files, "--json", str(tmp_path / "x.json"))
    assert refused.exit_code == 2 and "leave it out" in refused.output


@pytest.mark.parametrize(("text", "message"), [("", "no record is there yet"), ("x", "is not a")])
def test_report_of_no_record(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "0.json").write_text(text)
    told = report(str(tmp_path / "0.json"))
    assert told.exit_code == 2 and message in " ".join(told.output.split())


def test_report_never_touches_mpi(tmp_path: Path) -> None:
    script = (
        "import sys; from mpicoll.cli import main; "
        "main(sys.argv[1:], standalone_mode=False); print('mpi4py.MPI' in sys.modules)"
    )
    for files in (saved(tmp_path, SMALL, SMALL), saved(tmp_path, TWO, FOUR)):
        line = [sys.executable, "-c", script, "report", *files]
        told = subprocess.run(line, capture_output=True, text=True, timeout=60)
        assert told.stdout.splitlines()[-1] == "False", told.stderr
