"""Double binary trees: by hand, and how evenly they keep the ranks busy."""

from __future__ import annotations

import pytest

from mpicoll.schedule import ScheduleError, cost, find, verify, verify_rounds
from mpicoll.schedule.steps import recv, send
from mpicoll.schedule.trees import Pair, children, depth, parent


def test_the_tree_of_6_numbers_as_on_paper() -> None:
    """4 over 2 and 6, 2 over 1 and 3, 6 over 5."""
    numbers = range(1, 7)
    assert [parent(number, 6) for number in numbers] == [2, 4, 2, None, 6, 4]
    below = [(None, None), (1, 3), (None, None), (2, 6), (None, None), (5, None)]
    assert [children(number, 6) for number in numbers] == below
    assert [depth(number, 6) for number in numbers] == [2, 1, 2, 0, 2, 1]


def test_parents_and_children_agree() -> None:
    for count in range(1, 40):
        for number in range(1, count + 1):
            for child in children(number, count):
                assert child is None or parent(child, count) == number
            assert depth(number, count) < count.bit_length()


def test_broadcast_on_5_ranks_as_on_paper() -> None:
    """Half 0 goes 0 > 4 > 2 > 1, 3; half 1 goes 0 > 3 > 1 > 4, 2."""
    entry = find("bcast", "double_binary_tree")
    assert [entry.schedule(rank, 5) for rank in range(5)] == [
        ([send(4, 0), send(3, 1)], [], []),
        ([], [recv(3, 1)], [recv(2, 0), send(4, 1), send(2, 1)]),
        ([], [recv(4, 0)], [send(1, 0), send(3, 0), recv(1, 1)]),
        ([recv(0, 1)], [send(1, 1)], [recv(2, 0)]),
        ([recv(0, 0)], [send(2, 0)], [recv(1, 1)]),
    ]


@pytest.mark.parametrize("ordered", [False, True])
def test_no_rank_is_inner_in_both_trees(ordered: bool) -> None:
    for size in range(3, 40):
        for rank in range(size):
            for root in (None, 0):
                if rank != root:
                    first, second = Pair(rank, size, root, ordered).places
                    assert not (first.children and second.children), (size, rank, root)


@pytest.mark.parametrize(("collective", "most"), [("bcast", 1), ("reduce", 1), ("allreduce", 2)])
def test_every_rank_sends_and_receives_as_little_as_can_be(collective: str, most: int) -> None:
    """n at most, both ways; twice that where the result goes back."""
    for size in range(2, 40):
        entry = find(collective, "double_binary_tree")
        count = cost(entry, size, [6] * entry.block_count(size), size // 3)
        whole = 6 * entry.block_count(size)
        assert max(count.bytes_sent) <= most * whole
        assert max(count.bytes_received) <= most * whole


def test_rank_order_is_kept_where_it_must_be() -> None:
    """Not so by the second tree in which the last rank has gone round to the beginning."""
    for collective in ("reduce", "allreduce"):
        entry = find(collective, "double_binary_tree")
        for size in (3, 4, 5, 8, 9):
            verify(entry, size, ordered=True)
            rounds = [entry.schedule(rank, size) for rank in range(size)]
            with pytest.raises(ScheduleError, match="breaks rank order"):
                verify_rounds(entry.contract, rounds, 0, 2, ordered=True)
