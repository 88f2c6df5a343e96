"""All ranks' blocks, run through a schedule on symbols.

What is in a block is the number of the expression that made it: equal numbers mean the same
operations on the same contributions in the same order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TypeAlias

from . import words
from .contract import Contract
from .errors import ScheduleError
from .fold import Fold
from .steps import (
    DATA,
    LEFT,
    Blocks,
    Copy,
    Recv,
    RecvReduce,
    Reduce,
    Round,
    Send,
    Side,
    largest_power_of_two,
)

LOCAL = (Copy, Reduce)

Space: TypeAlias = dict[int, int]
"""Block number -> number of the expression that is in it."""

Mail: TypeAlias = dict[tuple[int, int], list[list[int]]]
"""(from, to) -> the expressions in each message under way, in order."""


class Expressions:
    """Gives every expression over the ranks' inputs a number, the same for the same expression.

    The inputs are numbered by rank.  ``ranks`` has the contributions in each, as bits.
    """

    def __init__(self, size: int) -> None:
        self.ranks = [1 << rank for rank in range(size)]
        self._numbers: dict[tuple[int, int], int] = {}

    def apply(self, left: int, right: int) -> int:
        """The number of ``op(left, right)``."""
        number = self._numbers.setdefault((left, right), len(self.ranks))
        if number == len(self.ranks):
            self.ranks.append(self.ranks[left] | self.ranks[right])
        return number

    def prefix_tree(self, first: int, end: int) -> int:
        """The tree over ranks first .. end-1 whose left branch is the largest power of two."""
        if end - first == 1:
            return first
        middle = first + largest_power_of_two(end - first - 1)
        return self.apply(self.prefix_tree(first, middle), self.prefix_tree(middle, end))

    def folded_tree(self, size: int) -> int:
        """The balanced tree over the virtual ranks of a fold, its pairs combined first."""
        fold = Fold(size)
        level = [fold.members(virtual) for virtual in range(fold.power)]
        nodes = [self.apply(*pair) if len(pair) == 2 else pair[0] for pair in level]
        while len(nodes) > 1:
            nodes = [self.apply(*pair) for pair in zip(nodes[::2], nodes[1::2], strict=True)]
        return nodes[0]


class Simulation:
    """All ranks' blocks, and what each step does to them.

    Raises ``ScheduleError`` for a read before arrival, an overwrite, a doubled contribution and,
    where ``ordered`` asks for it, a combination out of rank order.  Expects messages that meet.
    ``round`` is the round played last.
    """

    def __init__(
        self, contract: Contract, ordered: bool, size: int, root: int, blocks: int
    ) -> None:
        self._contract = contract
        self._ordered = ordered and not contract.idempotent
        self.expressions = Expressions(size)
        self._combined: dict[tuple[int, int], int] = {}
        self.round = -1
        self._stores: list[dict[str, Space]] = []
        for rank in range(size):
            start = contract.start(rank, size, root, blocks)
            data = {block: ranks.bit_length() - 1 for block, ranks in start.items()}
            self._stores.append(defaultdict(dict, {DATA: data}))

    def play(self, steps: Sequence[Round]) -> None:
        """One round of all ranks: sends read, messages land, then combining and local steps."""
        self.round += 1
        mail: Mail = defaultdict(list)
        for rank, mine in enumerate(steps):
            for step in mine:
                if isinstance(step, Send):
                    mail[rank, step.peer].append(self._read(rank, step.space, step.blocks))
        for rank, mine in enumerate(steps):
            if mine:
                self._land(rank, mine, mail)
                for step in mine:
                    if isinstance(step, LOCAL):
                        self._act(rank, step)

    def _land(self, rank: int, steps: Round, mail: Mail) -> None:
        """Messages take the place of what was there, then others combine with what is there."""
        places: list[tuple[str, int]] = []
        for_combining: list[tuple[RecvReduce, list[int]]] = []
        for step in steps:
            if isinstance(step, Recv):
                values = mail[step.peer, rank].pop(0)
                self._stores[rank][step.space].update(zip(step.blocks, values, strict=True))
                places += [(step.space, block) for block in step.blocks]
            elif isinstance(step, RecvReduce):
                for_combining.append((step, mail[step.peer, rank].pop(0)))
        if places:
            self._check_overwriting(rank, steps, places)
        for step, values in for_combining:
            self._combine(rank, step.space, step.blocks, values, step.side)

    def _act(self, rank: int, step: Copy | Reduce) -> None:
        values = self._read(rank, step.source, step.blocks)
        if isinstance(step, Copy):
            self._stores[rank][step.target].update(zip(step.blocks, values, strict=True))
        else:
            self._combine(rank, step.target, step.blocks, values, step.side)

    def _check_overwriting(self, rank: int, steps: Round, places: list[tuple[str, int]]) -> None:
        """What lands in these (space, block) may meet neither a send nor another arrival."""
        sent = {
            (step.space, one) for step in steps if isinstance(step, Send) for one in step.blocks
        }
        taken = {
            (step.space, one)
            for step in steps
            if isinstance(step, RecvReduce)
            for one in step.blocks
        }
        if len(set(places) - sent - taken) == len(places):
            return
        for place in places:
            if place in sent:
                raise ScheduleError("is overwritten while it is sent", rank, self.round, place[1])
            if place in taken:
                raise ScheduleError("is received twice in one round", rank, self.round, place[1])
            taken.add(place)

    def _read(self, rank: int, space: str, blocks: Blocks) -> list[int]:
        here = self._stores[rank][space]
        try:
            return [here[block] for block in blocks]
        except KeyError as missing:
            message = f"is read in space {space!r} before it is there"
            raise ScheduleError(message, rank, self.round, missing.args[0]) from None

    def _combine(
        self, rank: int, space: str, blocks: Blocks, values: Sequence[int], side: Side
    ) -> None:
        here = self._stores[rank][space]
        mine = self._read(rank, space, blocks)
        for block, own, other in zip(blocks, mine, values, strict=True):
            pair = (other, own) if side is LEFT else (own, other)
            number = self._combined.get(pair)
            here[block] = self._combine_anew(rank, block, *pair) if number is None else number

    def _combine_anew(self, rank: int, block: int, left: int, right: int) -> int:
        """Combine two expressions that have not met before, if they may meet."""
        lower, upper = self.expressions.ranks[left], self.expressions.ranks[right]
        if lower & upper and not self._contract.idempotent:
            doubled = words.ranks(lower & upper)
            raise ScheduleError(f"doubled contribution of {doubled}", rank, self.round, block)
        if self._ordered and not _neighbours(lower, upper):
            message = (
                f"combines {words.ranks(lower)} on the left with {words.ranks(upper)} "
                "on the right, which breaks rank order"
            )
            raise ScheduleError(message, rank, self.round, block)
        self._combined[left, right] = number = self.expressions.apply(left, right)
        return number

    def expression(self, rank: int, block: int) -> int:
        """The number of the expression that is in a block of a rank's data, which must be there."""
        return self._stores[rank][DATA][block]

    def contributions(self, rank: int, block: int, space: str = DATA) -> int:
        """The contributions that are in a block of a rank, as bits; 0 where nothing is."""
        here = self._stores[rank][space]
        return self.expressions.ranks[here[block]] if block in here else 0


def _neighbours(left: int, right: int) -> bool:
    """Whether the right set begins with the rank after the left set's last."""
    return right & -right == 1 << left.bit_length()
