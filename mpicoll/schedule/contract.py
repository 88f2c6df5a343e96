"""What each collective promises, as data: where each contribution starts and where it must end.

A contribution is a rank's input to a block; a set of them is an integer with bit ``r`` for rank
``r``.  A contract says, for one rank, which blocks it holds at the start and at the end, and whose
contributions are in them (MPI 4.1, chapter 6).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from .steps import pair

Holdings: TypeAlias = dict[int, int]
"""Block number -> set of contributions, as bits."""

Rule: TypeAlias = Callable[[int, int, int, int], Holdings]
"""(rank, size, root, blocks) -> holdings."""


class Cut(Enum):
    """How a collective's data fall into blocks."""

    VECTOR = "vector"  # one vector, in as many blocks as the algorithm likes
    RANK = "rank"  # one block a rank, sized by the user
    PAIR = "pair"  # one block for each ordered pair of ranks


@dataclass(frozen=True)
class Contract:
    """Start and end of one collective.

    ``rooted``: one rank is special.  ``reduces``: contributions are combined by an operator.
    ``idempotent``: messages carry no bytes and only tell of arrival, so a contribution may come
    more than once (a barrier).  ``prefix``: each rank gets another combination, of the ranks up to
    it.
    """

    name: str
    cut: Cut
    start: Rule
    end: Rule
    rooted: bool = False
    reduces: bool = False
    idempotent: bool = False
    prefix: bool = False

    @property
    def operates(self) -> bool:
        """Whether the result depends on the operator: all that reduces, but a barrier."""
        return self.reduces and not self.idempotent

    def blocks(self, size: int, vector_blocks: int = 1) -> int:
        """The number of blocks at this size, for an algorithm that cuts a vector so."""
        return {Cut.VECTOR: vector_blocks, Cut.RANK: size, Cut.PAIR: size * size}[self.cut]


def _own(rank: int, size: int, root: int, blocks: int) -> Holdings:
    return dict.fromkeys(range(blocks), 1 << rank)


def _all(rank: int, size: int, root: int, blocks: int) -> Holdings:
    return dict.fromkeys(range(blocks), (1 << size) - 1)


def _roots(rank: int, size: int, root: int, blocks: int) -> Holdings:
    return dict.fromkeys(range(blocks), 1 << root)


def _each(rank: int, size: int, root: int, blocks: int) -> Holdings:
    return {block: 1 << block for block in range(size)}


def _mine(rank: int, size: int, root: int, blocks: int) -> Holdings:
    return {rank: 1 << rank}


def _row(rank: int, size: int, root: int, blocks: int) -> Holdings:
    return {pair(rank, target, size): 1 << rank for target in range(size)}


def _column(rank: int, size: int, root: int, blocks: int) -> Holdings:
    return {pair(source, rank, size): 1 << source for source in range(size)}


def _prefix(rank: int, size: int, root: int, blocks: int) -> Holdings:
    return dict.fromkeys(range(blocks), (2 << rank) - 1)


def _prefix_before(rank: int, size: int, root: int, blocks: int) -> Holdings:
    return dict.fromkeys(range(blocks), (1 << rank) - 1) if rank else {}


def _my_block(rule: Rule) -> Rule:
    def rule_of_mine(rank: int, size: int, root: int, blocks: int) -> Holdings:
        return {rank: rule(rank, size, root, blocks)[rank]}

    return rule_of_mine


def _at_root(rule: Rule) -> Rule:
    def rule_at_root(rank: int, size: int, root: int, blocks: int) -> Holdings:
        return rule(rank, size, root, blocks) if rank == root else {}

    return rule_at_root


CONTRACTS: dict[str, Contract] = {
    contract.name: contract
    for contract in (
        Contract("barrier", Cut.VECTOR, _own, _all, reduces=True, idempotent=True),
        Contract("bcast", Cut.VECTOR, _at_root(_roots), _roots, rooted=True),
        Contract("scatter", Cut.RANK, _at_root(_roots), _my_block(_roots), rooted=True),
        Contract("gather", Cut.RANK, _mine, _at_root(_each), rooted=True),
        Contract("allgather", Cut.RANK, _mine, _each),
        Contract("reduce", Cut.VECTOR, _own, _at_root(_all), rooted=True, reduces=True),
        Contract("allreduce", Cut.VECTOR, _own, _all, reduces=True),
        Contract("reduce_scatter", Cut.RANK, _own, _my_block(_all), reduces=True),
        Contract("alltoall", Cut.PAIR, _row, _column),
        Contract("scan", Cut.VECTOR, _own, _prefix, reduces=True, prefix=True),
        Contract("exscan", Cut.VECTOR, _own, _prefix_before, reduces=True, prefix=True),
    )
}
"""Every collective by its name."""
