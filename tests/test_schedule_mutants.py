"""Broken schedules: each kind of fault, in several algorithms, is caught and named."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import pytest

from mpicoll.schedule import Algorithm, ScheduleError, find, verify_rounds
from mpicoll.schedule.steps import (
    LEFT,
    RIGHT,
    Recv,
    RecvReduce,
    Send,
    Step,
)

Rounds: TypeAlias = list[list[list[Step]]]
"""[rank][round][step]"""

MESSAGES = (Send, Recv, RecvReduce)


@dataclass(frozen=True)
class Case:
    """An algorithm at a number of ranks."""

    collective: str
    name: str
    size: int
    root: int = 0

    def __str__(self) -> str:
        return f"{self.collective}-{self.name}-{self.size}"

    @property
    def entry(self) -> Algorithm:
        return find(self.collective, self.name)

    def rounds(self) -> Rounds:
        """A copy of the schedule that may be broken."""
        entry = self.entry
        every = (entry.schedule(rank, self.size, self.root) for rank in range(self.size))
        return [[list(steps) for steps in mine] for mine in every]

    def verify(self, rounds: Rounds) -> None:
        entry = self.entry
        count = entry.block_count(self.size)
        verify_rounds(entry.contract, rounds, self.root, count, not entry.commutes)


CASES = [
    Case("allreduce", "ring", 5),
    Case("allreduce", "recursive_doubling", 6),
    Case("allreduce", "circulant", 5),
    Case("allgather", "bruck", 6),
    Case("bcast", "circulant", 7, root=2),
    Case("reduce_scatter", "circulant", 5),
    Case("reduce", "rabenseifner", 6, root=3),
    Case("alltoall", "pairwise", 5),
    Case("scan", "hillis_steele", 6),
    Case("gather", "binomial", 6, root=1),
]

Place: TypeAlias = tuple[int, int, int]
"""(rank, round, position)"""


def places(rounds: Rounds, kinds: tuple[type, ...] = MESSAGES) -> list[Place]:
    """Where the steps of these kinds stand."""
    return [
        (rank, number, position)
        for rank, mine in enumerate(rounds)
        for number, steps in enumerate(mine)
        for position, step in enumerate(steps)
        if isinstance(step, kinds)
    ]


def other_end(rounds: Rounds, place: Place) -> Place:
    """Where the receive of a send stands, in schedules of one message a pair and round."""
    rank, number, position = place
    peer = rounds[rank][number][position].peer
    for other, step in enumerate(rounds[peer][number]):
        if isinstance(step, Recv | RecvReduce) and step.peer == rank:
            return peer, number, other
    raise AssertionError(f"no receive for {place}")


Mutation: TypeAlias = Callable[[Case], Iterator[Rounds]]


def replaced(
    case: Case, change: Callable[[Step], Step], kinds: tuple[type, ...]
) -> Iterator[Rounds]:
    """Copies in which one step is another."""
    for rank, number, position in places(case.rounds(), kinds):
        rounds = case.rounds()
        steps = rounds[rank][number]
        steps[position] = change(steps[position])
        yield rounds


def drop_send(case: Case) -> Iterator[Rounds]:
    for rank, number, position in places(case.rounds(), (Send,)):
        rounds = case.rounds()
        del rounds[rank][number][position]
        yield rounds


def drop_receive(case: Case) -> Iterator[Rounds]:
    for rank, number, position in places(case.rounds(), (Recv, RecvReduce)):
        rounds = case.rounds()
        del rounds[rank][number][position]
        yield rounds


def drop_message(case: Case) -> Iterator[Rounds]:
    for place in places(case.rounds(), (Send,)):
        rounds = case.rounds()
        for rank, number, position in (place, other_end(rounds, place)):
            del rounds[rank][number][position]
        yield rounds


def drop_round(case: Case) -> Iterator[Rounds]:
    for number in range(len(case.rounds()[0])):
        rounds = case.rounds()
        for mine in rounds:
            del mine[number]
        yield rounds


def send_to_another(case: Case) -> Iterator[Rounds]:
    return replaced(case, lambda step: step._replace(peer=(step.peer + 1) % case.size), (Send,))


def receive_from_another(case: Case) -> Iterator[Rounds]:
    kinds = (Recv, RecvReduce)
    return replaced(case, lambda step: step._replace(peer=(step.peer - 1) % case.size), kinds)


def to_itself(case: Case) -> Iterator[Rounds]:
    for rank, number, position in places(case.rounds()):
        rounds = case.rounds()
        steps = rounds[rank][number]
        steps[position] = steps[position]._replace(peer=rank)
        yield rounds


def to_nobody(case: Case) -> Iterator[Rounds]:
    return replaced(case, lambda step: step._replace(peer=case.size), MESSAGES)


def another_block_at_one_end(case: Case) -> Iterator[Rounds]:
    return replaced(case, lambda step: step._replace(blocks=next_blocks(case, step)), MESSAGES)


def another_block(case: Case) -> Iterator[Rounds]:
    for place in places(case.rounds(), (Send,)):
        rounds = case.rounds()
        for rank, number, position in (place, other_end(rounds, place)):
            steps = rounds[rank][number]
            steps[position] = steps[position]._replace(blocks=next_blocks(case, steps[position]))
        yield rounds


def next_blocks(case: Case, step: Step) -> tuple[int, ...]:
    """The first block replaced by the next that the step does not name."""
    count = case.entry.block_count(case.size) + 1
    first, *rest = step.blocks
    others = ((first + i) % count for i in range(1, count))
    return (next(block for block in others if block not in rest), *rest)


def sent_twice(case: Case) -> Iterator[Rounds]:
    for rank, number, position in places(case.rounds(), (Send,)):
        rounds = case.rounds()
        rounds[rank][number].append(rounds[rank][number][position])
        yield rounds


def sent_a_round_later(case: Case) -> Iterator[Rounds]:
    for rank, number, position in places(case.rounds(), (Send,)):
        rounds = case.rounds()
        step = rounds[rank][number].pop(position)
        for mine in rounds:
            mine.append([])
        rounds[rank][number + 1].insert(0, step)
        yield rounds


def sent_from_another_space(case: Case) -> Iterator[Rounds]:
    return replaced(case, lambda step: step._replace(space="nowhere"), (Send,))


def received_into_another_space(case: Case) -> Iterator[Rounds]:
    return replaced(case, lambda step: step._replace(space="nowhere"), (Recv, RecvReduce))


def overwritten_in_place_of_combined(case: Case) -> Iterator[Rounds]:
    return replaced(case, lambda step: Recv(step.peer, step.blocks, step.space), (RecvReduce,))


def combined_in_place_of_overwritten(case: Case) -> Iterator[Rounds]:
    return replaced(
        case, lambda step: RecvReduce(step.peer, step.blocks, step.space, LEFT), (Recv,)
    )


def one_round_more(case: Case) -> Iterator[Rounds]:
    for rank in range(case.size):
        rounds = case.rounds()
        rounds[rank].append([])
        yield rounds


MUTATIONS: dict[Mutation, str] = {
    drop_send: "never sends|expects blocks",
    drop_receive: "is never received|expects blocks",
    drop_message: "missing contribution|before it is there|breaks rank order|different expressions",
    drop_round: "missing contribution|before it is there|breaks rank order",
    send_to_another: "never received|never sends|expects blocks|which is itself",
    receive_from_another: "never received|never sends|expects blocks|which is itself",
    to_itself: "which is itself",
    to_nobody: "but there are only",
    another_block_at_one_end: "expects blocks",
    another_block: "missing contribution|doubled contribution|before it is there|overwritten|twice"
    "|breaks rank order",
    sent_twice: "is never received|expects blocks",
    sent_a_round_later: "not in the round in which it is sent|deadlock|expects blocks",
    sent_from_another_space: "in space 'nowhere' before it is there",
    received_into_another_space: "missing contribution|before it is there",
    overwritten_in_place_of_combined: "missing contribution|overwritten|twice|breaks rank order"
    "|unwanted contribution",
    combined_in_place_of_overwritten: "before it is there|doubled contribution|breaks rank order",
    one_round_more: "different numbers of rounds",
}


PAIRS = [
    pytest.param(case, mutation, id=f"{case}-{mutation.__name__}")
    for case in CASES
    for mutation in MUTATIONS
    if next(mutation(case), None) is not None
]
"""Each case with the kinds of fault that it has a place for."""


@pytest.mark.parametrize(("case", "mutation"), PAIRS)
def test_mutants_are_caught(case: Case, mutation: Mutation) -> None:
    """Every single place where a schedule can be broken so, not a sample of them."""
    case.verify(case.rounds())
    for rounds in mutation(case):
        with pytest.raises(ScheduleError, match=MUTATIONS[mutation]) as caught:
            case.verify(rounds)
        if mutation is not one_round_more:
            places = (caught.value.rank, caught.value.round, caught.value.block)
            assert None not in places


def test_each_kind_of_fault_finds_a_place() -> None:
    tried = {pair.values[1] for pair in PAIRS}
    assert tried == set(MUTATIONS)


@pytest.mark.parametrize("name", ["recursive_doubling", "rabenseifner", "reduce_bcast"])
def test_a_wrong_side_breaks_rank_order(name: str) -> None:
    case = Case("allreduce", name, 6)
    flip = {LEFT: RIGHT, RIGHT: LEFT}
    mutants = list(replaced(case, lambda s: s._replace(side=flip[s.side]), (RecvReduce,)))
    assert mutants
    for rounds in mutants:
        with pytest.raises(ScheduleError, match="breaks rank order"):
            case.verify(rounds)


def test_a_wrong_root() -> None:
    for collective, name in (("bcast", "binomial"), ("scatter", "linear"), ("gather", "binomial")):
        case = Case(collective, name, 5, root=1)
        with pytest.raises(ScheduleError, match=r"before it is there|missing contribution"):
            Case(collective, name, 5, root=0).verify(case.rounds())


def test_a_barrier_may_hear_of_a_rank_twice_but_must_hear_of_all() -> None:
    case = Case("barrier", "dissemination", 5)
    case.verify(case.rounds())
    for rounds in drop_message(case):
        with pytest.raises(ScheduleError, match="missing contribution"):
            case.verify(rounds)
