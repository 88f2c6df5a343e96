"""Schedules on Python objects: each message is the pickled list of its blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from mpi4py import MPI

from ..schedule.steps import LEFT, Copy, Recv, RecvReduce, Reduce, Round, Send, Side
from .progress import receive, waiter
from .waiting import SPIN

Values: TypeAlias = dict[tuple[str, int], Any]
"""(space, block) -> object."""

BinaryOperator: TypeAlias = Callable[[Any, Any], Any]


def play(
    comm: MPI.Intracomm,
    rounds: Iterable[Round],
    values: Values,
    op: BinaryOperator,
    mode: str = SPIN,
) -> None:
    """Run one rank's rounds, with tag 0; ``values`` begins as the contract's start.

    Objects are combined as ``op(left, right)``; exceptions of it propagate.  ``mode``: how to wait.
    """
    for steps in rounds:
        _play_round(comm, steps, values, op, mode)


def _play_round(
    comm: MPI.Intracomm, steps: Round, values: Values, op: BinaryOperator, mode: str
) -> None:
    """Send, receive, combine, then the local steps."""
    requests = [
        comm.isend([values[step.space, block] for block in step.blocks], step.peer, 0)
        for step in steps
        if isinstance(step, Send)
    ]
    arrivals = [
        (step, receive(comm, step.peer, 0, mode))
        for step in steps
        if isinstance(step, Recv | RecvReduce)
    ]
    waiter(mode)(requests)
    for arrival, objects in arrivals:
        side = arrival.side if isinstance(arrival, RecvReduce) else None
        _take(values, arrival.space, arrival.blocks, objects, side, op)
    for step in steps:
        if isinstance(step, Copy | Reduce):
            mine = [values[step.source, block] for block in step.blocks]
            side = step.side if isinstance(step, Reduce) else None
            _take(values, step.target, step.blocks, mine, side, op)


def _take(
    values: Values,
    space: str,
    blocks: Sequence[int],
    objects: Sequence[Any],
    side: Side | None,
    op: BinaryOperator,
) -> None:
    """Put objects into blocks, or combine them, standing on a side, with what is there."""
    for block, theirs in zip(blocks, objects, strict=True):
        key = (space, block)
        if side is LEFT:
            theirs = op(theirs, values[key])
        elif side is not None:
            theirs = op(values[key], theirs)
        values[key] = theirs
