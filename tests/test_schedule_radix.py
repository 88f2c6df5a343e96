"""Radices: the numbers by hand, and every algorithm that has one proved and counted in many."""

from __future__ import annotations

import pytest

from mpicoll.schedule import Algorithm, Cut, catalogue, cost, even_blocks, find, verify
from mpicoll.schedule.radix import ceil_log, factors, hops, powers, smooth
from mpicoll.schedule.steps import RIGHT, Send, pair, recv, recv_reduce, send

ENTRIES = [
    entry
    for entries in catalogue().values()
    for entry in entries.values()
    if "radix" in entry.choices
]


def name(entry: Algorithm) -> str:
    return f"{entry.collective}-{entry.name}"


def test_numbers_by_hand() -> None:
    assert [*powers(10, 3)] == [1, 3, 9]
    assert [ceil_log(size, 3) for size in (1, 2, 3, 4, 9, 10)] == [0, 1, 1, 2, 2, 3]
    # 10 ranks, radix 4: distances 1, 2, 3 and 4, 8
    assert [hops(size, 4) for size in (1, 2, 4, 5, 10, 17)] == [0, 1, 3, 4, 5, 7]
    # 11 = 11, 10 = 2 * 5 and 7 have a factor that is too large
    assert [smooth(size, 4) for size in (1, 5, 7, 11, 12)] == [1, 4, 6, 9, 12]
    assert [factors(size, 4) for size in (1, 5, 7, 11, 12)] == [(), (4,), (3, 2), (3, 3), (4, 3)]


def test_which_have_a_radix() -> None:
    assert {name(entry) for entry in ENTRIES} == {
        "barrier-dissemination",
        "bcast-knomial",
        "allgather-bruck",
        "reduce-knomial",
        "allreduce-recursive_multiplying",
        "alltoall-bruck",
    }


@pytest.mark.parametrize("radix", [2, 3, 4, 5, 8])
@pytest.mark.parametrize("entry", ENTRIES, ids=name)
def test_proved_and_counted_in_many_radices(entry: Algorithm, radix: int) -> None:
    variant = entry.variant(radix=radix)
    for size in (*range(2, 18), 25, 27, 31):
        verify(variant, size, size // 2 if entry.contract.rooted else 0)
        nbytes = 12 * (size if entry.contract.cut is Cut.PAIR else entry.block_count(size))
        count = cost(variant, size, even_blocks(variant, size, nbytes), size // 2)
        counted = [count.rounds, count.startups, count.volume / nbytes, count.reduced / nbytes]
        assert counted == pytest.approx(variant.count(size)), size


def test_a_knomial_tree_of_radix_2_is_binomial() -> None:
    for collective in ("bcast", "reduce"):
        binomial, knomial = find(collective, "binomial"), find(collective, "knomial:radix=2")
        for rank in range(11):
            for ordered in (False, True):
                assert knomial.schedule(rank, 11, 4, ordered) == binomial.schedule(
                    rank, 11, 4, ordered
                )


def test_dissemination_on_5_ranks_in_radix_3_as_on_paper() -> None:
    """Distances 1 and 2, then 3."""
    assert find("barrier", "dissemination:radix=3").schedule(1, 5) == (
        [send(2, 0), send(3, 0), recv_reduce(0, 0), recv_reduce(4, 0)],
        [send(4, 0), recv_reduce(3, 0)],
    )


def test_bruck_allgather_on_5_ranks_in_radix_3_as_on_paper() -> None:
    """Rank 4 has blocks 4, 0, 1 after the first round, and lacks 2 and 3."""
    assert find("allgather", "bruck:radix=3").schedule(4, 5) == (
        [send(3, 4), recv(0, 0), send(2, 4), recv(1, 1)],
        [send(1, (4, 0)), recv(2, (2, 3))],
    )


def test_bruck_alltoall_on_4_ranks_in_radix_3_as_on_paper() -> None:
    """Rank 0: what goes 1 goes at once, what goes 2 too, and what goes 3 in the second round."""
    assert find("alltoall", "bruck:radix=3").schedule(0, 4) == (
        [
            send(1, pair(0, 1, 4)), recv(3, pair(3, 0, 4)),
            send(2, pair(0, 2, 4)), recv(2, pair(2, 0, 4)),
        ],
        [send(3, pair(0, 3, 4)), recv(1, pair(1, 0, 4))],
    )  # fmt: skip


def test_knomial_reduce_on_6_ranks_in_radix_3_as_on_paper() -> None:
    """Root 1: place 0 takes places 1 and 2, place 3 takes 4 and 5, then place 0 takes place 3."""
    knomial = find("reduce", "knomial:radix=3")
    assert [knomial.schedule(rank, 6, 1) for rank in (1, 2, 4)] == [
        ([recv_reduce(2, 0, RIGHT), recv_reduce(3, 0, RIGHT)], [recv_reduce(4, 0, RIGHT)]),
        ([send(1, 0)], []),
        ([recv_reduce(5, 0, RIGHT), recv_reduce(0, 0, RIGHT)], [send(1, 0)]),
    ]


def test_recursive_multiplying_on_7_ranks_as_on_paper() -> None:
    """6 = 3 * 2, so rank 1 folds into rank 0; rank 5 meets ranks 4 and 6, then rank 2."""
    rounds = find("allreduce", "recursive_multiplying").schedule(5, 7)
    sends = [[step for step in steps if isinstance(step, Send)] for steps in rounds[1:3]]
    assert sends == [[send(4, 0), send(6, 0)], [send(2, 0)]]
    assert rounds[0] == rounds[3] == []
