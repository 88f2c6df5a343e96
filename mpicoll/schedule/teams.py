"""Teams: algorithms that run among some of the ranks, in all teams at the same time.

A node's ranks are a team, and the nodes' leaders are one; the leader is the root in the root's node
and the lowest rank elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import TypeAlias

from .steps import Blocks, Recv, RecvReduce, Rounds, Send, Step, split

Phase: TypeAlias = Callable[[int, int], Rounds]
"""(place in the team, its size) -> rounds."""

Team: TypeAlias = Sequence[int]
"""Ranks, in the order of their places."""

Parts: TypeAlias = Callable[[Team], Sequence[Blocks]]
"""Team -> the blocks that each block of its phase stands for."""


def among(rank: int, teams: Sequence[Team], phase: Phase, parts: Parts) -> Rounds:
    """Run a phase in each team; a rank in none, or whose team is done, looks on."""
    team = next((team for team in teams if rank in team), ())
    own = [*phase(team.index(rank), len(team))] if len(team) > 1 else []
    stands_for = parts(team) if own else []
    for steps in own:
        yield [_renamed(step, team, stands_for) for step in steps]
    sizes = {len(other) for other in teams} - {1}
    longest = max((len([*phase(0, size)]) for size in sizes), default=0)
    yield from ([] for _ in range(longest - len(own)))


def _renamed(step: Step, team: Team, parts: Sequence[Blocks]) -> Step:
    """A team's step as one of all ranks."""
    blocks = tuple(block for part in step.blocks for block in parts[part])
    if isinstance(step, Send | Recv | RecvReduce):
        return step._replace(peer=team[step.peer], blocks=blocks)
    return step._replace(blocks=blocks)


def node_teams(nodes: Sequence[int], root: int = 0) -> list[list[int]]:
    """The ranks of each node, its leader first, and the root's node first."""
    members = {nodes[root]: [root]}
    for rank, node in enumerate(nodes):
        if rank != root:
            members.setdefault(node, []).append(rank)
    return [*members.values()]


def leaders(teams: Sequence[Team]) -> list[Team]:
    """The one team of the leaders."""
    return [[team[0] for team in teams]]


def shares(blocks: int, count: int) -> list[Blocks]:
    """Blocks in ``count`` shares, one after another, that differ by at most one block."""
    bounds = [0, *accumulate(split(blocks, count))]
    return [tuple(range(*pair)) for pair in pairwise(bounds)]
