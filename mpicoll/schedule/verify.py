"""The verifier: runs a schedule of all ranks on symbols and proves that it keeps its contract.

What it proves, for one algorithm, number of ranks and root:

- each message meets a receive of the same blocks, and nothing is left over;
- there is no deadlock, neither with buffered nor with synchronous sends, and both ends of each
  message stand in the same round;
- nothing is read before it is there, and nothing is overwritten while it is sent;
- every block ends with each contribution exactly once, in rank order where the operator needs it;
- ranks that end with the same block got it by the same expression, so they have the same bits.

What is in a block is the number of the expression that made it: equal numbers mean the same
operations on the same contributions in the same order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from .catalogue import Algorithm
from .contract import Contract
from .errors import ScheduleError
from .fold import Fold
from .matching import check_messages
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


class Proof(NamedTuple):
    """What a verified schedule was found to be.

    ``canonical``: its bits are those of one tree over the ranks, fixed for each number of them, so
    they depend neither on the algorithm nor on how the vector is cut.
    """

    canonical: bool


def verify(
    algorithm: Algorithm,
    size: int,
    root: int = 0,
    blocks: int | None = None,
    ordered: bool | None = None,
) -> Proof:
    """Prove an algorithm right at a number of ranks; raises ``ScheduleError`` where it is not.

    ``ordered`` asks for rank order; by default it is asked of all that do not need an operator
    that commutes, and an algorithm that distinguishes is proved both ways.
    """
    if ordered is None and "ordered" in algorithm.parameters:
        verify(algorithm, size, root, blocks, ordered=False)
    asked = not algorithm.commutes if ordered is None else ordered
    rounds = [algorithm.generate(rank, size, root, blocks, asked) for rank in range(size)]
    count = algorithm.block_count(size, blocks)
    return verify_rounds(algorithm.contract, rounds, root, count, asked)


def verify_rounds(
    contract: Contract,
    rounds: Sequence[Sequence[Round]],
    root: int = 0,
    blocks: int = 1,
    ordered: bool = False,
) -> Proof:
    """Prove the rounds of all ranks, given as data."""
    check_messages(rounds)
    machine = _Machine(contract, ordered, len(rounds), root, blocks)
    for steps in zip(*rounds, strict=True):
        machine.play(steps)
    return machine.conclude()


class _Machine:
    """All ranks' blocks, and what each step does to them."""

    def __init__(
        self, contract: Contract, ordered: bool, size: int, root: int, blocks: int
    ) -> None:
        self._contract, self._case = contract, (size, root, blocks)
        self._ordered = ordered and not contract.idempotent
        self._expressions = Expressions(size)
        self._combined: dict[tuple[int, int], int] = {}
        self._round = -1
        self._stores: list[dict[str, Space]] = []
        for rank in range(size):
            start = contract.start(rank, *self._case)
            data = {block: ranks.bit_length() - 1 for block, ranks in start.items()}
            self._stores.append(defaultdict(dict, {DATA: data}))

    def play(self, steps: Sequence[Round]) -> None:
        """One round of all ranks: sends read, messages land, then combining and local steps."""
        self._round += 1
        mail: Mail = defaultdict(list)
        for rank, mine in enumerate(steps):
            for step in mine:
                if isinstance(step, Send):
                    mail[rank, step.peer].append(self._read(rank, step.space, step.blocks))
        for rank, mine in enumerate(steps):
            if mine:
                self._land(rank, mine, mail)
                self._local(rank, mine)

    def _land(self, rank: int, steps: Round, mail: Mail) -> None:
        self._check_overwriting(rank, steps)
        for_combining: list[tuple[RecvReduce, list[int]]] = []
        for step in steps:
            if isinstance(step, Recv):
                values = mail[step.peer, rank].pop(0)
                self._stores[rank][step.space].update(zip(step.blocks, values, strict=True))
            elif isinstance(step, RecvReduce):
                for_combining.append((step, mail[step.peer, rank].pop(0)))
        for step, values in for_combining:
            self._combine(rank, step.space, step.blocks, values, step.side)

    def _local(self, rank: int, steps: Round) -> None:
        for step in steps:
            if isinstance(step, Copy):
                values = self._read(rank, step.source, step.blocks)
                self._stores[rank][step.target].update(zip(step.blocks, values, strict=True))
            elif isinstance(step, Reduce):
                values = self._read(rank, step.source, step.blocks)
                self._combine(rank, step.target, step.blocks, values, step.side)

    def _check_overwriting(self, rank: int, steps: Round) -> None:
        """What lands in place of something may meet neither a send nor another arrival."""
        busy: dict[tuple[str, int], str] = {}
        landing: list[tuple[str, int]] = []
        for step in steps:
            if isinstance(step, Recv):
                landing += [(step.space, block) for block in step.blocks]
            elif isinstance(step, RecvReduce):
                busy.update(
                    ((step.space, block), "is received twice in one round") for block in step.blocks
                )
            elif isinstance(step, Send):
                busy.update(
                    ((step.space, block), "is overwritten while it is sent")
                    for block in step.blocks
                )
        for key in landing:
            if key in busy:
                raise ScheduleError(busy[key], rank, self._round, key[1])
            busy[key] = "is received twice in one round"

    def _read(self, rank: int, space: str, blocks: Blocks) -> list[int]:
        here = self._stores[rank][space]
        try:
            return [here[block] for block in blocks]
        except KeyError as missing:
            message = f"is read in space {space!r} before it is there"
            raise ScheduleError(message, rank, self._round, missing.args[0]) from None

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
        lower, upper = self._expressions.ranks[left], self._expressions.ranks[right]
        if lower & upper and not self._contract.idempotent:
            doubled = _names(lower & upper)
            raise ScheduleError(f"doubled contribution of {doubled}", rank, self._round, block)
        if self._ordered and not _neighbours(lower, upper):
            message = (
                f"combines {_names(lower)} on the left with {_names(upper)} "
                "on the right, which breaks rank order"
            )
            raise ScheduleError(message, rank, self._round, block)
        self._combined[left, right] = number = self._expressions.apply(left, right)
        return number

    def conclude(self) -> Proof:
        """Compare the end with the contract."""
        first_found: dict[tuple[int, int], int] = {}
        for rank in range(len(self._stores)):
            for block, ranks in self._contract.end(rank, *self._case).items():
                expression = self._end(rank, block, ranks)
                first = first_found.setdefault((block, ranks), expression)
                if first != expression and not self._contract.idempotent:
                    message = "ranks got it by different expressions, so their bits may differ"
                    raise ScheduleError(message, rank, self._round, block)
        canonical = not self._contract.reduces or all(
            expression == self._canonical(ranks) for (_, ranks), expression in first_found.items()
        )
        return Proof(canonical)

    def _end(self, rank: int, block: int, ranks: int) -> int:
        """The expression that a block ends with, which must have these contributions."""
        expression = self._stores[rank][DATA].get(block)
        found = 0 if expression is None else self._expressions.ranks[expression]
        if expression is None or ranks & ~found:
            missing = f"missing contribution of {_names(ranks & ~found)} at the end"
            raise ScheduleError(missing, rank, self._round, block)
        if found & ~ranks:
            surplus = f"unwanted contribution of {_names(found & ~ranks)} at the end"
            raise ScheduleError(surplus, rank, self._round, block)
        return expression

    def _canonical(self, ranks: int) -> int:
        if self._contract.prefix:
            return self._expressions.prefix_tree(0, ranks.bit_length())
        return self._expressions.folded_tree(self._case[0])


def _neighbours(left: int, right: int) -> bool:
    """Whether the right set begins with the rank after the left set's last."""
    return right & -right == 1 << left.bit_length()


def _names(ranks: int) -> str:
    """The ranks of a set, in words."""
    numbers = [str(rank) for rank in range(ranks.bit_length()) if ranks >> rank & 1]
    return ("rank " if len(numbers) == 1 else "ranks ") + ", ".join(numbers)
