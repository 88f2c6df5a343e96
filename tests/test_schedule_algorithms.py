"""Every algorithm, at many numbers of ranks: proved, counted, compared with what is on paper."""

from __future__ import annotations

from functools import partial

import pytest

import mpicoll
from mpicoll.schedule import (
    Algorithm,
    Cut,
    UnknownName,
    Unserved,
    algorithms,
    catalogue,
    collectives,
    cost,
    even_blocks,
    find,
    relays,
    require,
    sample_roots,
    serving,
    verify,
)

ALL = [entry for entries in catalogue().values() for entry in entries.values()]
PIPELINED = [entry for entry in ALL if entry.pipelined]
ROUND_OPTIMAL = PIPELINED


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
    large = 96 if entry.contract.cut is Cut.PAIR or entry.count(256).startups > 100 else 256
    sizes = [size for size in (large, large + 3) if entry.refusal(size) is None]
    for size in sizes or [128]:
        verify(entry, size, size // 3 if entry.contract.rooted else 0)


@pytest.mark.parametrize("entry", PIPELINED, ids=name)
@pytest.mark.parametrize("blocks", [1, 2, 3, 5, 8])
def test_pipelined_algorithms_in_any_number_of_blocks(entry: Algorithm, blocks: int) -> None:
    for size in range(1, 33):
        for root in {0, size // 2, size - 1} if entry.contract.rooted else {0}:
            verify(entry.variant(blocks=blocks), size, root)


@pytest.mark.parametrize("entry", ROUND_OPTIMAL, ids=name)
@pytest.mark.parametrize("blocks", [1, 2, 3, 5, 8])
def test_round_optimal_algorithms_on_many_ranks(entry: Algorithm, blocks: int) -> None:
    for size in (64, 100, 128, 255):
        for root in {0, size // 2, size - 1}:
            verify(entry.variant(blocks=blocks), size, root)


@pytest.mark.parametrize("entry", ROUND_OPTIMAL, ids=name)
def test_round_optimal_algorithms_on_a_thousand_ranks(entry: Algorithm) -> None:
    verify(entry.variant(blocks=3), 1000, 617)


@pytest.mark.parametrize("entry", ALL, ids=name)
def test_closed_forms_are_the_schedules_own_count(entry: Algorithm) -> None:
    for size in (one for one in range(2, 65) if entry.refusal(one) is None):
        nbytes = block_bytes(entry, size)
        count = cost(entry, size, even_blocks(entry, size, nbytes), root=size // 2)
        predicted = entry.count(size)
        counted = [count.rounds, count.startups, count.volume / nbytes, count.reduced / nbytes]
        assert counted == pytest.approx(predicted, abs=1e-9), size


@pytest.mark.parametrize("entry", ROUND_OPTIMAL, ids=name)
def test_closed_forms_in_blocks(entry: Algorithm) -> None:
    """On 9 ranks, q = 4: 8 blocks take 8 - 1 + 4 = 11 rounds, and 11/8 of the vector."""
    count = cost(entry.variant(blocks=8), 9, [5] * 8)
    assert count.rounds == entry.variant(blocks=8).count(9).rounds == 11
    assert count.volume == 55
    assert entry.variant(blocks=8).count(9).volume == 11 / 8


@pytest.mark.parametrize("entry", [entry for entry in ALL if "stripes" in entry.choices], ids=name)
def test_forms_of_the_rank_that_has_most(entry: Algorithm) -> None:
    """Over all rounds; where none is declared, each round's busiest rank is a bound."""
    declared = entry.rank_forms.volume.text != entry.forms.volume.text
    for size in (one for one in range(2, 65) if entry.refusal(one) is None):
        nbytes = block_bytes(entry, size)
        count = cost(entry, size, even_blocks(entry, size, nbytes), root=size // 2)
        moved = max(*count.bytes_sent, *count.bytes_received) / nbytes
        predicted = entry.rank_count(size).volume
        assert predicted > moved - 1e-9, size
        assert not declared or predicted == pytest.approx(moved, abs=1e-9), size


def test_bytes_of_several_servers() -> None:
    """On 5 ranks with 2 servers: 4 rounds each way, half the vector of 20 bytes in each."""
    servers = find("allreduce", "servers:servers=2")
    count = cost(servers, 5, [10, 10])
    assert (count.rounds, count.volume, count.reduced) == (8, 80, 40)
    assert servers.count(5) == (8, 8, 4, 2)
    # A server sends its own half of the other's and 4 results; a worker both of its halves.
    assert count.bytes_sent == [50, 50, 20, 20, 20]
    assert count.bytes_received == [50, 50, 20, 20, 20]


CANONICAL = {
    ("reduce", "binomial"): {2, 4, 8, 16},
    ("reduce", "rabenseifner"): {*range(2, 17)},
    ("allreduce", "reduce_bcast"): {2, 4, 8, 16},
    ("allreduce", "recursive_doubling"): {*range(2, 17)},
    ("allreduce", "rabenseifner"): {*range(2, 17)},
    ("allreduce", "alltoall_allgather"): {*range(2, 17)},
    ("reduce_scatter", "recursive_doubling"): {*range(2, 17)},
    ("reduce_scatter", "alltoall_reduce"): {*range(2, 17)},
    ("reduce_scatter", "reduce_scatterv"): {2, 4, 8, 16},
    ("scan", "recursive_doubling"): {*range(2, 17)},
    ("exscan", "recursive_doubling"): {*range(2, 17)},
}
"""Where a result has the bits of the canonical tree, by construction.

Folding makes that tree, so what folds, keeps rank order and doubles distances has it at any number
of ranks, and so has what combines all vectors in one place as folding would; a binomial tree is
balanced at powers of two only.
"""


def reducing() -> list[Algorithm]:
    return [entry for entry in ALL if entry.contract.operates]


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


REFUSALS = [
    ("allgather", "recursive_doubling", 6, {}, "it needs a power of two of ranks, not 6"),
    ("allgather", "neighbor_exchange", 5, {}, "it needs an even number of ranks, not 5"),
    ("allreduce", "servers", 4, {"commuting": False}, "its operator must commute"),
    ("allreduce", "ring", 4, {"commuting": False}, "its operator must commute"),
    ("allreduce", "circulant", 4, {"commuting": False}, "its operator must commute"),
    ("allreduce", "hierarchical", 4, {"commuting": False}, "its operator must commute"),
    ("reduce", "hierarchical", 4, {"commuting": False}, "its operator must commute"),
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


@pytest.mark.parametrize("case", [{"rank": 4}, {"rank": -1}, {"rank": 0, "root": 4}])
def test_ranks_and_roots_that_are_not_there(case: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"(rank|root) -?\d: expected 0 to 3 of 4 ranks"):
        find("bcast", "binomial").schedule(size=4, **case)


@pytest.mark.parametrize(
    ("one", "size", "text"),
    [
        ("circulant:blocks=0", 4, "bcast circulant: blocks 0: expected 1 or more"),
        ("binomial:blocks=2", 4, "bcast binomial: no option 'blocks'; it has stripes"),
        ("chain:stripes=0", 4, "bcast chain: stripes 0: expected 1 or more"),
        ("chain:x", 4, "option 'x': expected a name and a number, as in stripes=16"),
        ("circulant", 0, "size 0: expected at least 1 rank"),
    ],
)
def test_sizes_and_options_that_cannot_be(one: str, size: int, text: str) -> None:
    for ask in (mpicoll.verify, partial(mpicoll.schedule, rank=0)):
        with pytest.raises(ValueError) as caught:
            ask("bcast", one, size=size)
        assert str(caught.value) == text
