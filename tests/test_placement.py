"""Placement: all algorithms' programs, run in one process, put the right data in place."""

from __future__ import annotations

import numpy as np
import pytest
from simulation import POISON, Rank, programs, run

from mpicoll.schedule import CONTRACTS, Algorithm, Cut, catalogue
from mpicoll.transport.layout import Layout, Place, layout
from mpicoll.transport.program import Exchange, Memory

ALL = [entry for entries in catalogue().values() for entry in entries.values()]
SIZES = [1, 2, 3, 4, 5, 6, 7, 8, 9, 13]


def word(rank: int, index: int) -> str:
    """What a rank contributes to an element: combined words spell the order."""
    return f"<{rank}:{index}>"


def product(ranks: int, index: int) -> str:
    """The combination, in rank order, of a set of contributions to an element."""
    return "".join(word(rank, index) for rank in range(ranks.bit_length()) if ranks >> rank & 1)


def letters(value: object) -> list[str]:
    """The contributions to an element, whatever their order."""
    return sorted(str(value).split("<"))


def counts_of(size: int, entry: Algorithm) -> list[int]:
    """Unequal counts, some of them zero, where they are allowed."""
    return [3] * size if entry.equal_counts else [(5 * rank + 2) % 4 for rank in range(size)]


def slots(counts: list[int]) -> list[tuple[int, int]]:
    return [(sum(counts[:i]), count) for i, count in enumerate(counts)]


def places(entry: Algorithm, rank: int, size: int, root: int, in_place: bool) -> list[list]:
    """(send slots, receive slots) of a rank, without regard to where they lie."""
    counts = counts_of(size, entry)
    name = entry.collective
    vector = [(0, 0 if entry.contract.idempotent else 11)]
    own = [(0, counts[rank])]
    if entry.contract.cut is Cut.VECTOR:
        return [vector, vector]
    if entry.contract.cut is Cut.PAIR:
        row = [counts[(rank + other) % size] for other in range(size)]
        return [slots(row), slots(row)]
    if (in_place and name == "allgather") or (in_place and name == "gather" and rank == root):
        return [slots(counts), slots(counts)]
    return {
        "scatter": [slots(counts), own],
        "gather": [own, slots(counts)],
        "allgather": [own, slots(counts)],
        "reduce_scatter": [slots(counts), own],
    }[name]


def memory_of(places: list[tuple[int, int]]) -> int:
    return max((start + count for start, count in places), default=0)


def lay(entry: Algorithm, rank: int, size: int, root: int, in_place: bool) -> Layout:
    send, recv = places(entry, rank, size, root, in_place)
    source = Memory.RECV if in_place else Memory.SEND
    sizes = dict(enumerate(counts_of(size, entry))) if entry.contract.cut is Cut.RANK else None
    if entry.equal_counts:
        sizes = dict.fromkeys(range(size * size), 3)
    return layout(
        entry.contract, rank, size, root, entry.block_count(size),
        Place(tuple(send), source), Place(tuple(recv), Memory.RECV), sizes,
    )  # fmt: skip


def element(entry: Algorithm, block: int, offset: int, lay_: Layout) -> int:
    """A number for an element that all ranks agree on."""
    if entry.contract.cut is Cut.VECTOR:
        return sum(lay_.sizes[other] for other in range(block)) + offset
    return 1000 * block + offset


def build(entry: Algorithm, size: int, root: int, in_place: bool, ordered: bool) -> list[Rank]:
    layouts = [lay(entry, rank, size, root, in_place) for rank in range(size)]
    blocks = entry.block_count(size)
    ranks = []
    for rank, program in enumerate(programs(entry, layouts, root, ordered)):
        send, recv = places(entry, rank, size, root, in_place)
        both = max(memory_of(send), memory_of(recv))
        result = Rank(program, np.full(both, POISON, object), np.full(both, POISON, object))
        for block, ranks_in in entry.contract.start(rank, size, root, blocks).items():
            span = layouts[rank].start[block]
            owner = ranks_in.bit_length() - 1
            result.view(span)[:] = [
                word(owner, element(entry, block, i, layouts[rank])) for i in range(span.length)
            ]
        ranks.append(result)
    run(ranks, np.add)
    return ranks


def check(entry: Algorithm, size: int, root: int, in_place: bool, ordered: bool) -> None:
    if entry.contract.idempotent:
        build(entry, size, root, in_place, ordered)
        return
    ranks = build(entry, size, root, in_place, ordered)
    blocks = entry.block_count(size)
    for rank, result in enumerate(ranks):
        layout_ = lay(entry, rank, size, root, in_place)
        covered = np.zeros(len(result.memory[Memory.RECV]), bool)
        for block, contributions in entry.contract.end(rank, size, root, blocks).items():
            span = layout_.end[block]
            covered[span.start : span.end] = True
            for i, value in enumerate(result.view(span)):
                expected = product(contributions, element(entry, block, i, layout_))
                same = value == expected if ordered else letters(value) == letters(expected)
                assert same, (rank, block, i, value, expected)
        if not in_place:
            assert (result.memory[Memory.RECV][~covered] == POISON).all(), "written outside"


@pytest.mark.parametrize("in_place", [False, True], ids=["apart", "in-place"])
@pytest.mark.parametrize("entry", ALL, ids=lambda entry: f"{entry.collective}-{entry.name}")
def test_all_algorithms(entry: Algorithm, in_place: bool) -> None:
    for size in SIZES:
        if entry.refusal(size) is None:
            roots = {0, size // 2, size - 1} if entry.contract.rooted else {0}
            for root in roots:
                check(entry, size, root, in_place, ordered=not entry.commutes)


@pytest.mark.parametrize("entry", ALL, ids=lambda entry: f"{entry.collective}-{entry.name}")
def test_scratch_is_at_most_one_vector_and_what_arrives(entry: Algorithm) -> None:
    for size in (size for size in SIZES[1:] if entry.refusal(size) is None):
        layouts = [lay(entry, rank, size, 0, False) for rank in range(size)]
        vector = 11 if entry.contract.cut is Cut.VECTOR else sum(counts_of(size, entry))
        for program in programs(entry, layouts, 0, ordered=not entry.commutes):
            arrives = max((arriving(exchange) for exchange in program.rounds), default=0)
            assert program.scratch <= vector + arrives


def arriving(exchange: Exchange) -> int:
    """The elements that a round receives."""
    return sum(span.length for message in exchange.receives for span in message.spans)


def test_ring_reduce_scatter_needs_two_blocks() -> None:
    entry = catalogue()["reduce_scatter"]["ring"]
    size, counts = 5, [4] * 5
    layouts = [
        layout(
            CONTRACTS["reduce_scatter"], rank, size, 0, size,
            Place(tuple(slots(counts)), Memory.SEND), Place(((0, 4),), Memory.RECV),
        )
        for rank in range(size)
    ]  # fmt: skip
    assert {program.scratch for program in programs(entry, layouts, 0, False)} == {8}


def test_exchange_of_two_ranks_copies_nothing() -> None:
    entry = catalogue()["allreduce"]["recursive_doubling"]
    layouts = [lay(entry, rank, 2, 0, False) for rank in range(2)]
    for program in programs(entry, layouts, 0, True):
        (exchange,) = (exchange for exchange in program.rounds if exchange.busy)
        assert exchange.during == []
        (combine,) = exchange.after
        assert {combine.left.memory, combine.right.memory} == {Memory.SEND, Memory.SCRATCH}
        assert combine.out.memory is Memory.RECV
