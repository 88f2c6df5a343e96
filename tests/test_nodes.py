"""Node maps: numbered in order of appearance, and checked."""

from __future__ import annotations

import pytest

from mpicoll.communicator.nodes import given_nodes, numbered


def test_nodes_are_numbered_in_order_of_appearance() -> None:
    assert numbered([7, 7, 2, 9, 2]) == (0, 0, 1, 2, 1)
    assert numbered([]) == ()


def test_a_map_of_other_ranks_is_refused() -> None:
    assert given_nodes([4, 0, 4], 3) == (0, 1, 0)
    with pytest.raises(ValueError, match="nodes: 2 numbers, expected one for each of the 3 ranks"):
        given_nodes([0, 1], 3)
