"""Stripes: the interleaved program of several parts gives what the parts give, in less scratch."""

from __future__ import annotations

import numpy as np
import pytest
from simulation import POISON, Rank, run

from mpicoll.schedule import Algorithm, Cut, catalogue
from mpicoll.schedule.steps import split
from mpicoll.transport.layout import Place, layout
from mpicoll.transport.placement import place
from mpicoll.transport.program import Memory, Program
from mpicoll.transport.stripes import interleave

COUNT = 23
VECTORS = [
    entry
    for entries in catalogue().values()
    for entry in entries.values()
    if entry.contract.cut is Cut.VECTOR and not entry.contract.idempotent
]


def striped(
    entry: Algorithm, rank: int, size: int, root: int, stripes: int, overlap: bool = False
) -> Program:
    programs, begin = [], 0
    for count in split(COUNT, stripes):
        lay = layout(
            entry.contract, rank, size, root, entry.block_count(size),
            Place(((begin, count),), Memory.SEND), Place(((begin, count),), Memory.RECV),
        )  # fmt: skip
        rounds = entry.schedule(rank, size, root, ordered=not entry.commutes)
        programs.append(place(rounds, lay.start, lay.end, lay.sizes))
        begin += count
    return interleave(programs, overlap)


@pytest.mark.parametrize(("stripes", "overlap"), [(1, 0), (2, 0), (5, 0), (30, 0), (3, 1), (30, 1)])
@pytest.mark.parametrize("entry", VECTORS, ids=lambda entry: f"{entry.collective}-{entry.name}")
def test_stripes_give_the_whole(entry: Algorithm, stripes: int, overlap: int) -> None:
    for size in (1, 2, 5, 8):
        if entry.refusal(size) is not None:
            continue
        root = size - 1 if entry.contract.rooted else 0
        ranks = []
        for rank in range(size):
            send = np.array([f"<{rank}:{i}>" for i in range(COUNT)], object)
            program = striped(entry, rank, size, root, stripes, bool(overlap))
            ranks.append(Rank(program, send, np.full(COUNT, POISON, object)))
        run(ranks, np.add)
        for rank, result in enumerate(ranks):
            ends = entry.contract.end(rank, size, root, 1)
            expected = [
                sorted(f"<{source}:{i}>" for source in range(size) if ends[0] >> source & 1)
                for i in range(COUNT if ends else 0)
            ]
            found = [
                sorted(f"<{word}" for word in str(value).split("<")[1:])
                for value in result.memory[Memory.RECV]
                if value != POISON
            ]
            assert found == expected


def test_scratch_is_that_of_the_stripes_in_flight() -> None:
    ring = catalogue()["allreduce"]["ring"]
    # One stripe: rank r combines block r + 1 of two, which are 12 and 11 elements.
    assert [striped(ring, rank, 2, 0, 1).scratch for rank in (0, 1)] == [11, 12]
    # 23 stripes of one element take 2 rounds each: two are in flight, block 0 of one element each.
    assert [striped(ring, rank, 2, 0, 23).scratch for rank in (0, 1)] == [0, 2]


def test_overlapped_stripes_combine_while_others_are_under_way() -> None:
    """Four stripes from rank 1 to rank 0: a message each in rounds 0 to 3, combined in the next
    one's flight, so nothing is left to do after any round."""
    entry = catalogue()["reduce"]["linear"]
    program = striped(entry, 0, 2, 0, 4, overlap=True)
    assert [len(exchange.receives) for exchange in program.rounds] == [1, 1, 1, 1, 0]
    assert [len(exchange.during) for exchange in program.rounds] == [0, 1, 1, 1, 1]
    assert not any(exchange.after for exchange in program.rounds)
    assert program.scratch == 2 * 6  # two stripes of at most 6 of the 23 elements in flight
