"""The search for winners: the fit of the constants, what is measured, and who wins."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpicoll.communicator.choice import Chooser, Query
from mpicoll.communicator.tuning import Place, Tuning, Winner
from mpicoll.measure import tune
from mpicoll.measure.candidates import FACTOR, KEPT, MOST, affordable, candidates, query_of
from mpicoll.measure.cases import even_case
from mpicoll.measure.links import fit, pairs
from mpicoll.measure.settings import LEAST
from mpicoll.measure.timing import Timing
from mpicoll.measure.tune import Verdict, judge, save, with_winners
from mpicoll.measure.tune_report import header_lines, section_lines
from mpicoll.schedule import Machine, algorithms, find

CASE = even_case("allreduce", 1 << 20, 4)

GOLDEN = Path(__file__).parent / "golden"

LINK = Machine(1e-5, 1e-9, 2e-10)
"""At 4 ranks, 1 MiB: ring takes 6 alpha + 1.5 n beta + 0.75 n gamma = 1.79 ms in one stripe."""

CHOOSER = Chooser((0, 0, 0, 0), Tuning(node=LINK))


def timing(name: str, middle: float, spread: float = 1.0, wrong: int = 0) -> Timing:
    """Twenty-one samples around a median, in steps of a tenth of the spread."""
    samples = [middle + spread * step / 10 for step in range(-10, 11)]
    return Timing(name, samples, wrong)


def test_fit_finds_the_line() -> None:
    alpha, beta = fit([(n, 3e-6 + 2e-9 * n) for n in (0, 512, 65536, 1 << 20)])
    assert (alpha, beta) == (pytest.approx(3e-6), pytest.approx(2e-9))


def test_long_messages_count_most() -> None:
    """By hand, in us: n (t - 1) is 0, 1, 9 and 14751; n n is 0, 1, 9 and 9801."""
    alpha, beta = fit([(99, 150e-6), (0, 1e-6), (1, 2e-6), (3, 4e-6)])
    assert (alpha, beta) == (1e-6, pytest.approx(14761e-6 / 9811))


def test_fit_gives_nothing_negative() -> None:
    """The second is a link that lets 64 KiB through at once, and then takes 95 ns a byte."""
    assert fit([(100, 2e-6), (200, 1e-6)]) == (2e-6, 0.0)
    alpha, beta = fit([(8, 2e-4), (65536, 3e-4), (1 << 20, 1e-1)])
    assert alpha == 2e-4 and 90e-9 < beta < 100e-9


@pytest.mark.parametrize("points", [[], [(8, 1e-6)], [(8, 1e-6), (8, 2e-6)]])
def test_fit_needs_two_sizes(points: list[tuple[float, float]]) -> None:
    with pytest.raises(ValueError, match="expected two sizes or more"):
        fit(points)


@pytest.mark.parametrize(
    ("nodes", "found"),
    [
        ((0,), {}),
        ((0, 0, 0), {"node": (0, 1)}),
        ((0, 1, 2), {"network": (0, 1)}),
        ((0, 1, 1, 0), {"network": (0, 1), "node": (1, 2)}),
        ((0, 0, 1, 1), {"node": (0, 1), "network": (0, 2)}),
    ],
)
def test_a_pair_for_each_class_of_links(
    nodes: tuple[int, ...], found: dict[str, tuple[int, int]]
) -> None:
    assert pairs(nodes) == found


def test_what_is_far_off_is_not_measured() -> None:
    found = candidates(CHOOSER, CASE)
    names, prices = [name for name, _ in found], [price for _, price in found]
    assert names[0] == CHOOSER.choose(query_of(CASE)).algorithm.name
    assert prices[1:] == sorted(prices[1:])
    assert KEPT <= len(found) <= MOST and prices[-1] <= FACTOR * prices[0]


def test_what_is_hopeless_is_not_measured() -> None:
    """Where bytes alone count: one moves 6 n and 63/64 n, all others no more than 63/64 n."""
    many = Chooser(range(64), Tuning(node=Machine(0.0, 1e-9), network=Machine(0.0, 1e-9, 0.0)))
    found = {name for name, _ in candidates(many, even_case("reduce_scatter", 1 << 16, 64))}
    every = set(algorithms("reduce_scatter"))
    assert every - found == {"reduce_scatterv"}


def test_long_vectors_are_tried_in_other_numbers_of_stripes() -> None:
    many = Chooser((0, 0, 0, 0), Tuning(node=Machine(1e-6, 1e-9, 2e-10)))
    found = dict(candidates(many, even_case("reduce", 1 << 26, 4)))
    stripes = [int(name.partition("chain:stripes=")[2]) for name in found if "chain" in name]
    best = many.cut(find("reduce", "chain"), Query("reduce", 1 << 26)).options["stripes"]
    assert sorted(stripes) == [best // 2, best, 2 * best]
    short = dict(candidates(many, even_case("reduce", 1024, 4)))
    assert sum(name.startswith("chain") for name in short) <= 1


def test_at_least_so_many_are_measured_however_slow() -> None:
    found = [("a", 1.0), ("b", 2.0), ("c", 3.0), ("d", 4.0), ("e", 5.0)]
    assert affordable(found, 0.0, 2) == found[:KEPT]
    assert affordable(found, 20.0, 2) == found[:4]
    assert affordable(found, 30.0, 2) == found


def test_slow_sizes_get_fewer_repetitions_before_they_get_none() -> None:
    """Three contenders and the vendor's, as slow as the slowest: 9 s a turn, of 12 turns or 5."""
    found = [("a", 1.0), ("b", 2.0), ("c", 3.0)]
    assert tune._affordable(found, 54.0) == (LEAST, dict(found), 108.0)
    assert tune._affordable(found, 53.0) == (3, dict(found), 45.0)
    assert tune._affordable(found, 1.0) == (3, dict(found), 45.0)


def test_the_fastest_wins_where_it_beats_the_model_s_choice() -> None:
    times = [timing("ring", 100), timing("circulant", 80), timing("vendor", 50)]
    verdict = judge(CASE, times, "ring", 0.5, allow_vendor=False)
    assert verdict.winner == Winner(
        1 << 20, "circulant", {"ring": 100, "circulant": 80, "vendor": 50}
    )
    value, low, high = verdict.gain
    assert value == 1.25 and low < 1.25 < high and verdict.model == "ring"


def test_the_vendor_wins_only_where_it_may() -> None:
    times = [timing("vendor", 50), timing("ring", 100)]
    assert judge(CASE, times, "ring", 0.5, allow_vendor=False).winner.use == "ring"
    assert judge(CASE, times, "ring", 0.5, allow_vendor=True).winner.use == "vendor"


@pytest.mark.parametrize(
    ("middle", "spread", "noise"),
    [(98.0, 40.0, 0.1), (98.0, 1.0, 3.0), (100.0, 1.0, 0.0)],
    ids=["intervals overlap", "within the floor", "the same"],
)
def test_within_noise_the_model_s_choice_stays(middle: float, spread: float, noise: float) -> None:
    times = [timing("ring", 100, spread), timing("circulant", middle, spread)]
    verdict = judge(CASE, times, "ring", noise, allow_vendor=False)
    assert (verdict.winner.use, verdict.gain) == ("ring", (1.0, 1.0, 1.0))


def test_what_is_wrong_cannot_win_and_is_counted() -> None:
    times = [timing("ring", 100), timing("circulant", 1, wrong=7)]
    verdict = judge(CASE, times, "ring", 0.5, allow_vendor=False)
    assert (verdict.winner.use, verdict.wrong) == ("ring", 7)
    times = [timing("ring", 100, wrong=3), timing("circulant", 120)]
    assert judge(CASE, times, "ring", 0.5, allow_vendor=False).winner.use == "circulant"


TUNING = Tuning(
    place=Place("here", "Some CPU", 2, "MPICH", "5.0.2"),
    made={"date": "2026-01-02T03:04:05+00:00", "mpicoll": "0.1.0", "command": "mpicoll tune"},
    nodes=(0, 0, 1, 1),
    node=Machine(1e-6, 2e-10, 1e-10),
    network=Machine(2e-5, 8e-10, 1e-10),
)

VERDICTS = [
    Verdict(CASE, Winner(8, "ring", {"ring": 100.0, "vendor": 90.0}), "ring"),
    Verdict(
        CASE,
        Winner(4096, "circulant", {"ring": 100.0, "circulant": 80.0}),
        "ring",
        gain=(1.25, 1.2, 1.3),
    ),
    Verdict(CASE, Winner(1 << 20, "ring"), "ring", skipped="it would take 9 s, and 1 s are left"),
]


def test_what_was_skipped_has_no_row(tmp_path: Path) -> None:
    tuning = with_winners(TUNING, VERDICTS)
    assert [row.up_to for row in tuning.winners["allreduce"]] == [8, 4096]
    assert with_winners(TUNING, VERDICTS[2:]).winners == {}
    path = tmp_path / "tuning.toml"
    save(TUNING, path)
    save(tuning, path)
    assert Tuning.load(path).winners == tuning.winners
    assert [one.name for one in tmp_path.iterdir()] == ["tuning.toml"]


def test_the_report_says_what_is_used_and_why() -> None:
    lines = [*header_lines(TUNING, 0.25), *section_lines(VERDICTS)]
    assert lines == (GOLDEN / "tune.txt").read_text().splitlines()
