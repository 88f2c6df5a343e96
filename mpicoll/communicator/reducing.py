"""From mpi4py's arguments to calls, for the collectives that reduce.

Each function takes the communicator and the arguments of the blocking method of its name.  What is
wrong is a ``TypeError`` or a ``ValueError`` here, before the first message.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from mpi4py import MPI

from ..transport.buffers import Buffer, overlap, vector
from ..transport.layout import Place
from ..transport.operators import Operator, operator
from ..transport.program import Memory
from ..transport.specs import listed
from .call import Call, is_in_place, is_root_of


def reduce(comm: MPI.Comm, sendbuf: Any, recvbuf: Any, op: Any = MPI.SUM, root: int = 0) -> Call:
    """The root gets the combination of all vectors (MPI 4.1, section 6.9)."""
    is_root = is_root_of(comm, root)
    recv = vector(recvbuf, name="recvbuf", writable=True) if is_root else None
    if is_in_place(sendbuf) and recv is None:
        raise ValueError("sendbuf is MPI.IN_PLACE on a rank that is not the root; pass a buffer")
    send, combine = _operands(sendbuf, recv, op)
    return Call("reduce", comm.rank, send, recv, root, combine)


def _operands(sendbuf: Any, recv: Buffer | None, op: Any) -> tuple[Buffer | None, Operator]:
    """The input (None in place), which must match the output, and the operator for both."""
    if is_in_place(sendbuf):
        assert recv is not None
        return None, operator(op, recv)
    send = vector(sendbuf, name="sendbuf", writable=False)
    if recv is not None:
        _check_alike(send, recv)
    return send, operator(op, send)


def _check_alike(send: Buffer, recv: Buffer) -> None:
    if send.data.dtype != recv.data.dtype:
        raise TypeError(_unlike(send, recv))
    if sum(send.counts) != sum(recv.counts):
        raise ValueError(
            f"sendbuf has {sum(send.counts)} elements, but recvbuf has {sum(recv.counts)}"
        )


def _unlike(send: Buffer, recv: Buffer) -> str:
    return (
        f"sendbuf has dtype {send.data.dtype} and recvbuf {recv.data.dtype}; "
        "a reduction needs the same on both sides"
    )


def allreduce(comm: MPI.Comm, sendbuf: Any, recvbuf: Any, op: Any = MPI.SUM) -> Call:
    """Every rank gets the combination of all vectors (MPI 4.1, section 6.9)."""
    return _vectors("allreduce", comm, sendbuf, recvbuf, op)


def scan(comm: MPI.Comm, sendbuf: Any, recvbuf: Any, op: Any = MPI.SUM) -> Call:
    """Rank r gets the combination of ranks 0 to r (MPI 4.1, section 6.11)."""
    return _vectors("scan", comm, sendbuf, recvbuf, op)


def exscan(comm: MPI.Comm, sendbuf: Any, recvbuf: Any, op: Any = MPI.SUM) -> Call:
    """Rank r gets the combination of ranks 0 to r-1; rank 0's recvbuf is left alone (6.11)."""
    return _vectors("exscan", comm, sendbuf, recvbuf, op)


def _vectors(collective: str, comm: MPI.Comm, sendbuf: Any, recvbuf: Any, op: Any) -> Call:
    recv = vector(recvbuf, name="recvbuf", writable=True)
    send, combine = _operands(sendbuf, recv, op)
    return Call(collective, comm.rank, send, recv, operator=combine)


def reduce_scatter_block(comm: MPI.Comm, sendbuf: Any, recvbuf: Any, op: Any = MPI.SUM) -> Call:
    """Each rank gets its block of the combination, all of one size (MPI 4.1, section 6.10)."""
    recv = vector(recvbuf, name="recvbuf", writable=True)
    total = sum(recv.counts)
    if is_in_place(sendbuf) and total % comm.size:
        raise ValueError(
            f"recvbuf has {total} elements, but in place it needs a multiple of {comm.size}"
        )
    count = total // comm.size if is_in_place(sendbuf) else total
    return _reduce_scatter(comm, sendbuf, recv, [count] * comm.size, op, equal=True)


def reduce_scatter(
    comm: MPI.Comm,
    sendbuf: Any,
    recvbuf: Any,
    recvcounts: Sequence[int] | None = None,
    op: Any = MPI.SUM,
) -> Call:
    """Each rank gets its block of the combination, of any sizes (MPI 4.1, section 6.10).

    Without ``recvcounts`` the counts are the sizes of the ranks' receive buffers, gathered first.
    """
    recv = vector(recvbuf, name="recvbuf", writable=True)
    if recvcounts is None and is_in_place(sendbuf):
        raise TypeError("recvcounts is None; in place, pass the number of elements of each rank")
    alone = recvcounts is not None
    if recvcounts is None:
        recvcounts = comm.allgather(sum(recv.counts) // recv.granule)
    each = listed(recvcounts, comm.size, "recvcounts", "count")
    counts = [count * recv.granule for count in each]
    call = _reduce_scatter(comm, sendbuf, recv, counts, op, equal=len(set(counts)) == 1)
    call.alone = alone
    return call


def _reduce_scatter(
    comm: MPI.Comm, sendbuf: Any, recv: Buffer, counts: list[int], op: Any, equal: bool
) -> Call:
    mine, first = counts[comm.rank], recv.starts[0]
    source = recv if is_in_place(sendbuf) else vector(sendbuf, name="sendbuf", writable=False)
    if source.data.dtype != recv.data.dtype:
        raise TypeError(_unlike(source, recv))
    in_place = source is recv or overlap(source, recv) == "same"
    source = recv if in_place else source
    name = "recvbuf, in place," if in_place else "sendbuf"
    if sum(source.counts) != sum(counts) and not (in_place and sum(source.counts) > sum(counts)):
        raise ValueError(
            f"{name} has {sum(source.counts)} elements, but the counts add up to {sum(counts)}"
        )
    if sum(recv.counts) < mine:
        raise ValueError(f"recvbuf has {sum(recv.counts)} elements, but its count is {mine}")
    source.starts = [source.starts[0] + start for start in [0, *accumulate(counts)][:-1]]
    source.counts = counts
    combine = operator(op, source)
    return Call(
        "reduce_scatter", comm.rank, None if in_place else source, recv, operator=combine,
        end=Place(((first, mine),), Memory.RECV), sizes=dict(enumerate(counts)), equal=equal,
    )  # fmt: skip
