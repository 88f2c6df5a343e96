"""MPICH: a JSON file by which it selects algorithms, its own rules with the winners in them.

MPICH takes the file in place of all its rules, so that those of the library in use are put into
it.  They are a text in its file: a tree of conditions, the first that holds counting.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
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

MOST = (1 << 31) - 1
"""The largest number that MPICH reads from a condition."""

Make = Callable[[Algorithm, int, int], Leaf | None]
"""(algorithm, ranks, bytes) -> leaf."""


def _leaf_of(name: str, commutes: bool = False, splits: bool = False) -> Make:
    return lambda entry, ranks, nbytes: Leaf(name, commutes, splits)


def _radix_of(name: str, commutes: bool = False) -> Make:
    """An algorithm of any radix."""

    def make(entry: Algorithm, ranks: int, nbytes: int) -> Leaf:
        radix = entry.settings(ranks)["radix"]
        return Leaf(name, commutes, parameters=(f"k={radix}",))

    return make


def _bruck(entry: Algorithm, ranks: int, nbytes: int) -> Leaf:
    radix = entry.settings(ranks)["radix"]
    return Leaf("brucks") if radix == 2 else Leaf("k_brucks", parameters=(f"k={radix}",))


def _scatter_allgather(entry: Algorithm, ranks: int, nbytes: int) -> Leaf:
    """As ours, recursive doubling at a power of two, else round the ring."""
    doubles = ranks == largest_power_of_two(ranks)
    return Leaf(f"scatter_{'recursive_doubling' if doubles else 'ring'}_allgather")


def _star(entry: Algorithm, ranks: int, nbytes: int) -> Leaf:
    """A tree of which all ranks are children of the root."""
    return Leaf("tree", parameters=("tree_type=kary", f"k={ranks - 1}", "is_non_blocking=1"))


def _pipeline(children: int) -> Make:
    """A tree through which a vector goes in as many chunks as ours has stripes."""

    def make(entry: Algorithm, ranks: int, nbytes: int) -> Leaf:
        chunk = max(1, ceil(nbytes / entry.options.get("stripes", 1)))
        tree = ("tree_type=kary", f"k={children}", "is_non_blocking=0")
        chunks = (f"chunk_size={min(chunk, MOST)}", "recv_pre_posted=0")
        return Leaf("pipelined_tree", parameters=tree + chunks)

    return make


_BLOCK: dict[str, Make] = {
    "pairwise": _leaf_of("pairwise", commutes=True),
    "recursive_halving": _leaf_of("recursive_halving", commutes=True),
    "recursive_doubling": _leaf_of("recursive_doubling"),
}

_DOUBLING = {"recursive_doubling": _leaf_of("recursive_doubling")}

THEIRS: dict[str, tuple[str, dict[str, Make]]] = {
    "allgather": ("allgather", {"ring": _leaf_of("ring"), "bruck": _bruck, **_DOUBLING}),
    "allreduce": ("allreduce", {
        "ring": _leaf_of("ring", commutes=True, splits=True),
        "recursive_multiplying": _radix_of("recursive_multiplying", commutes=True),
        "rabenseifner": _leaf_of("reduce_scatter_allgather", commutes=True, splits=True),
        **_DOUBLING,
    }),
    "alltoall": ("alltoall", {
        "linear": _leaf_of("scattered"), "pairwise": _leaf_of("pairwise"), "bruck": _bruck,
    }),
    "barrier": ("barrier", {"dissemination": _radix_of("k_dissemination")}),
    "bcast": ("bcast", {
        "linear": _star, "binomial": _leaf_of("binomial"), "chain": _pipeline(1),
        "binary_tree": _pipeline(2), "scatter_allgather": _scatter_allgather,
    }),
    "exscan": ("exscan", _DOUBLING),
    "reduce": ("reduce", {
        "binomial": _leaf_of("binomial"),
        "rabenseifner": _leaf_of("reduce_scatter_gather", commutes=True, splits=True),
    }),
    "reduce_scatter": ("reduce_scatter", _BLOCK),
    "reduce_scatter_block": ("reduce_scatter", _BLOCK),
    "scan": ("scan", _DOUBLING),
}  # fmt: skip
"""MPICH's collectives: ours, and what each of our algorithms is there."""


def export(tuning: Tuning, rules: Tree | None = None) -> tuple[str, list[str]]:
    """The JSON file, and notes.

    ``rules``: those to put the winners into; by default those of the library in use.  For other
    numbers of ranks they stay.  Raises ``NoRules`` where the library has none.
    """
    tree = dict(library_rules() if rules is None else rules)
    ranks, notes = len(tuning.nodes), list[str]()
    for name, (ours, makes) in THEIRS.items():
        own = tree.get(f"collective={name}")
        if ours in tuning.winners and own is not None:
            found, told = segments(ours, tuning.winners[ours], ranks, makes)
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
    ends = [min(segment.up_to // blocks, MOST) for segment in found[:-1]]
    limits = [*(f"<={end}" for end in ends), "=any"]
    return {f"{BY_SIZE[name]}{limit}": tree for limit, tree in zip(limits, trees, strict=True)}


def _leaf(name: str, intra: Tree, leaf: Leaf | None) -> Tree:
    """An algorithm behind the conditions that it needs; MPICH's own rules where they fail."""
    if leaf is None:
        return intra
    parameters: Tree = {parameter: {} for parameter in leaf.parameters}
    tree: Tree = {f"algorithm=MPIR_{name.capitalize()}_intra_{leaf.name}": parameters}
    if leaf.splits:
        tree = {
            "is_op_built_in=yes": {"count<pow2": intra, "count=any": tree},
            "is_op_built_in=no": intra,
        }
    return {"is_commutative=yes": tree, "is_commutative=no": intra} if leaf.commutes else tree
