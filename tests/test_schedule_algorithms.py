"""Every algorithm, at many numbers of ranks: proved, counted, compared with what is on paper."""

from __future__ import annotations

import pytest

from mpicoll.schedule import (
    Algorithm,
    Cut,
    UnknownName,
    Unserved,
    algorithms,
    catalogue,
    collectives,
    cost,
    estimate,
    even_blocks,
    find,
    relays,
    require,
    sample_roots,
    serving,
    verify,
)
from mpicoll.schedule.circulant import base_block, receive_order, skips
from mpicoll.schedule.cost import Machine
from mpicoll.schedule.fold import Fold
from mpicoll.schedule.steps import LEFT, RIGHT, recv, recv_reduce, send, split

ALL = [entry for entries in catalogue().values() for entry in entries.values()]
PIPELINED = [entry for entry in ALL if entry.pipelined]


def name(entry: Algorithm) -> str:
    return f"{entry.collective}-{entry.name}"


def block_bytes(entry: Algorithm, size: int) -> int:
    """n such that all blocks are equal: 12 bytes each."""
    count = size if entry.contract.cut is Cut.PAIR else entry.block_count(size)
    return 12 * count


@pytest.mark.parametrize("entry", ALL, ids=name)
def test_proved_at_all_numbers_of_ranks_and_roots(entry: Algorithm) -> None:
    """All of 1 to 20, and samples beyond; ``mpicoll verify`` goes through all up to 64."""
    sizes = [size for size in (*range(1, 21), 31, 32, 33, 48, 64) if entry.refusal(size) is None]
    assert len(sizes) >= 7
    for size in sizes:
        for root in sample_roots(entry.contract, size):
            verify(entry, size, root)


@pytest.mark.parametrize("entry", ALL, ids=name)
def test_proved_far_beyond(entry: Algorithm) -> None:
    large = 96 if entry.contract.cut is Cut.PAIR or entry.startups(256) > 100 else 256
    sizes = [size for size in (large, large + 3) if entry.refusal(size) is None]
    for size in sizes or [128]:
        verify(entry, size, size // 3 if entry.contract.rooted else 0)


@pytest.mark.parametrize("entry", PIPELINED, ids=name)
@pytest.mark.parametrize("blocks", [1, 2, 3, 5, 8])
def test_pipelined_algorithms_in_any_number_of_blocks(entry: Algorithm, blocks: int) -> None:
    for size in (*range(1, 33), 64, 100, 128, 255):
        for root in {0, size // 2, size - 1}:
            verify(entry, size, root, blocks)


@pytest.mark.parametrize("entry", PIPELINED, ids=name)
def test_pipelined_algorithms_on_a_thousand_ranks(entry: Algorithm) -> None:
    verify(entry, 1000, 617, blocks=3)


@pytest.mark.parametrize("entry", ALL, ids=name)
def test_closed_forms_are_the_schedules_own_count(entry: Algorithm) -> None:
    for size in (one for one in range(2, 65) if entry.refusal(one) is None):
        nbytes = block_bytes(entry, size)
        count = cost(entry, size, even_blocks(entry, size, nbytes), root=size // 2)
        blocks = entry.vector_blocks(size)
        forms = (entry.rounds, entry.startups, entry.volume, entry.reduced)
        predicted = [form(size, blocks) for form in forms]
        counted = [count.rounds, count.startups, count.volume / nbytes, count.reduced / nbytes]
        assert counted == pytest.approx(predicted, abs=1e-9), size


@pytest.mark.parametrize("entry", PIPELINED, ids=name)
def test_closed_forms_in_blocks(entry: Algorithm) -> None:
    """On 9 ranks, q = 4: 8 blocks take 8 - 1 + 4 = 11 rounds, and 11/8 of the vector."""
    count = cost(entry, 9, [5] * 8, blocks=8)
    assert count.rounds == entry.rounds(9, 8) == 11
    assert count.volume == 55
    assert entry.volume(9, 8) == 11 / 8


def test_estimate() -> None:
    """Ring on 4 ranks: 6 alpha + 1.5 n beta + 0.75 n gamma."""
    machine = Machine(alpha=100.0, beta=10.0, gamma=1.0)
    entry = find("allreduce", "ring")
    assert estimate(entry, 4, 8, machine) == 600 + 120 + 6
    assert cost(entry, 4, [2] * 4).time(machine) == 600 + 120 + 6
    assert estimate(entry, 1, 8, machine) == 0
    # b defaults to q = 2: 3 rounds of half a vector; in 4 blocks, 5 rounds of a quarter
    assert estimate(find("bcast", "circulant"), 4, 8, machine) == 300 + 120
    assert estimate(find("bcast", "circulant"), 4, 8, machine, blocks=4) == 500 + 100


def test_uneven_blocks_are_counted_exactly() -> None:
    """In the ring allreduce rank r sends all but block r + 1, then all but block r + 2."""
    sizes = [40, 8, 0, 24, 16]
    count = cost(find("allreduce", "ring"), 5, sizes)
    total = sum(sizes)
    assert count.bytes_sent == [
        2 * total - sizes[(rank + 1) % 5] - sizes[(rank + 2) % 5] for rank in range(5)
    ]
    assert count.bytes_sent == [168, 152, 136, 120, 128]
    assert count.messages == [8] * 5
    assert sum(count.bytes_received) == sum(count.bytes_sent) == 8 * total


def test_ring_on_5_ranks_as_on_paper() -> None:
    """Rank 2: sends blocks 2, 1, 0, 4 on their way to being whole, then 3, 2, 1, 0 whole."""
    phases = [(2, 1), (1, 0), (0, 4), (4, 3)], [(3, 2), (2, 1), (1, 0), (0, 4)]
    first = tuple([send(3, out), recv_reduce(1, into, LEFT)] for out, into in phases[0])
    second = tuple([send(3, out), recv(1, into)] for out, into in phases[1])
    assert find("allreduce", "ring").schedule(2, 5) == first + second


def test_the_ring_leaves_block_r_plus_1_at_rank_r_after_the_first_phase() -> None:
    for size in (2, 3, 5, 8):
        for rank in range(size):
            rounds = find("allreduce", "ring").schedule(rank, size)
            last_combined, first_passed_on = rounds[size - 2][1], rounds[size - 1][0]
            assert last_combined.blocks == first_passed_on.blocks == ((rank + 1) % size,)


def test_binomial_broadcast_on_6_ranks_from_root_2_as_on_paper() -> None:
    """Places 0..5 are ranks 2, 3, 4, 5, 0, 1; places 0 > 4; 0 > 2; then 0 > 1, 2 > 3, 4 > 5."""
    entry = find("bcast", "binomial")
    schedules = [entry.schedule(rank, 6, root=2) for rank in range(6)]
    assert schedules == [
        ([recv(2, 0)], [], [send(1, 0)]),
        ([], [], [recv(0, 0)]),
        ([send(0, 0)], [send(4, 0)], [send(3, 0)]),
        ([], [], [recv(2, 0)]),
        ([], [recv(2, 0)], [send(5, 0)]),
        ([], [], [recv(4, 0)]),
    ]


def test_binomial_reduce_keeps_rank_order_by_way_of_rank_0() -> None:
    """Root 1 of 3: the tree stands at rank 0 for an operator that does not commute."""
    entry = find("reduce", "binomial")
    assert [entry.schedule(rank, 3, root=1, ordered=True) for rank in range(3)] == [
        ([recv_reduce(1, 0, RIGHT)], [recv_reduce(2, 0, RIGHT)], [send(1, 0)]),
        ([send(0, 0)], [], [recv(0, 0)]),
        ([], [send(0, 0)], []),
    ]
    assert [len(entry.schedule(rank, 3, root=1)) for rank in range(3)] == [2, 2, 2]


def test_circulant_reduce_scatter_on_5_ranks_as_on_paper() -> None:
    """Skips 5, 3, 2, 1: rank 0 hands on positions 3-4, then 2, then 1."""
    assert find("reduce_scatter", "circulant").schedule(0, 5) == (
        [send(3, (3, 4)), recv_reduce(2, (0, 1), LEFT)],
        [send(2, 2), recv_reduce(3, 0, LEFT)],
        [send(1, 1), recv_reduce(4, 0, LEFT)],
    )


def test_bruck_allgather_on_3_ranks_as_on_paper() -> None:
    assert [find("allgather", "bruck").schedule(rank, 3) for rank in range(3)] == [
        ([send(2, 0), recv(1, 1)], [send(1, 0), recv(2, 2)]),
        ([send(0, 1), recv(2, 2)], [send(2, 1), recv(0, 0)]),
        ([send(1, 2), recv(0, 0)], [send(0, 2), recv(1, 1)]),
    ]


def test_the_circulant_graph() -> None:
    """17 ranks: skips 1, 2, 3, 5, 9; rank 8 = 5 + 3, so its first block comes by skip 2."""
    assert skips(17) == (1, 2, 3, 5, 9, 17)
    assert [base_block(rank, 17) for rank in (0, 1, 2, 3, 4, 8, 16)] == [5, 0, 1, 2, 0, 2, 1]


@pytest.mark.parametrize("size", [2, 3, 5, 8, 17, 20, 64, 127, 1000, 1024])
def test_receive_orders_are_complete(size: int) -> None:
    """Over q rounds a rank gets one block of this turn, the rest from the last: all different."""
    q = len(skips(size)) - 1
    for rank in range(1, size, max(1, size // 50)):
        base = base_block(rank, size)
        assert sorted(receive_order(rank, size)) == sorted({*range(-q, 0)} - {base - q} | {base})


CANONICAL = {
    ("reduce", "binomial"): {2, 4, 8, 16},
    ("reduce", "rabenseifner"): {*range(2, 17)},
    ("allreduce", "reduce_bcast"): {2, 4, 8, 16},
    ("allreduce", "recursive_doubling"): {*range(2, 17)},
    ("allreduce", "rabenseifner"): {*range(2, 17)},
    ("reduce_scatter", "recursive_doubling"): {*range(2, 17)},
    ("reduce_scatter", "reduce_scatterv"): {2, 4, 8, 16},
    ("scan", "recursive_doubling"): {*range(2, 17)},
    ("exscan", "recursive_doubling"): {*range(2, 17)},
}
"""Where a result has the bits of the canonical tree, by construction.

Folding makes that tree, so what folds, keeps rank order and doubles distances has it at any number
of ranks; a binomial tree is balanced at powers of two only.
"""


def reducing() -> list[Algorithm]:
    return [entry for entry in ALL if entry.contract.reduces and not entry.contract.idempotent]


@pytest.mark.parametrize("entry", reducing(), ids=name)
def test_which_algorithms_are_canonical(entry: Algorithm) -> None:
    declared = {size for size in range(2, 17) if entry.canonical(size)}
    assert declared == CANONICAL.get((entry.collective, entry.name), set())
    for size in declared:
        for root in sample_roots(entry.contract, size):
            assert verify(entry, size, root, ordered=True).canonical


def test_what_is_not_canonical() -> None:
    """Four ranks from the left are ((0 1) 2) 3, on a ring they begin anywhere; the tree differs."""
    for collective, one in (("allreduce", "star"), ("allreduce", "ring"), ("scan", "linear")):
        assert not verify(find(collective, one), 4).canonical
    assert not verify(find("allreduce", "reduce_bcast"), 5).canonical


def test_the_fold_of_6_ranks() -> None:
    """Pairs (0, 1), (2, 3), then 4 and 5 alone; root 3 stays in where it is asked to."""
    assert [Fold(6).members(virtual) for virtual in range(4)] == [(0, 1), (2, 3), (4,), (5,)]
    assert [Fold(6).acts(rank) for rank in range(6)] == [True, False, True, False, True, True]
    assert Fold(6, keep=3).members(1) == (3, 2)
    assert Fold(6, keep=3).acts(3)
    assert not Fold(6, keep=3).acts(2)


def test_split() -> None:
    assert split(13, 5) == [3, 3, 3, 2, 2]
    assert split(2, 4) == [1, 1, 0, 0]
    assert split(0, 3) == [0, 0, 0]


REFUSALS = [
    ("allgather", "recursive_doubling", 6, {}, "it needs a power of two of ranks, not 6"),
    ("allgather", "neighbor_exchange", 5, {}, "it needs an even number of ranks, not 5"),
    ("allreduce", "ring", 4, {"commuting": False}, "its operator must commute"),
    ("allreduce", "circulant", 4, {"commuting": False}, "its operator must commute"),
    ("reduce", "circulant", 4, {"commuting": False}, "its operator must commute"),
    ("reduce_scatter", "ring", 4, {"commuting": False}, "its operator must commute"),
    ("reduce_scatter", "pairwise", 4, {"commuting": False}, "its operator must commute"),
    ("reduce_scatter", "recursive_halving", 4, {"commuting": False}, "its operator must commute"),
    ("reduce_scatter", "circulant", 4, {"commuting": False}, "its operator must commute"),
    ("alltoall", "bruck", 4, {"equal_counts": False}, "it needs equal counts"),
]


@pytest.mark.parametrize(("collective", "one", "size", "case", "reason"), REFUSALS)
def test_refusals_give_the_reason_and_the_choices(
    collective: str, one: str, size: int, case: dict[str, bool], reason: str
) -> None:
    entry = find(collective, one)
    with pytest.raises(Unserved) as caught:
        require(entry, size, **case)
    others = ", ".join(other.name for other in serving(collective, size, **case))
    assert str(caught.value) == (
        f"{collective} {one!r} cannot serve this call: {reason}; these can: {others}"
    )
    assert others
    assert one not in others.split(", ")


def test_all_restrictions_are_refused_somewhere() -> None:
    restricted = {(entry.collective, entry.name) for entry in ALL if entry.restrictions}
    assert restricted == {row[:2] for row in REFUSALS}


def test_one_rank_is_served_by_all_that_count_on_nothing_else() -> None:
    for entry in ALL:
        assert entry.refusal(1, commuting=False) is None
        assert entry.schedule(0, 1) == ()


def test_every_collective_serves_operators_and_counts_of_any_kind() -> None:
    for collective in collectives():
        for size in range(1, 18):
            assert serving(collective, size, commuting=False, equal_counts=False)


def test_unknown_names_list_the_choices() -> None:
    with pytest.raises(UnknownName, match="unknown collective 'allredcue'; choose from: barrier,"):
        algorithms("allredcue")
    with pytest.raises(
        UnknownName, match=r"unknown algorithm of gather 'ring'; .*linear, binomial"
    ):
        find("gather", "ring")


def test_relays() -> None:
    """In a scatter by a tree of 4, rank 2 passes block 3 on; at 2 ranks nobody does."""
    assert relays(find("scatter", "binomial"), 4)
    assert not relays(find("scatter", "binomial"), 2)
    assert not relays(find("scatter", "linear"), 4)
    assert not relays(find("alltoall", "pairwise"), 4)
    assert relays(find("alltoall", "bruck"), 4)


@pytest.mark.parametrize("entry", ALL, ids=name)
def test_docstrings_say_what_it_costs_and_when_it_is_best(entry: Algorithm) -> None:
    assert entry.summary.endswith(".")
    assert "Cost" in entry.help
    assert "Best" in entry.help or "baseline" in entry.help


def test_schedules_are_kept() -> None:
    entry = find("allreduce", "ring")
    assert entry.schedule(1, 4) is entry.schedule(1, 4)
    assert entry.generate(1, 4) == entry.schedule(1, 4)
