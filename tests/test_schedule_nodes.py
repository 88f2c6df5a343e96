"""Algorithms that know the nodes: proved on many node maps, and what they send between nodes."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from mpicoll.schedule import (
    Algorithm,
    Machine,
    catalogue,
    cost,
    estimate,
    even_blocks,
    find,
    sample_roots,
    verify,
)
from mpicoll.schedule.forms import node_map
from mpicoll.schedule.steps import Copy, Recv, RecvReduce, Reduce, Send
from mpicoll.schedule.teams import leaders, node_teams, shares

ENTRIES = [
    entry
    for entries in catalogue().values()
    for entry in entries.values()
    if "nodes" in entry.parameters
]


def drawn(seed: int, size: int, most: int) -> tuple[int, ...]:
    """A node map by chance, of up to so many nodes."""
    chance = random.Random(seed)
    return tuple(chance.randrange(most) for _ in range(size))


MAPS = [
    (0,) * 6,
    (0, 1, 2, 3, 4),
    (0, 0, 0, 1, 1, 2, 2, 3),
    (0, 1, 0, 1, 0, 1, 0),
    (7, 7, 2, 5, 7),
    (0, 1, 1, 1, 1, 1),
    drawn(1, 11, 3),
    drawn(2, 13, 6),
    drawn(3, 23, 5),
]


def name(entry: Algorithm) -> str:
    return f"{entry.collective}-{entry.name}"


def test_which_know_the_nodes() -> None:
    collectives = {entry.collective for entry in ENTRIES}
    assert collectives == {"barrier", "bcast", "allgather", "reduce", "allreduce"}
    assert {entry.name for entry in ENTRIES} == {"hierarchical"}


@pytest.mark.parametrize("nodes", MAPS, ids=lambda nodes: "".join(map(str, nodes)))
@pytest.mark.parametrize("entry", ENTRIES, ids=name)
def test_proved_on_many_node_maps(entry: Algorithm, nodes: Sequence[int]) -> None:
    for root in sample_roots(entry.contract, len(nodes)):
        verify(entry, len(nodes), root, nodes=nodes)


@pytest.mark.parametrize("nodes", MAPS, ids=lambda nodes: "".join(map(str, nodes)))
@pytest.mark.parametrize("entry", ENTRIES, ids=name)
def test_one_rank_of_each_node_speaks_to_others(entry: Algorithm, nodes: Sequence[int]) -> None:
    size, root = len(nodes), len(nodes) // 2 if entry.contract.rooted else 0
    speakers = {
        rank
        for rank in range(size)
        for steps in entry.generate(rank, size, root, nodes=nodes)
        for step in steps
        if isinstance(step, Send) and nodes[step.peer] != nodes[rank]
    }
    assert len({nodes[rank] for rank in speakers}) == len(speakers)
    assert speakers <= {next(one for one in (root, *range(size)) if nodes[one] == node)
                        for node in nodes}  # fmt: skip


def test_teams_by_hand() -> None:
    """The root leads its node, which comes first."""
    teams = node_teams((0, 1, 0, 1, 2), root=3)
    assert teams == [[3, 1], [0, 2], [4]]
    assert leaders(teams) == [[3, 0, 4]]
    assert shares(6, 2) == [(0, 1, 2), (3, 4, 5)]
    assert shares(5, 3) == [(0, 1), (2, 3), (4,)]


def between(entry: Algorithm, nodes: Sequence[int], root: int = 0) -> list[int]:
    """The blocks that each rank sends to other nodes."""
    return [
        sum(
            len(step.blocks)
            for steps in entry.generate(rank, len(nodes), root, nodes=nodes)
            for step in steps
            if isinstance(step, Send) and nodes[step.peer] != nodes[rank]
        )
        for rank in range(len(nodes))
    ]


def test_blocks_between_nodes_by_hand() -> None:
    """4 nodes: an allreduce moves 2 * 3/4 n, that is 12 of 8 blocks, from each of the leaders.

    A broadcast's halves go 4 > 6 > 5, 7 and 4 > 5 > 6, 7 where ranks 4 to 7 lead: one each.
    """
    nodes = (0, 0, 1, 1, 2, 2, 3, 3)
    assert between(find("allreduce", "hierarchical"), nodes) == [12, 0] * 4
    assert sum(between(find("bcast", "hierarchical"), nodes)) == 2 * 3
    assert max(between(find("bcast", "hierarchical"), nodes)) <= 2
    # Unequal nodes, scattered: 3 leaders of 6 blocks, 2 * 2/3 of them from each.
    assert between(find("allreduce", "hierarchical"), (0, 1, 0, 2, 0)) == [8, 8, 0, 8, 0]


@pytest.mark.parametrize("entry", ENTRIES, ids=name)
def test_local_forms_are_the_schedules_own_count(entry: Algorithm) -> None:
    """The part inside nodes: of each round's busiest, and of the rank that has most in all."""
    for size in range(2, 34):
        nodes = node_map(size)
        root = size // 2 if entry.contract.rooted else 0
        nbytes = 12 * entry.block_count(size)
        sizes = even_blocks(entry, size, nbytes)
        every = [inside(entry, rank, nodes, root, sizes) for rank in range(size)]
        busiest = [sum(map(max, zip(*mine, strict=True))) for mine in zip(*every, strict=True)]
        counted = [busiest[0], busiest[1] / nbytes, busiest[2] / nbytes]
        assert counted == pytest.approx(entry.local_count(size)[1:]), size


@pytest.mark.parametrize("entry", [one for one in ENTRIES if "stripes" in one.choices], ids=name)
def test_local_forms_of_the_rank_that_has_most(entry: Algorithm) -> None:
    """The part inside its node, on two nodes and more."""
    for size in range(5, 34):
        root = size // 2 if entry.contract.rooted else 0
        nbytes = 12 * entry.block_count(size)
        sizes = even_blocks(entry, size, nbytes)
        count = cost(entry, size, sizes, root)
        moved = [*map(max, count.bytes_sent, count.bytes_received)]
        busiest = inside(entry, moved.index(max(moved)), node_map(size), root, sizes)
        messages, volume, reduced = map(sum, busiest)
        both_ways = 1 + (entry.collective == "allreduce")  # its rounds up, then those down
        counted = [messages / both_ways, volume / nbytes / both_ways, reduced / nbytes]
        assert counted == pytest.approx(entry.local_rank_count(size)[1:]), size


def inside(
    entry: Algorithm, rank: int, nodes: Sequence[int], root: int, sizes: list[int]
) -> tuple[list[int], list[int], list[int]]:
    """Messages, bytes moved and bytes combined inside the node, in each round."""
    rounds = [
        [step for step in steps if nodes[step.peer] == nodes[rank]]
        for steps in entry.generate(rank, len(nodes), root)
    ]
    assert not any(isinstance(step, Copy | Reduce) for steps in rounds for step in steps)

    def moved(steps: Sequence[Send | Recv | RecvReduce], *kinds: type) -> int:
        return sum(sizes[b] for step in steps if isinstance(step, kinds) for b in step.blocks)

    sent = [[step for step in steps if isinstance(step, Send)] for steps in rounds]
    got = [[step for step in steps if not isinstance(step, Send)] for steps in rounds]
    return (
        [max(len(a), len(b)) for a, b in zip(sent, got, strict=True)],
        [max(moved(steps, Send), moved(steps, Recv, RecvReduce)) for steps in rounds],
        [moved(steps, RecvReduce) for steps in rounds],
    )


def test_estimate_with_links_of_two_kinds() -> None:
    """Allreduce of n = 8 on 2 nodes of 2: inside 2 messages of n, between 2 of n/2."""
    between_, inside_ = Machine(alpha=100, beta=10, gamma=1), Machine(alpha=10, beta=1, gamma=1)
    entry = find("allreduce", "hierarchical:stripes=1")
    nodes = (0, 0, 1, 1)
    once = (200 + 80 + 4) + (20 + 16 + 8)
    assert estimate(entry, 4, 8, between_, nodes, inside_) == once
    first = (200 + 40 + 2) + (20 + 8 + 4)
    more = (200 + 40 + 2) + (10 + 4 + 4)  # the leader: 1 message each way inside, 1 combined
    entry = find("allreduce", "hierarchical:stripes=2")
    assert estimate(entry, 4, 8, between_, nodes, inside_) == first + more


def test_blocks_follow_the_node_map() -> None:
    """Two for each node; 8 ranks are 2 nodes where nothing is said."""
    entry = find("allreduce", "hierarchical")
    assert entry.block_count(8) == 4
    assert entry.block_count(8, nodes=(0, 0, 0, 1, 1, 2, 2, 3)) == 8
    assert even_blocks(entry, 4, 13, nodes=(0, 1, 2, 2)) == [3, 2, 2, 2, 2, 2]
    assert sum(cost(entry, 4, [3, 2, 2, 2, 2, 2], nodes=(0, 1, 2, 2)).bytes_sent) > 0
