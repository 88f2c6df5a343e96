"""Statistics of times, against tables and sums done by hand."""

from __future__ import annotations

from math import isclose
from random import Random

import pytest

from mpicoll.measure.statistics import (
    Summary,
    median,
    median_ranks,
    rank_test,
    ratio,
    summarize,
)


def test_median_of_odd_and_even_samples() -> None:
    assert median([3.0, 1.0, 2.0]) == 2.0
    assert median([4.0, 1.0, 3.0, 2.0]) == 2.5
    with pytest.raises(ValueError, match="no values"):
        median([])


@pytest.mark.parametrize(
    ("count", "confidence", "ranks"),
    [
        (5, 0.95, (0, 4)),  # too few: 1 - 2/32 is but 0.9375, so the extremes
        (6, 0.95, (0, 5)),  # 1 - 2/64 = 0.969
        (10, 0.95, (1, 8)),  # 1 - 2 (1 + 10)/1024 = 0.979; a step inwards 0.891
        (20, 0.95, (5, 14)),  # the 6th and the 15th, as in the tables
        (100, 0.95, (39, 60)),  # the 40th and the 61st
        (8, 0.99, (0, 7)),  # 1 - 2/256 = 0.992
        (1, 0.99, (0, 0)),
    ],
)
def test_interval_of_the_median(count: int, confidence: float, ranks: tuple[int, int]) -> None:
    assert median_ranks(count, confidence) == ranks


def test_interval_covers_the_median_as_often_as_it_says() -> None:
    random = Random(7)
    covered = 0
    for _ in range(2000):
        low, high = median_ranks(25, 0.9)
        sample = sorted(random.expovariate(1.0) for _ in range(25))
        covered += sample[low] <= 0.6931471805599453 <= sample[high]
    assert 0.9 <= covered / 2000 < 0.96


def test_summary() -> None:
    assert summarize([5.0, 1.0, 3.0]) == Summary(median=3.0, low=1.0, high=5.0, least=1.0, most=5.0)


def test_ratio_combines_intervals_on_a_logarithmic_scale() -> None:
    exact = Summary(1.0, 1.0, 1.0, 1.0, 1.0)
    lopsided = ratio(Summary(2.0, 1.0, 8.0, 1.0, 8.0), exact)
    assert (lopsided.value, lopsided.low, lopsided.high) == pytest.approx((2.0, 1.0, 8.0))
    wide = Summary(2.0, 1.0, 4.0, 1.0, 4.0)
    found = ratio(wide, exact)
    assert (found.value, found.low, found.high) == pytest.approx((2.0, 1.0, 4.0))
    both = ratio(wide, wide)  # each half is 2, so together 2 ** sqrt(2)
    assert (both.value, both.low, both.high) == pytest.approx((1.0, 0.37521422724, 2.66514414269))


def test_the_same_against_the_same_is_the_same() -> None:
    random = Random(3)
    draw = lambda: summarize([random.lognormvariate(0, 0.3) for _ in range(200)])  # noqa: E731
    told_apart = sum(ratio(draw(), draw()).differs for _ in range(300))
    assert told_apart <= 6


def test_twice_as_slow_is_told() -> None:
    random = Random(4)
    fast = summarize([random.lognormvariate(0.0, 0.3) for _ in range(50)])
    slow = summarize([random.lognormvariate(0.7, 0.3) for _ in range(50)])
    assert ratio(slow, fast).differs
    assert ratio(slow, fast).low > 1.0 > ratio(fast, slow).high


@pytest.mark.parametrize(
    ("first", "second", "chance"),
    [
        ([1, 2, 3], [4, 5, 6], 2 / 20),  # 2 of the 20 ways to choose 3 of 6
        ([1, 2, 3, 4], [5, 6, 7, 8], 2 / 70),
        ([1, 4], [2, 3], 1.0),
        ([1, 2, 3], [2, 2, 2], 1.0),  # ties: 4.5 of 9 pairs
        ([1, 3], [2, 4], 4 / 6),  # wins 1 of 4 pairs: ways with 0 or 1 wins are 2 of 6
    ],
)
def test_rank_test(first: list[float], second: list[float], chance: float) -> None:
    assert isclose(rank_test(first, second), chance)
    assert isclose(rank_test(second, first), chance)


def test_rank_test_needs_values() -> None:
    with pytest.raises(ValueError, match="got 0 and 1 values"):
        rank_test([], [1.0])
