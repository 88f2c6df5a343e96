"""The verifier: runs a schedule of all ranks on symbols and proves that it keeps its contract.

What it proves, for one algorithm, number of ranks and root:

- each message meets a receive of the same blocks, and nothing is left over;
- there is no deadlock, neither with buffered nor with synchronous sends, and both ends of each
  message stand in the same round;
- nothing is read before it is there, and nothing is overwritten while it is sent;
- every block ends with each contribution exactly once, in rank order where the operator needs it;
- ranks that end with the same block got it by the same expression, so they have the same bits.

The value of a block is a set of contributions (bits of an integer) and the number of the
expression that made it; equal numbers mean the same operations in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from .catalogue import Algorithm
from .contract import Contract, Holdings
from .errors import ScheduleError
from .fold import Fold
from .matching import check_messages
from .steps import (
    DATA,
    LEFT,
    Copy,
    Recv,
    RecvReduce,
    Reduce,
    Round,
    Send,
    Side,
    largest_power_of_two,
)


class Value(NamedTuple):
    """What is in a block: contributions as bits, and the number of its expression."""

    ranks: int
    expression: int


Key: TypeAlias = tuple[str, int]
Store: TypeAlias = dict[Key, Value]


class Expressions:
    """Gives every expression over the ranks' inputs a number, the same for the same expression."""

    def __init__(self, size: int) -> None:
        self._numbers: dict[tuple[int, int], int] = {}
        self._next = size

    def apply(self, left: int, right: int) -> int:
        """The number of ``op(left, right)``; the inputs are numbered by rank."""
        number = self._numbers.setdefault((left, right), self._next)
        self._next += number == self._next
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
    ordered = not algorithm.commutes if ordered is None else ordered
    # An algorithm that takes no notice keeps rank order or not, whatever it is asked for.
    rounds = [
        algorithm.schedule(rank, size, root, blocks, ordered=ordered) for rank in range(size)
    ]
    count = algorithm.block_count(size, blocks)
    return verify_rounds(algorithm.contract, rounds, root, count, ordered)


def verify_rounds(
    contract: Contract,
    rounds: Sequence[Sequence[Round]],
    root: int = 0,
    blocks: int = 1,
    ordered: bool = False,
) -> Proof:
    """Prove the rounds of all ranks, given as data."""
    check_messages(rounds)
    size = len(rounds)
    machine = _Machine(contract, ordered, Expressions(size), size, root, blocks)
    for number, steps in enumerate(zip(*rounds, strict=True)):
        machine.play(number, steps)
    return machine.conclude()


class _Machine:
    """All ranks' blocks, and what each step does to them."""

    def __init__(
        self,
        contract: Contract,
        ordered: bool,
        expressions: Expressions,
        size: int,
        root: int,
        blocks: int,
    ) -> None:
        self._contract, self._ordered, self._expressions = contract, ordered, expressions
        self._case = (size, root, blocks)
        self._stores: list[Store] = []
        for rank in range(size):
            start = contract.start(rank, *self._case)
            self._stores.append(
                {(DATA, block): Value(ranks, _leaf(ranks)) for block, ranks in start.items()}
            )

    def play(self, number: int, steps: Sequence[Round]) -> None:
        """One round of all ranks: sends read, messages land, then combining and local steps."""
        mail: dict[tuple[int, int], list[list[Value]]] = {}
        for rank, mine in enumerate(steps):
            self._check_overwriting(number, rank, mine)
            for step in mine:
                if isinstance(step, Send):
                    values = [
                        self._read(number, rank, step.space, block) for block in step.blocks
                    ]
                    mail.setdefault((rank, step.peer), []).append(values)
        for rank, mine in enumerate(steps):
            arrived = [
                (step, mail[step.peer, rank].pop(0))
                for step in mine
                if isinstance(step, Recv | RecvReduce)
            ]
            for step, values in arrived:
                if isinstance(step, Recv):
                    for block, value in zip(step.blocks, values, strict=True):
                        self._stores[rank][step.space, block] = value
            for step, values in arrived:
                if isinstance(step, RecvReduce):
                    for block, value in zip(step.blocks, values, strict=True):
                        self._combine(number, rank, step.space, block, value, step.side)
            self._local(number, rank, mine)

    def _local(self, number: int, rank: int, steps: Round) -> None:
        for step in steps:
            if isinstance(step, Copy | Reduce):
                for block in step.blocks:
                    value = self._read(number, rank, step.source, block)
                    if isinstance(step, Copy):
                        self._stores[rank][step.target, block] = value
                    else:
                        self._combine(number, rank, step.target, block, value, step.side)

    def _check_overwriting(self, number: int, rank: int, steps: Round) -> None:
        sent = {
            (step.space, block) for step in steps if isinstance(step, Send) for block in step.blocks
        }
        landing: set[Key] = set()
        combined = {
            (step.space, block)
            for step in steps
            if isinstance(step, RecvReduce)
            for block in step.blocks
        }
        for step in steps:
            if isinstance(step, Recv):
                for block in step.blocks:
                    key = (step.space, block)
                    if key in sent:
                        raise ScheduleError("is overwritten while it is sent", rank, number, block)
                    if key in landing or key in combined:
                        raise ScheduleError("is received twice in one round", rank, number, block)
                    landing.add(key)

    def _read(self, number: int, rank: int, space: str, block: int) -> Value:
        try:
            return self._stores[rank][space, block]
        except KeyError:
            message = f"is read in space {space!r} before it is there"
            raise ScheduleError(message, rank, number, block) from None

    def _combine(
        self, number: int, rank: int, space: str, block: int, value: Value, side: Side
    ) -> None:
        mine = self._read(number, rank, space, block)
        left, right = (value, mine) if side is LEFT else (mine, value)
        if left.ranks & right.ranks and not self._contract.idempotent:
            doubled = _names(left.ranks & right.ranks)
            raise ScheduleError(f"doubled contribution of {doubled}", rank, number, block)
        if self._ordered and not _neighbours(left.ranks, right.ranks):
            message = (
                f"combines {_names(left.ranks)} on the left with {_names(right.ranks)} "
                "on the right, which breaks rank order"
            )
            if not self._contract.idempotent:
                raise ScheduleError(message, rank, number, block)
        self._stores[rank][space, block] = Value(
            left.ranks | right.ranks, self._expressions.apply(left.expression, right.expression)
        )

    def conclude(self) -> Proof:
        """Compare the end with the contract."""
        expressions: dict[tuple[int, int], int] = {}
        canonical = True
        for rank, store in enumerate(self._stores):
            end = self._contract.end(rank, *self._case)
            _check_end(rank, end, store)
            for block, ranks in end.items():
                expression = store[DATA, block].expression
                first = expressions.setdefault((block, ranks), expression)
                if first != expression and not self._contract.idempotent:
                    message = "ranks got it by different expressions, so their bits may differ"
                    raise ScheduleError(message, rank, block=block)
                if self._contract.reduces and canonical:
                    canonical = expression == self._canonical(ranks)
        return Proof(canonical)

    def _canonical(self, ranks: int) -> int:
        if self._contract.prefix:
            return self._expressions.prefix_tree(0, ranks.bit_length())
        return self._expressions.folded_tree(self._case[0])


def _check_end(rank: int, end: Holdings, store: Store) -> None:
    for block, ranks in end.items():
        if (DATA, block) not in store:
            raise ScheduleError(f"missing contribution of {_names(ranks)}", rank, block=block)
        found = store[DATA, block].ranks
        if ranks & ~found:
            missing = _names(ranks & ~found)
            raise ScheduleError(f"missing contribution of {missing}", rank, block=block)
        if found & ~ranks:
            surplus = _names(found & ~ranks)
            raise ScheduleError(f"unwanted contribution of {surplus}", rank, block=block)


def _leaf(ranks: int) -> int:
    return ranks.bit_length() - 1


def _neighbours(left: int, right: int) -> bool:
    """Whether the right set begins with the rank after the left set's last."""
    return right & -right == 1 << left.bit_length()


def _names(ranks: int) -> str:
    """The ranks of a set, in words."""
    numbers = [str(rank) for rank in range(ranks.bit_length()) if ranks >> rank & 1]
    return ("rank " if len(numbers) == 1 else "ranks ") + ", ".join(numbers)
