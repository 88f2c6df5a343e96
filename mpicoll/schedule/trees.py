"""Two binary trees over the same ranks, each for half of a vector.

A tree stands on the numbers 1, 2, 3, ... in order: a number's children lie on both sides of it, and
odd numbers are leaves.  In the second tree every rank has the next number, so that a rank is inner
in at most one of the two, and together they keep all ranks about equally busy.  The last rank goes
round to number 1 or, where rank order must be kept, past the end, and number 1 stays empty.
Source: Sanders, Speck, Träff, Parallel Computing 35(12), 2009.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .steps import (
    LEFT,
    RIGHT,
    Blocks,
    Rounds,
    Side,
    Step,
    largest_power_of_two,
    recv,
    recv_reduce,
    send,
)
from .teams import Team, shares


def parent(number: int, count: int) -> int | None:
    """The number above one of 1 to ``count``, or None above the top."""
    if number == largest_power_of_two(count):
        return None
    lowest = number & -number
    above = number ^ lowest | lowest << 1
    return above if above <= count else number ^ lowest


def children(number: int, count: int) -> tuple[int | None, int | None]:
    """The numbers below one of 1 to ``count``, on its lower and its upper side."""
    reach = (number & -number) >> 1
    lower = number - reach if reach else None
    while number + reach > count:
        reach >>= 1
    return lower, number + reach if reach else None


def depth(number: int, count: int) -> int:
    """The number of levels above one of 1 to ``count``."""
    above = parent(number, count)
    return 0 if above is None else 1 + depth(above, count)


TREES = "(ceil_log({0}) + ceil_log({0} - 1) + ({0} == 2)) / 2"
"""The closed form of the bytes that move in both trees under a root, of so many ranks in all."""


def halves(team: Team, blocks: int = 2) -> list[Blocks]:
    """What each of a team's trees under a root carries: of two ranks there is one, with all."""
    return shares(blocks, 1 + (len(team) > 2))


class Place(NamedTuple):
    """Where a rank stands in a tree: the rank above it, those below and on which side, its depth.

    ``parent`` is None at the top.
    """

    parent: int | None
    children: list[tuple[int, Side]]
    depth: int


class Tree(NamedTuple):
    """A tree over ranks in the order given: rank i has number i + 1 + shift.

    ``numbers`` counts them, with the one that is empty; one past the end is number 1.
    """

    ranks: Sequence[int]
    shift: int
    numbers: int

    @property
    def levels(self) -> int:
        """The number of levels."""
        return self.numbers.bit_length()

    def rank(self, number: int | None) -> int | None:
        """The rank that has a number, or None."""
        if number is None:
            return None
        index = (number - 1 - self.shift) % self.numbers
        return self.ranks[index] if index < len(self.ranks) else None

    def place(self, index: int) -> Place:
        """Where the rank of that index stands."""
        number = (index + self.shift) % self.numbers + 1
        below = zip(children(number, self.numbers), (LEFT, RIGHT), strict=True)
        ranks = [(self.rank(child), side) for child, side in below]
        return Place(
            self.rank(parent(number, self.numbers)),
            [(child, side) for child, side in ranks if child is not None],
            depth(number, self.numbers),
        )


class Pair:
    """A rank's ``places`` in two trees over all ranks, and the ``height`` of the higher one.

    With a ``root`` that rank stands above the tops of both, and of two ranks there is one tree.
    ``ordered``: every tree is in the order of the ranks, of those other than the root.
    """

    def __init__(self, rank: int, size: int, root: int | None, ordered: bool = False) -> None:
        first = 0 if root is None else root + 1
        ranks = [(first + i) % size for i in range(size - (root is not None))]
        shifts = range(min(2, len(ranks)))
        trees = [Tree(ranks, shift, len(ranks) + (ordered and shift)) for shift in shifts]
        self.height = max(tree.levels for tree in trees) - (root is None)
        self.places = [_place(rank, tree, root) for tree in trees]

    def ascend(self) -> Rounds:
        """Part i of the vector is combined up tree i, a level a round."""
        for level in reversed(range(self.height)):
            steps: list[Step] = []
            for part, place in enumerate(self.places):
                if place.depth == level:
                    steps += [recv_reduce(one, part, side) for one, side in place.children]
                elif place.depth == level + 1 and place.parent is not None:
                    steps.append(send(place.parent, part))
            yield steps

    def descend(self) -> Rounds:
        """Part i of the vector goes down tree i, a level a round."""
        for level in range(self.height):
            steps: list[Step] = []
            for part, place in enumerate(self.places):
                if place.depth == level:
                    steps += [send(one, part) for one, _ in place.children]
                elif place.depth == level + 1 and place.parent is not None:
                    steps.append(recv(place.parent, part))
            yield steps


def _place(rank: int, tree: Tree, root: int | None) -> Place:
    """A rank's place in a tree, with a root on top if there is one."""
    if rank == root:
        top = tree.rank(largest_power_of_two(tree.numbers))
        return Place(None, [] if top is None else [(top, RIGHT)], 0)
    place = tree.place(tree.ranks.index(rank))
    if root is None:
        return place
    above = root if place.parent is None else place.parent
    return Place(above, place.children, place.depth + 1)
