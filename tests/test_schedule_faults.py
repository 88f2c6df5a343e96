"""Broken schedules of two or three ranks, written by hand: what the verifier says of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pytest

from mpicoll.schedule import CONTRACTS, ScheduleError, verify_rounds
from mpicoll.schedule.algorithms import allgather, reduce_scatter
from mpicoll.schedule.steps import (
    AUX,
    DATA,
    LEFT,
    RIGHT,
    Step,
    copy,
    recv,
    recv_reduce,
    reduce,
    send,
)

Rounds: TypeAlias = list[list[list[Step]]]
"""[rank][round][step]"""


def test_a_wrong_shift() -> None:
    """After the first phase rank 0 has block 1 whole, but passes on its partial block 0."""
    rounds = [
        [*reduce_scatter.ring(rank, 3, shift=1), *allgather.ring(rank, 3)] for rank in range(3)
    ]
    with pytest.raises(ScheduleError) as caught:
        verify_rounds(CONTRACTS["allreduce"], rounds, blocks=3)
    assert (
        str(caught.value)
        == "rank 0, round 3, block 0: missing contribution of ranks 1, 2 at the end"
    )


def exchange(first: list[Step], second: list[Step]) -> Rounds:
    """One round of two ranks."""
    return [[first], [second]]


def message(rounds: Rounds, collective: str = "allreduce", **options: object) -> str:
    """What the verifier says."""
    with pytest.raises(ScheduleError) as caught:
        verify_rounds(CONTRACTS[collective], rounds, **options)  # type: ignore[arg-type]
    return str(caught.value)


def test_overwritten_while_sent() -> None:
    rounds = exchange([send(1, 0), recv(1, 0)], [send(0, 0), recv(0, 0)])
    assert message(rounds) == "rank 0, round 0, block 0: is overwritten while it is sent"


def test_two_arrivals_in_one_place() -> None:
    rounds: Rounds = [[[send(2, 0)]], [[send(2, 0)]], [[recv(0, 0), recv(1, 0)]]]
    assert message(rounds) == "rank 2, round 0, block 0: is received twice in one round"
    rounds = [[[send(2, 0)]], [[send(2, 0)]], [[recv(0, 0), recv_reduce(1, 0)]]]
    assert message(rounds) == "rank 2, round 0, block 0: is received twice in one round"


def test_read_before_arrival() -> None:
    """A chain in which rank 1 passes on before it has anything."""
    rounds: Rounds = [[[], [send(1, 0)]], [[send(2, 0)], [recv(0, 0)]], [[recv(1, 0)], []]]
    text = "rank 1, round 0, block 0: is read in space 'data' before it is there"
    assert message(rounds, "bcast") == text


def test_local_steps_read_before_arrival() -> None:
    rounds = exchange([copy(0, AUX, DATA)], [])
    text = "rank 0, round 0, block 0: is read in space 'aux' before it is there"
    assert message(rounds) == text
    assert message(exchange([reduce(0, AUX)], [])) == text


def test_double_count() -> None:
    """The second exchange brings what the first has brought."""
    once: Rounds = exchange([send(1, 0), recv_reduce(1, 0, RIGHT)], [send(0, 0), recv_reduce(0, 0)])
    rounds = [mine * 2 for mine in once]
    assert message(rounds) == "rank 0, round 1, block 0: doubled contribution of ranks 0, 1"
    rounds = exchange([reduce((0,), DATA)], [])
    assert message(rounds) == "rank 0, round 0, block 0: doubled contribution of rank 0"


def test_out_of_rank_order_is_no_fault_where_the_operator_commutes() -> None:
    rounds = exchange([send(1, 0), recv_reduce(1, 0, LEFT)], [send(0, 0), recv_reduce(0, 0, RIGHT)])
    verify_rounds(CONTRACTS["allreduce"], rounds)
    text = "rank 0, round 0, block 0: combines rank 1 on the left with rank 0 on the right"
    assert message(rounds, ordered=True).startswith(text)


def test_unequal_expressions() -> None:
    """Each rank computes op(mine, theirs): 0 + 1 on one rank, 1 + 0 on the other."""
    rounds = exchange(
        [send(1, 0), recv_reduce(1, 0, RIGHT)], [send(0, 0), recv_reduce(0, 0, RIGHT)]
    )
    text = (
        "rank 1, round 0, block 0: ranks got it by different expressions, so their bits may differ"
    )
    assert message(rounds) == text


def test_missing_contribution() -> None:
    rounds: Rounds = [[[recv_reduce(1, 0, RIGHT)]], [[send(0, 0)]], [[]]]
    text = "rank 0, round 0, block 0: missing contribution of rank 2 at the end"
    assert message(rounds, "reduce") == text


def test_unwanted_contribution() -> None:
    """In a scan, rank 0 must not take in what is above it."""
    rounds = exchange([send(1, 0), recv_reduce(1, 0, RIGHT)], [send(0, 0), recv_reduce(0, 0)])
    text = "rank 0, round 0, block 0: unwanted contribution of rank 1 at the end"
    assert message(rounds, "scan") == text


def test_messages_in_the_wrong_order() -> None:
    rounds = exchange([send(1, 0), send(1, 1)], [recv(0, 1), recv(0, 0)])
    text = "rank 1, round 0, block 0: expects blocks [1] from rank 0, which sends [0] in round 0"
    assert message(rounds, "bcast", blocks=2) == text


def test_a_block_named_twice_and_a_message_of_nothing() -> None:
    rounds = exchange([send(1, (0, 0))], [recv(0, (0, 0))])
    text = "rank 0, round 0, block 0: is named twice in a Send step"
    assert message(rounds, "bcast") == text
    text = "rank 0, round 0: a Send step has no blocks"
    assert message(exchange([send(1, ())], [recv(0, ())]), "bcast") == text


def test_a_message_to_itself_that_would_meet_its_receive() -> None:
    rounds = exchange([send(0, 0), recv(0, 0, AUX)], [])
    text = "rank 0, round 0, block 0: a Send step names rank 0, which is itself"
    assert message(rounds) == text


def ring_of_three(
    first: Callable[[int], list[Step]], second: Callable[[int], list[Step]]
) -> Rounds:
    return [[first(rank), second(rank)] for rank in range(3)]


def to_the_right(rank: int) -> list[Step]:
    return [send((rank + 1) % 3, rank)]


def from_the_left(rank: int) -> list[Step]:
    return [recv((rank - 1) % 3, (rank - 1) % 3)]


def test_deadlock_with_synchronous_sends_only() -> None:
    """All send, then all receive: it runs as long as MPI buffers the messages."""
    text = message(ring_of_three(to_the_right, from_the_left), "allgather")
    assert text == (
        "rank 0, round 0: deadlock with synchronous sends: rank 0 (round 0) waits for "
        "rank 1 (round 0) waits for rank 2 (round 0) waits for rank 0 (round 0)"
    )


def test_deadlock_with_buffered_sends() -> None:
    """All receive, then all send: nobody ever sends."""
    text = message(ring_of_three(from_the_left, to_the_right), "allgather")
    assert text == (
        "rank 0, round 0: deadlock with buffered sends: rank 0 (round 0) waits for "
        "rank 2 (round 0) waits for rank 1 (round 0) waits for rank 0 (round 0)"
    )


def test_out_of_step_without_a_deadlock() -> None:
    """Rank 0 is late, rank 1 waits for it: it ends well, but rounds are no longer aligned."""
    rounds: Rounds = [[[], [send(1, 0)]], [[recv(0, 0)], []]]
    text = (
        "rank 0, round 1, block 0: its message to rank 1 is received in round 0, "
        "not in the round in which it is sent"
    )
    assert message(rounds, "bcast") == text
