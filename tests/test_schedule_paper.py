"""Small schedules and their costs, compared with what is on paper."""

from __future__ import annotations

import pytest

from mpicoll.schedule import Machine, cost, cut, estimate, find
from mpicoll.schedule.circulant import base_block, receive_order, skips
from mpicoll.schedule.cost import MOST, sharers, switches
from mpicoll.schedule.fold import Fold
from mpicoll.schedule.steps import LEFT, RIGHT, recv, recv_reduce, reduce, send, split


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


def test_alltoall_reduce_on_6_ranks_as_on_paper() -> None:
    """Rank 3, the fold's pairs first: 0 1, then 2 3, then those two, 4 5, and all."""
    (steps,) = find("reduce_scatter", "alltoall_reduce").schedule(3, 6)
    assert steps[:5] == [send(4, 4), send(5, 5), send(0, 0), send(1, 1), send(2, 2)]
    assert steps[5:10] == [recv(peer, 3, f"from_{peer}") for peer in (2, 1, 0, 5, 4)]
    assert steps[10:] == [
        reduce(3, "from_1", "from_0", RIGHT),
        reduce(3, "from_2", "data", LEFT),
        reduce(3, "from_0", "data", LEFT),
        reduce(3, "from_5", "from_4", RIGHT),
        reduce(3, "from_4", "data", RIGHT),
    ]


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


def test_estimate() -> None:
    """Ring on 4 ranks: 6 alpha + 1.5 n beta + 0.75 n gamma."""
    machine = Machine(alpha=100.0, beta=10.0, gamma=1.0)
    entry = find("allreduce", "ring")
    assert estimate(entry, 4, 8, machine) == 600 + 120 + 6
    assert cost(entry, 4, [2] * 4).time(machine) == 600 + 120 + 6
    assert estimate(entry, 1, 8, machine) == 0
    # 2 blocks: 3 rounds of half a vector; 4 blocks: 5 rounds of a quarter
    assert estimate(find("bcast", "circulant:blocks=2"), 4, 8, machine) == 300 + 120
    assert estimate(find("bcast", "circulant:blocks=4"), 4, 8, machine) == 500 + 100


@pytest.mark.parametrize("size", [2, 3, 5, 8, 17, 20, 64, 127, 1000, 1024])
def test_receive_orders_are_complete(size: int) -> None:
    """Over q rounds a rank gets one block of this turn, the rest from the last: all different."""
    q = len(skips(size)) - 1
    for rank in range(1, size, max(1, size // 50)):
        base = base_block(rank, size)
        assert sorted(receive_order(rank, size)) == sorted({*range(-q, 0)} - {base - q} | {base})


def test_the_best_cut_is_where_the_estimate_is_least() -> None:
    """Chain on 6 ranks, n = 1000: b = sqrt(4 * 1000 * 1 / 10) = 20, each b's time by hand."""
    machine = Machine(alpha=10.0, beta=1.0, gamma=0.0)
    chain = find("bcast", "chain")
    assert cut(chain, 6, 1000, machine).name == "chain:stripes=20"
    times = {b: estimate(chain.variant(stripes=b), 6, 1000, machine) for b in range(1, 100)}
    assert times[1] == 5 * (10 + 1000)
    assert times[20] == pytest.approx((5 + 19) * (10 + 50))
    assert min(times, key=times.__getitem__) == 20
    assert estimate(chain, 6, 1000, machine) == times[20]


def test_what_a_pipeline_does_not_hide_is_not_cut() -> None:
    """In a ring every rank is always busy: only the cache asks for stripes, a MiB each."""
    machine = Machine(alpha=1e-9, beta=1e-6, gamma=1e-6)
    ring = find("allreduce", "ring")
    assert cut(ring, 6, 1 << 20, machine) is ring
    assert cut(ring, 6, 5 << 20, machine).options == {"stripes": 5}
    assert cut(ring, 6, 1 << 40, machine).options == {"stripes": MOST}
    assert cut(ring.variant(stripes=3), 6, 1 << 40, machine).options == {"stripes": 3}


def test_the_best_number_of_blocks() -> None:
    """Circulant broadcast on 8 ranks, q = 3: b = sqrt(2 * 800 * 1 / 4) = 20."""
    machine = Machine(alpha=4.0, beta=1.0, gamma=9.0)
    assert cut(find("bcast", "circulant"), 8, 800, machine).name == "circulant:blocks=20"


def test_who_changes_peers() -> None:
    assert not switches(find("allreduce", "ring"), 6)
    assert not switches(find("bcast", "chain"), 6)
    assert switches(find("allreduce", "circulant"), 6)
    assert not switches(find("allreduce", "circulant"), 2)
    assert not switches(find("scatter", "binomial"), 4)  # who passes on has one peer to pass on to
    assert switches(find("scatter", "binomial"), 8)
    assert not switches(find("scatter", "linear"), 8)  # the root only sends
    # Inside a node it does not count: of the two neighbours only one is on another node.
    neighbours = find("allgather", "neighbor_exchange")
    assert switches(neighbours, 4)
    assert not switches(neighbours, 4, (0, 0, 1, 1))


def test_messages_of_one_round_overlap() -> None:
    """Linear gather on 4 ranks of 4 nodes: one alpha, two overheads, 3/4 of n."""
    between, inside = Machine(alpha=100.0, beta=10.0), Machine(alpha=7.0)
    linear = find("gather", "linear")
    assert estimate(linear, 4, 8, between, range(4), inside) == 100 + 2 * 7 + 60
    assert estimate(linear, 4, 8, between) == 300 + 60


def test_changing_peers_makes_bytes_dearer() -> None:
    """n = 8 on 4 ranks: 1.5 n beta each way; a switch of 2 doubles beta for the circulant alone."""
    machine = Machine(alpha=100.0, beta=10.0, gamma=1.0, switch=2.0)
    assert estimate(find("allreduce", "ring"), 4, 8, machine) == 600 + 120 + 6
    assert estimate(find("allreduce", "circulant"), 4, 8, machine) == 400 + 240 + 6


def test_stripes_keep_links_between_nodes_busy() -> None:
    """2 MiB on two nodes: stripes of 256 KiB where each takes 50 alpha, fewer where not."""
    ring, apart = find("allreduce", "ring"), (0, 1, 2, 3)
    slow, fast = Machine(alpha=1e-4, beta=1e-7), Machine(alpha=1e-5, beta=1e-9)
    assert cut(ring, 4, 2 << 20, slow, apart).options == {"stripes": 8}
    assert cut(ring, 4, 2 << 20, fast, apart).options == {"stripes": 4}  # 2.1 ms over 0.5 ms
    assert cut(ring, 4, 2 << 20, slow, (0, 0, 0, 0)).options == {"stripes": 2}


def test_what_only_moves_is_not_cut_for_the_cache() -> None:
    assert cut(find("bcast", "chain"), 2, 64 << 20, Machine()).name == "chain"
    assert cut(find("reduce", "chain"), 2, 64 << 20, Machine()).name == "chain:stripes=64"


def test_ranks_of_a_node_share_its_link() -> None:
    """Of a ring's neighbours one is on another node; a circulant sends from every rank."""
    nodes = (0, 0, 0, 1, 1, 2, 2, 3)
    names = ("ring", "circulant", "hierarchical")
    assert [sharers(find("allreduce", name), 8, nodes) for name in names] == [1, 3, 1]
    assert sharers(find("allreduce", "circulant"), 8, (0,) * 8) == 1
    assert sharers(find("allreduce", "circulant"), 8, tuple(range(8))) == 1
    machine = Machine(alpha=0.0, beta=1.0, gamma=0.0)
    assert estimate(find("allreduce", "circulant"), 8, 8, machine, nodes) == 3 * 2 * 7
