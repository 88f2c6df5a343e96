"""Lower bounds: values worked out by hand, and no algorithm below them."""

from __future__ import annotations

import pytest

from mpicoll.schedule import Machine, UnknownName, algorithms, collectives, find
from mpicoll.schedule.bounds import Bound, bound


@pytest.mark.parametrize(
    ("collective", "size", "rounds", "nbytes", "reduced"),
    [
        ("barrier", 9, 4, 0, 0),
        ("bcast", 5, 3, 1000, 0),
        ("scatter", 5, 3, 800, 0),
        ("gather", 4, 2, 750, 0),
        ("allgather", 8, 3, 875, 0),
        ("reduce", 5, 3, 1000, 800),
        ("allreduce", 5, 3, 1600, 800),
        ("allreduce", 2, 1, 1000, 500),
        ("reduce_scatter", 10, 4, 900, 900),
        ("alltoall", 4, 2, 750, 0),
        ("scan", 4, 2, 1000, 750),
        ("exscan", 4, 2, 1000, 500),
        ("exscan", 2, 1, 1000, 0),
    ],
)
def test_bounds_by_hand(
    collective: str, size: int, rounds: int, nbytes: float, reduced: float
) -> None:
    found = bound(collective, size, 1000)
    assert found == Bound(rounds, pytest.approx(nbytes), pytest.approx(reduced))


def test_one_rank_has_nothing_to_do() -> None:
    assert all(bound(name, 1, 1000) == Bound(0, 0, 0) for name in collectives())


def test_the_longer_of_moving_and_reducing_counts() -> None:
    some = Bound(3, 1600.0, 800.0)
    assert some.time(Machine(alpha=5.0, beta=2.0, gamma=1.0)) == 15 + 3200
    assert some.time(Machine(alpha=5.0, beta=2.0, gamma=10.0)) == 15 + 8000


def test_wrong_arguments() -> None:
    with pytest.raises(UnknownName, match="unknown collective 'shuffle'; choose from: barrier"):
        bound("shuffle", 4, 8)
    with pytest.raises(ValueError, match="size 0: expected at least 1 rank"):
        bound("bcast", 0, 8)


ENTRIES = [(name, one) for name in collectives() for one in algorithms(name)]


@pytest.mark.parametrize(("collective", "name"), ENTRIES)
def test_no_algorithm_is_below_its_bound(collective: str, name: str) -> None:
    entry = find(collective, name)
    for size in range(2, 65):
        if entry.refusal(size) is not None:
            continue
        least, busiest = bound(collective, size, 1.0), entry.rank_count(size)
        assert entry.count(size).startups >= least.rounds, size
        assert busiest.volume >= least.nbytes - 1e-12, size
        assert busiest.reduced >= least.reduced - 1e-12, size
