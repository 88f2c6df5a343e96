"""Which ranks share a node: found out, or given by the user."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from mpi4py import MPI


def found_nodes(comm: MPI.Intracomm) -> tuple[int, ...]:
    """The node of each rank, numbered in order of appearance: a node's ranks share memory.

    Collective (``MPI_COMM_TYPE_SHARED``, MPI 4.1, section 7.4.2).
    """
    lowest, everyone = np.array(comm.rank), np.empty(comm.size, int)
    node = comm.Split_type(MPI.COMM_TYPE_SHARED, comm.rank)
    node.Allreduce(MPI.IN_PLACE, lowest, MPI.MIN)
    node.Free()
    comm.Allgather(lowest, everyone)
    return numbered(everyone.tolist())


def given_nodes(nodes: Sequence[int], size: int) -> tuple[int, ...]:
    """A node map from the user, the same on every rank; ``ValueError`` where it cannot be."""
    if len(nodes) != size:
        raise ValueError(f"nodes: {len(nodes)} numbers, expected one for each of the {size} ranks")
    return numbered(nodes)


def nodes_of_child(nodes: Sequence[int], parent: MPI.Comm, child: MPI.Comm) -> tuple[int, ...]:
    """The node map of a communicator whose ranks are all in another."""
    ours, theirs = parent.Get_group(), child.Get_group()
    ranks = MPI.Group.Translate_ranks(theirs, range(child.size), ours)
    for group in (ours, theirs):
        group.Free()
    return numbered([nodes[rank] for rank in ranks])


def numbered(nodes: Sequence[int]) -> tuple[int, ...]:
    """The same map with nodes numbered from 0 in order of appearance."""
    numbers = {node: number for number, node in enumerate(dict.fromkeys(nodes))}
    return tuple(numbers[node] for node in nodes)
