"""The statistics of a time: median, its interval by order statistics, ratios and rank tests.

Nothing is assumed of the distribution.  All intervals are at ``CONFIDENCE``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import comb, exp, hypot, log

CONFIDENCE = 0.99
"""The confidence of every interval: high, since a run compares hundreds of pairs."""


@dataclass(frozen=True)
class Summary:
    """A sample in brief: its median, the interval of the median, the extremes."""

    median: float
    low: float
    high: float
    least: float
    most: float


@dataclass(frozen=True)
class Ratio:
    """How many times faster: a ratio of medians with its interval."""

    value: float
    low: float
    high: float

    @property
    def differs(self) -> bool:
        """Whether the interval leaves out 1."""
        return self.low > 1.0 or self.high < 1.0


def median(values: Sequence[float]) -> float:
    """The median; raises ``ValueError`` where there is no value."""
    if not values:
        raise ValueError("median: got no values, expected at least one")
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


@cache
def median_ranks(count: int, confidence: float = CONFIDENCE) -> tuple[int, int]:
    """The positions, from 0, in a sorted sample that enclose the median with that confidence.

    The sample's j-th value is above the median with the probability of fewer than j heads in
    ``count`` tosses; where the sample is too small, the extremes.
    """
    tail, outcomes, below, ways = (1.0 - confidence) / 2, 2**count, 0, 1
    position = 0
    while (below + ways) / outcomes <= tail:
        below += ways
        ways = ways * (count - position) // (position + 1)
        position += 1
    return max(position - 1, 0), min(count - position, count - 1)


def summarize(values: Sequence[float]) -> Summary:
    """The summary of a sample; raises ``ValueError`` where it is empty."""
    middle = median(values)
    ordered = sorted(values)
    low, high = median_ranks(len(ordered))
    return Summary(middle, ordered[low], ordered[high], ordered[0], ordered[-1])


def ratio(numerator: Summary, denominator: Summary) -> Ratio:
    """The ratio of two medians; its interval combines theirs on a logarithmic scale.

    Source: Zou and Donner, Statistics in Medicine 27, 2008 (variance estimates recovered from
    the intervals).
    """
    value = numerator.median / denominator.median
    down = hypot(log(numerator.median / numerator.low), log(denominator.high / denominator.median))
    up = hypot(log(numerator.high / numerator.median), log(denominator.median / denominator.low))
    return Ratio(value, value * exp(-down), value * exp(up))


def rank_test(first: Sequence[float], second: Sequence[float]) -> float:
    """The exact two-sided probability of the Wilcoxon-Mann-Whitney rank-sum test; ties count half.

    Raises ``ValueError`` where a sample is empty.
    """
    if not first or not second:
        raise ValueError(f"rank test: got {len(first)} and {len(second)} values, expected some")
    wins = sum((one > other) + (one == other) / 2 for one in first for other in second)
    pairs = len(first) * len(second)
    fewest = int(min(wins, pairs - wins))
    ways = sum(_arrangements(len(first), len(second), count) for count in range(fewest + 1))
    return min(1.0, 2 * ways / comb(len(first) + len(second), len(first)))


@cache
def _arrangements(first: int, second: int, wins: int) -> int:
    """The orders of two samples in which the first wins so many of the pairs."""
    if wins < 0:
        return 0
    if not first or not second:
        return int(wins == 0)
    return _arrangements(first - 1, second, wins - second) + _arrangements(first, second - 1, wins)
