"""The verifier: runs a schedule of all ranks on symbols and proves that it keeps its contract.

What it proves, for one algorithm, number of ranks and root:

- each message meets a receive of the same blocks, and nothing is left over;
- there is no deadlock, neither with buffered nor with synchronous sends, and both ends of each
  message stand in the same round;
- nothing is read before it is there, and nothing is overwritten while it is sent;
- every block ends with each contribution exactly once, in rank order where the operator needs it;
- ranks that end with the same block got it by the same expression, so they have the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from . import words
from .algorithm import Algorithm
from .contract import Contract
from .errors import ScheduleError
from .matching import check_messages
from .simulate import Expressions, Simulation
from .steps import Round


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
    ordered: bool | None = None,
    nodes: Sequence[int] | None = None,
) -> Proof:
    """Prove an algorithm right at a number of ranks; raises ``ScheduleError`` where it is not.

    ``ordered`` asks for rank order; by default it is asked of all that do not need an operator
    that commutes, and an algorithm that distinguishes is proved both ways.
    """
    if ordered is None and "ordered" in algorithm.parameters:
        verify(algorithm, size, root, False, nodes)
    asked = not algorithm.commutes if ordered is None else ordered
    rounds = [algorithm.generate(rank, size, root, asked, nodes) for rank in range(size)]
    count = algorithm.block_count(size, nodes)
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
    size = len(rounds)
    simulation = Simulation(contract, ordered, size, root, blocks)
    for steps in zip(*rounds, strict=True):
        simulation.play(steps)
    results: dict[tuple[int, int], int] = {}
    for rank in range(size):
        for block, ranks in contract.end(rank, size, root, blocks).items():
            _check_end(simulation, rank, block, ranks)
            result = simulation.expression(rank, block)
            if result != results.setdefault((block, ranks), result) and not contract.idempotent:
                message = "ranks got it by different expressions, so their bits may differ"
                raise ScheduleError(message, rank, simulation.round, block)
    return Proof(_is_canonical(simulation.expressions, contract, size, results))


def sample_roots(contract: Contract, size: int) -> list[int]:
    """The roots to prove at: all of up to 8 ranks, then the first two, the middle and the last."""
    if not contract.rooted:
        return [0]
    return sorted({0, 1, size // 2, size - 1}) if size > 8 else [*range(size)]


def _check_end(simulation: Simulation, rank: int, block: int, ranks: int) -> None:
    found = simulation.contributions(rank, block)
    if found != ranks:
        kind, wrong = (
            ("missing", ranks & ~found) if ranks & ~found else ("unwanted", found & ~ranks)
        )
        message = f"{kind} contribution of {words.ranks(wrong)} at the end"
        raise ScheduleError(message, rank, simulation.round, block)


def _is_canonical(
    expressions: Expressions, contract: Contract, size: int, results: dict[tuple[int, int], int]
) -> bool:
    """Whether the result of each (block, contributions) is the tree that the contract names."""
    if not contract.reduces:
        return True
    folded = expressions.folded_tree(size)
    return all(
        result == (expressions.prefix_tree(0, ranks.bit_length()) if contract.prefix else folded)
        for (_, ranks), result in results.items()
    )
