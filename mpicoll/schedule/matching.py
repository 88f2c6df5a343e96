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
from .steps import Blocks, Recv, RecvReduce, Round, Send, Step

RECEIVES = (Recv, RecvReduce)
MESSAGES = (Send, Recv, RecvReduce)

Ends: TypeAlias = dict[tuple[int, int], list[tuple[int, Blocks]]]
"""(from, to) -> the (round, blocks) of each message, in order."""


class Message(NamedTuple):
    """A send and the receive that it meets."""

    source: int
    target: int
    sent: int
    received: int
    blocks: Blocks


def check_messages(rounds: Sequence[Sequence[Round]]) -> None:
    """Raise ``ScheduleError`` unless each message meets a receive, in the same round."""
    lengths = {len(mine) for mine in rounds}
    if len(lengths) == 1 and all(_is_sound(steps) for steps in zip(*rounds, strict=True)):
        return
    for rank, mine in enumerate(rounds):
        for number, steps in enumerate(mine):
            for step in steps:
                _check_step(step, rank, number, len(rounds))
    _check_order(rounds, list(_match(rounds)))
    raise ScheduleError(f"ranks have different numbers of rounds: {sorted(lengths)}")


def _is_sound(steps: Sequence[Round]) -> bool:
    """Whether in this round of all ranks every message meets a receive of the same blocks.

    Says so quickly, without a reason; steps that ``_check_step`` would refuse are not sound.
    """
    sent: dict[tuple[int, int], list[Blocks]] = defaultdict(list)
    expected: dict[tuple[int, int], list[Blocks]] = defaultdict(list)
    for rank, mine in enumerate(steps):
        for step in mine:
            if len(step.blocks) != 1 and not 0 < len(step.blocks) == len(set(step.blocks)):
                return False
            if isinstance(step, Send):
                sent[rank, step.peer].append(step.blocks)
            elif isinstance(step, RECEIVES):
                expected[step.peer, rank].append(step.blocks)
    return sent == expected and all(source != target for source, target in sent)


def _check_step(step: Step, rank: int, number: int, size: int) -> None:
    if len(step.blocks) != 1:
        kind = type(step).__name__
        if not step.blocks:
            raise ScheduleError(f"a {kind} step has no blocks", rank, number)
        if len(set(step.blocks)) < len(step.blocks):
            twice = next(block for block in step.blocks if step.blocks.count(block) > 1)
            raise ScheduleError(f"is named twice in a {kind} step", rank, number, twice)
    if isinstance(step, MESSAGES) and (step.peer == rank or not 0 <= step.peer < size):
        fault = "which is itself" if step.peer == rank else f"but there are only {size} ranks"
        kind = type(step).__name__
        message = f"a {kind} step names rank {step.peer}, {fault}"
        raise ScheduleError(message, rank, number, step.blocks[0])


def _check_order(rounds: Sequence[Sequence[Round]], messages: list[Message]) -> None:
    """Raise for messages that meet, but out of step: for a deadlock first."""
    late = next((message for message in messages if message.sent != message.received), None)
    if late is None:
        return
    _check_deadlock(rounds, messages, synchronous=False)
    _check_deadlock(rounds, messages, synchronous=True)
    raise ScheduleError(
        f"its message to rank {late.target} is received in round {late.received}, "
        "not in the round in which it is sent",
        late.source,
        late.sent,
        late.blocks[0],
    )


def _all_messages(
    rounds: Sequence[Sequence[Round]],
) -> Iterator[tuple[int, int, Send | Recv | RecvReduce]]:
    for rank, mine in enumerate(rounds):
        for number, steps in enumerate(mine):
            for step in steps:
                if isinstance(step, MESSAGES):
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
        for (sent, blocks), (received, expected) in zip(out, into, strict=False):
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
