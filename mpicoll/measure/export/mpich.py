"""MPICH: a JSON file by which it selects algorithms, its own rules with the winners in them.

MPICH takes the file in place of all its rules, so that those of the library in use are put into
it.  They are a text in its file: a tree of conditions, the first that holds counting.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from ...communicator.tuning import Tuning
from ...schedule import Algorithm
from ...schedule.steps import largest_power_of_two
from ..environment import library
from ._segments import Segment, segments

OPTIONS = (
    "MPIR_CVAR_DEVICE_COLLECTIVES=none MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE={path} mpiexec ..."
)
"""The device's own collectives would stand before those that the file selects."""

Tree: TypeAlias = dict[str, Any]
"""Conditions, each with the tree where it holds; at the end ``algorithm=`` and its parameters."""


class NoRules(LookupError):
    """The rules of MPICH are not to be found; the message says where they were looked for."""


@dataclass(frozen=True)
class Leaf:
    """An algorithm of MPICH and what it needs.

    ``commutes``: the operator must commute; ``splits``: it splits vectors, so that the operator
    must be MPI's and the elements no fewer than the ranks.
    """

    name: str
    commutes: bool = False
    splits: bool = False
    parameters: tuple[str, ...] = ()


BY_SIZE = {
    "allgather": "total_msg_size",
    "allreduce": "avg_msg_size",
    "alltoall": "avg_msg_size",
    "bcast": "avg_msg_size",
    "reduce": "avg_msg_size",
    "reduce_scatter": "total_msg_size",
    "reduce_scatter_block": "total_msg_size",
}
"""How the size is called in the conditions; others have rules without sizes."""

_BLOCK = {
    "pairwise": Leaf("pairwise", commutes=True),
    "recursive_halving": Leaf("recursive_halving", commutes=True),
    "recursive_doubling": Leaf("recursive_doubling"),
}

THEIRS: dict[str, tuple[str, dict[str, Leaf]]] = {
    "allgather": ("allgather", {
        "ring": Leaf("ring"), "recursive_doubling": Leaf("recursive_doubling"),
        "bruck": Leaf("brucks"),
    }),
    "allreduce": ("allreduce", {
        "ring": Leaf("ring", commutes=True, splits=True),
        "recursive_doubling": Leaf("recursive_doubling"),
        "rabenseifner": Leaf("reduce_scatter_allgather", commutes=True, splits=True),
    }),
    "alltoall": ("alltoall", {
        "linear": Leaf("scattered"), "pairwise": Leaf("pairwise"), "bruck": Leaf("brucks"),
    }),
    "barrier": ("barrier", {"dissemination": Leaf("k_dissemination", parameters=("k=2",))}),
    "bcast": ("bcast", {
        "binomial": Leaf("binomial"), "scatter_allgather": Leaf("scatter_ring_allgather"),
    }),
    "exscan": ("exscan", {"recursive_doubling": Leaf("recursive_doubling")}),
    "reduce": ("reduce", {
        "binomial": Leaf("binomial"),
        "rabenseifner": Leaf("reduce_scatter_gather", commutes=True, splits=True),
    }),
    "reduce_scatter": ("reduce_scatter", _BLOCK),
    "reduce_scatter_block": ("reduce_scatter", _BLOCK),
    "scan": ("scan", {"recursive_doubling": Leaf("recursive_doubling")}),
}  # fmt: skip
"""MPICH's collectives: ours, and what each of our algorithms is there."""


def export(tuning: Tuning, rules: Tree | None = None) -> tuple[str, list[str]]:
    """The JSON file, and notes.

    ``rules``: those to put the winners into; by default those of the library in use.  For other
    numbers of ranks they stay.  Raises ``NoRules`` where the library has none.
    """
    tree = dict(library_rules() if rules is None else rules)
    ranks, notes = len(tuning.nodes), list[str]()
    for name, (ours, leaves) in THEIRS.items():
        own = tree.get(f"collective={name}")
        if ours in tuning.winners and own is not None:
            translate = partial(_translate, leaves, ranks)
            found, told = segments(ours, tuning.winners[ours], translate)
            notes += [note if name == ours else f"{name}, {note}" for note in told]
            tree[f"collective={name}"] = _with_winners(name, own, ranks, found)
    return json.dumps(tree, indent=1) + "\n", notes


def library_rules() -> Tree:
    """The rules in the file of the MPI library in use; raises ``NoRules`` where there are none."""
    found = library()
    path = found["path"]
    trees = _trees(Path(path).read_bytes()) if path else []
    if not trees:
        raise NoRules(
            f"{found['vendor']} ({path or 'its file is not seen'}) has no rules of MPICH in it; "
            "export where MPICH 4.1 or newer is the MPI library in use"
        )
    return max(trees, key=len)


def _trees(image: bytes) -> list[Tree]:
    """The selections of algorithms among all texts of a library."""
    texts = re.findall(rb'(?<=\0)\{"collective=[^\0]*(?=\0)', image)
    return [json.loads(text) for text in texts if b'"algorithm=MPIR_' in text]


def _translate(leaves: dict[str, Leaf], ranks: int, entry: Algorithm, nbytes: int) -> Leaf | None:
    if entry.settings(ranks).get("radix", 2) != 2:
        return None
    if (entry.collective, entry.base) == ("bcast", "scatter_allgather"):
        doubles = ranks == largest_power_of_two(ranks)
        return Leaf("scatter_recursive_doubling_allgather") if doubles else leaves[entry.base]
    return leaves.get(entry.base)


def _with_winners(name: str, own: Tree, ranks: int, found: Sequence[Segment[Leaf]]) -> Tree:
    """A collective's rules with the winners at one number of ranks."""
    intra = own.get("comm_type=intra", own)
    ours = _sizes(name, intra, ranks, found)
    if name == "alltoall":
        ours = {"is_sendbuf_inplace=yes": intra, "is_sendbuf_inplace=no": ours}
    chosen = {f"comm_size<{ranks}": intra, f"comm_size<={ranks}": ours, "comm_size=any": intra}
    return {"comm_type=intra": chosen, **{key: own[key] for key in own if key == "comm_type=inter"}}


def _sizes(name: str, intra: Tree, ranks: int, found: Sequence[Segment[Leaf]]) -> Tree:
    trees = [_leaf(name, intra, segment.theirs) for segment in found]
    if name not in BY_SIZE:
        return trees[0] if len(trees) == 1 else intra
    blocks = ranks if name == "alltoall" else 1
    limits = [f"<={segment.up_to // blocks}" for segment in found[:-1]] + ["=any"]
    return {f"{BY_SIZE[name]}{limit}": tree for limit, tree in zip(limits, trees, strict=True)}


def _leaf(name: str, intra: Tree, leaf: Leaf | None) -> Tree:
    """An algorithm behind the conditions that it needs; MPICH's own rules where they fail."""
    if leaf is None:
        return intra
    tree: Tree = {}
    for parameter in reversed(leaf.parameters):
        tree = {parameter: tree}
    tree = {f"algorithm=MPIR_{name.capitalize()}_intra_{leaf.name}": tree}
    if leaf.splits:
        tree = {
            "is_op_built_in=yes": {"count<pow2": intra, "count=any": tree},
            "is_op_built_in=no": intra,
        }
    return {"is_commutative=yes": tree, "is_commutative=no": intra} if leaf.commutes else tree
