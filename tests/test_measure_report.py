"""Reports of a record made up by hand: whole texts against golden files, and the verdicts."""

from __future__ import annotations

from pathlib import Path

import pytest
from measured import SMALL, record, row

from mpicoll.measure.report import formats, render, report_format
from mpicoll.measure.summary import cells, segments, summary_lines
from mpicoll.measure.words import size_words, verdict
from mpicoll.schedule import UnknownName

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize("name", ["nccl", "osu", "csv"])
def test_report_is_as_in_the_golden_file(name: str) -> None:
    expected = (GOLDEN / f"report-{name}.txt").read_text(encoding="utf-8")
    assert "\n".join(render(SMALL, name)) + "\n" == expected


def test_formats_are_found_and_unknown_ones_list_them() -> None:
    assert formats() == ("csv", "nccl", "osu")
    with pytest.raises(UnknownName, match="unknown format 'xml'; choose from: csv, nccl, osu"):
        report_format("xml")


def test_the_choice_is_told() -> None:
    chosen = record(row("vendor", 8, 4.0, 1.0), row("auto", 8, 4.0, 1.0, chosen="ring:stripes=128"))
    lines = render(chosen, "nccl")
    (start,) = (at for at, line in enumerate(lines) if " algorithm " in line)
    names, _, vendor, auto = lines[start : start + 4]
    assert auto.split()[5:8] == ["auto", "(ring:stripes=128)", "4.00"]
    assert names.index("time") == vendor.index("4.00") == auto.index("4.00")


def test_more_ranks_than_cores_are_told() -> None:
    crowded = record(row("vendor", 8, 4.0, 1.0), oversubscribed=True)
    assert any("more ranks than cores" in line for line in render(crowded, "nccl"))
    assert not any("more ranks" in line for line in render(SMALL, "nccl"))


@pytest.mark.parametrize(
    ("nbytes", "words"),
    [(0, "0 B"), (1000, "1000 B"), (1024, "1 KiB"), (1536, "1.5 KiB"), (64 << 20, "64 MiB")],
)
def test_sizes_in_words(nbytes: int, words: str) -> None:
    assert size_words(nbytes) == words


@pytest.mark.parametrize(
    ("median", "ratio", "interval", "noise", "mark"),
    [
        (10.0, 1.5, [1.4, 1.6], 0.5, "+"),
        (10.0, 0.5, [0.4, 0.6], 0.5, "-"),
        (10.0, 1.5, [0.9, 1.6], 0.5, "="),  # the interval has 1 in it
        (10.0, 1.04, [1.03, 1.05], 0.5, "="),  # 0.4 us apart, within the noise
        (10.0, 1.06, [1.03, 1.09], 0.5, "+"),  # 0.6 us apart
    ],
)
def test_verdict(
    median: float, ratio: float, interval: list[float], noise: float, mark: str
) -> None:
    own = row("ring", 8, median, ratio, vs_vendor_ci=interval)
    assert verdict(own, noise) == mark
    assert verdict({**own, "algorithm": "vendor"}, noise) == ""
    assert verdict({**own, "vs_vendor": None}, noise) == ""


def test_verdict_over_launches_needs_a_small_chance() -> None:
    own = row("ring", 8, 10.0, 1.5)
    assert verdict({**own, "p": 0.03}, 0.5) == "+"
    assert verdict({**own, "p": 0.06}, 0.5) == "="


def test_segments_are_the_fewest_runs_of_sizes() -> None:
    rows = [
        row("ring", 1, 9.0, 1.0), row("star", 1, 5.0, 1.0),
        row("ring", 2, 7.0, 1.0), row("star", 2, 7.1, 1.0),
        row("ring", 4, 8.0, 1.0), row("star", 4, 9.0, 1.0),
    ]  # fmt: skip
    found = segments(cells(rows), noise=0.05)
    runs = [(one.algorithm, [point["bytes"] for point in one.rows]) for one in found]
    assert runs == [("star", [1, 2]), ("ring", [4])]


def test_summary_says_who_wins_and_where_the_vendor_loses() -> None:
    lines = summary_lines(SMALL)
    assert lines[1] == "  allreduce       8 B: recursive_doubling 1.05x; 1 MiB: ring 2.50x"
    assert lines[-2] == "The vendor loses most: allreduce at 1 MiB, ring 2.50x [2.42, 2.58]"
    assert lines[-1] == "The vendor wins most: barrier, tree 0.50x [0.48, 0.52]"
