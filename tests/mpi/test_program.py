"""An mpi4py program that uses each collective runs unchanged, with the same output."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from mpi4py import MPI

import mpicoll

pytestmark = pytest.mark.mpi


def program(comm: Any) -> list[Any]:
    """What a user wrote for mpi4py: every collective, each kind of call."""
    rank, size = comm.Get_rank(), comm.Get_size()
    output: list[Any] = []
    mine = np.arange(4.0) + 10 * rank
    counts = [rank + 1 for rank in range(size)]
    starts = [sum(counts[:rank]) for rank in range(size)]
    uneven = np.full(rank + 1, float(rank))

    def show(array: np.ndarray) -> None:
        output.append(array.tolist())

    comm.Barrier()
    comm.barrier()
    data = mine.copy()
    comm.Bcast([data, MPI.DOUBLE], root=size - 1)
    show(data)
    part = np.zeros(2)
    comm.Scatter(np.arange(2.0 * size) if rank == 0 else None, part, root=0)
    show(part)
    part = np.zeros(rank + 1)
    whole = np.arange(float(sum(counts)))
    comm.Scatterv([whole, counts, starts, MPI.DOUBLE] if rank == 0 else None, part)
    show(part)
    everything = np.zeros((size, 4))
    comm.Gather(mine, everything if rank == 0 else None, root=0)
    show(everything)
    whole = np.zeros(sum(counts))
    comm.Gatherv(uneven, [whole, counts] if rank == 0 else None)
    show(whole)
    comm.Allgather(mine, everything)
    show(everything)
    comm.Allgatherv(uneven, [whole, (counts, starts)])
    show(whole)
    total = np.zeros(4)
    comm.Reduce(mine, total, op=MPI.SUM, root=0)
    if rank == 0:
        show(total)
    comm.Allreduce(mine, total, op=MPI.PROD)
    show(total)
    comm.Allreduce(MPI.IN_PLACE, total, MPI.MAX)
    show(total)
    part = np.zeros(rank + 1)
    comm.Reduce_scatter(np.arange(float(sum(counts))), part, counts)
    show(part)
    part = np.zeros(2)
    comm.Reduce_scatter_block(np.arange(2.0 * size), part)
    show(part)
    row, column = np.arange(3.0 * size) + 100 * rank, np.zeros(3 * size)
    comm.Alltoall(row, column)
    show(column)
    own, others = [rank + 1] * size, counts
    out, got = np.full((rank + 1) * size, float(rank)), np.zeros(sum(counts))
    comm.Alltoallv([out, own], [got, others])
    show(got)
    bytes_of = [8 * start for start in starts]
    steps = [8 * (rank + 1) * peer for peer in range(size)]
    types = [MPI.DOUBLE] * size
    got[:] = 0
    comm.Alltoallw([out, own, steps, types], [got, others, bytes_of, types])
    show(got)
    comm.Scan(mine, total)
    show(total)
    total[:] = -1
    comm.Exscan(mine, total)
    show(total)
    requests = [comm.Ibarrier(), comm.Iallreduce(mine, total), comm.Ibcast(data, root=0)]
    for request in requests:
        request.Wait()
    show(total)
    plan = comm.Allreduce_init(mine, total)
    for _ in range(3):
        plan.Start()
        plan.Wait()
        mine += total
    plan.Free()
    show(total)
    output.append(comm.bcast({"from": rank}, root=0))
    output.append(comm.scatter(list("abcdefgh")[:size] if rank == 0 else None))
    output.append(comm.gather(rank, root=0))
    output.append(comm.allgather([rank]))
    output.append(comm.alltoall([f"{rank}>{peer}" for peer in range(size)]))
    output.append(comm.reduce(rank, op=MPI.SUM, root=0))
    output.append(comm.allreduce(rank, op=MPI.MIN))
    output.append(comm.scan(rank))
    output.append(comm.exscan(rank))
    half = comm.Split(rank % 2, rank)
    output.append(half.allgather(rank))
    half.Free()
    return output


def test_the_same_output_on_both(comm: Any) -> None:
    assert program(comm) == program(MPI.COMM_WORLD)


def test_each_collective_runs_ours(comm: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from mpicoll.transport import plan

    used: set[str] = set()
    bind = plan.Plan.__init__

    def init(self: plan.Plan, program: Any, binding: Any, algorithm: str, *rest: Any) -> None:
        used.add(algorithm)
        bind(self, program, binding, algorithm, *rest)

    monkeypatch.setattr(plan.Plan, "__init__", init)
    with mpicoll.Communicator(comm.vendor) as fresh:  # one that has no plans yet
        program(fresh)
    assert used and "vendor" not in used
    known = {name for kind in mpicoll.collectives() for name in mpicoll.algorithms(kind)}
    assert used <= known
