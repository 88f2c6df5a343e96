"""Whether the messages of all ranks meet, and in which order ranks can run.

Messages between two ranks match first come, first served.  If both ends of every message stand in
the same round, no rank can block for ever: by induction all ranks reach each round, where every
send and receive is posted at once.  Only a schedule that breaks this is searched for a deadlock.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from .errors import ScheduleError
from .steps import Blocks, Recv, RecvReduce, Round, Send

Ends: TypeAlias = dict[tuple[int, int], list[tuple[int, Blocks]]]
"""(from, to) -> the (round, blocks) of each message, in order."""


class Message(NamedTuple):
    """A send and the receive that it meets."""

    source: int
    target: int
    sent: int
    received: int
    blocks: Blocks


def check_messages(rounds: Sequence[Sequence[Round]]) -> list[Message]:
    """Match all sends with receives; raises ``ScheduleError`` for what does not meet."""
    lengths = {len(mine) for mine in rounds}
    _check_peers(rounds)
    messages = list(_match(rounds))
    if any(message.sent != message.received for message in messages):
        _check_deadlock(rounds, messages, synchronous=False)
        _check_deadlock(rounds, messages, synchronous=True)
        late = next(message for message in messages if message.sent != message.received)
        raise ScheduleError(
            f"its message to rank {late.target} is received in round {late.received}, "
            "not in the round in which it is sent",
            late.source,
            late.sent,
        )
    if len(lengths) > 1:
        raise ScheduleError(f"ranks have different numbers of rounds: {sorted(lengths)}")
    return messages


def _check_peers(rounds: Sequence[Sequence[Round]]) -> None:
    for rank, number, step in _all_messages(rounds):
        if step.peer == rank:
            raise ScheduleError("sends to or receives from itself", rank, number)
        if not 0 <= step.peer < len(rounds):
            raise ScheduleError(f"names rank {step.peer}, which is not there", rank, number)
        if not step.blocks:
            raise ScheduleError(f"a message with rank {step.peer} has no blocks", rank, number)
        if len(set(step.blocks)) < len(step.blocks):
            raise ScheduleError(f"a message with rank {step.peer} has a block twice", rank, number)


def _all_messages(
    rounds: Sequence[Sequence[Round]],
) -> Iterator[tuple[int, int, Send | Recv | RecvReduce]]:
    for rank, mine in enumerate(rounds):
        for number, steps in enumerate(mine):
            for step in steps:
                if isinstance(step, Send | Recv | RecvReduce):
                    yield rank, number, step


def _match(rounds: Sequence[Sequence[Round]]) -> Iterator[Message]:
    sends: Ends = defaultdict(list)
    receives: Ends = defaultdict(list)
    for rank, number, step in _all_messages(rounds):
        if isinstance(step, Send):
            sends[rank, step.peer].append((number, step.blocks))
        else:
            receives[step.peer, rank].append((number, step.blocks))
    for source, target in sorted({*sends, *receives}):
        out, into = sends[source, target], receives[source, target]
        for (sent, blocks), (received, expected) in zip(out, into):
            if blocks != expected:
                raise ScheduleError(
                    f"expects blocks {list(expected)} from rank {source}, "
                    f"which sends {list(blocks)} in round {sent}",
                    target,
                    received,
                    next(iter(set(expected) ^ set(blocks)), expected[0]),
                )
            yield Message(source, target, sent, received, blocks)
        if len(out) > len(into):
            number, blocks = out[len(into)]
            message = f"its message to rank {target} is never received"
            raise ScheduleError(message, source, number, blocks[0])
        if len(into) > len(out):
            number, blocks = into[len(out)]
            message = f"waits for a message that rank {source} never sends"
            raise ScheduleError(message, target, number, blocks[0])


def _check_deadlock(
    rounds: Sequence[Sequence[Round]], messages: list[Message], synchronous: bool
) -> None:
    """Let all ranks run as far as they can; a cycle of ranks that wait is a deadlock."""
    needs: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for message in messages:
        needs[message.target, message.received].append((message.source, message.sent))
        if synchronous:
            needs[message.source, message.sent].append((message.target, message.received))
    at = [0] * len(rounds)
    moved = True
    while moved:
        moved = False
        for rank, mine in enumerate(rounds):
            while at[rank] < len(mine) and not _waits_for(needs, at, rank):
                at[rank] += 1
                moved = True
    stuck = [rank for rank, mine in enumerate(rounds) if at[rank] < len(mine)]
    if stuck:
        raise _deadlock(needs, at, stuck[0], synchronous)


def _waits_for(
    needs: dict[tuple[int, int], list[tuple[int, int]]], at: list[int], rank: int
) -> list[int]:
    """The ranks that have not come to the round in which they meet this rank's message."""
    return [peer for peer, number in needs[rank, at[rank]] if at[peer] < number]


def _deadlock(
    needs: dict[tuple[int, int], list[tuple[int, int]]],
    at: list[int],
    rank: int,
    synchronous: bool,
) -> ScheduleError:
    path = [rank]
    while path.count(path[-1]) < 2:
        path.append(_waits_for(needs, at, path[-1])[0])
    cycle = path[path.index(path[-1]) :]
    words = " waits for ".join(f"rank {member} (round {at[member]})" for member in cycle)
    kind = "synchronous" if synchronous else "buffered"
    return ScheduleError(f"deadlock with {kind} sends: {words}", cycle[0], at[cycle[0]])
