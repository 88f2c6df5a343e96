"""From mpi4py's arguments to calls, for the collectives that move data.

Each function takes the communicator and the arguments of the blocking method of its name.  What is
wrong is a ``TypeError`` or a ``ValueError`` here, before the first message.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from mpi4py import MPI

from ..schedule.steps import pair
from ..transport.buffers import Buffer, as_bytes, per_rank, per_rank_v, per_rank_w, vector
from ..transport.layout import Place
from ..transport.program import Memory
from .call import Call, is_in_place, is_root_of, slots


def _check_count(name: str, came: int, expected: int, why: str) -> None:
    if came != expected:
        raise ValueError(f"{name} has {came} bytes, but {why} is {expected} bytes")


def _constant(count: int, size: int) -> dict[int, int]:
    return dict.fromkeys(range(size), count)


def barrier(comm: MPI.Comm) -> Call:
    """Wait until every rank has come (MPI 4.1, section 6.3)."""
    nothing = vector(np.empty(0, np.uint8), name="nothing", writable=True)
    return Call("barrier", comm.rank, None, nothing)


def bcast(comm: MPI.Comm, buf: Any, root: int = 0) -> Call:
    """The root's buffer reaches every rank (MPI 4.1, section 6.4)."""
    is_root = is_root_of(comm, root)
    buffer = as_bytes(vector(buf, name="buf", writable=not is_root))
    if not is_root:
        return Call("bcast", comm.rank, None, buffer, root)
    return Call("bcast", comm.rank, buffer, None, root, end=Place(slots(buffer), Memory.SEND))


def gather(comm: MPI.Comm, sendbuf: Any, recvbuf: Any, root: int = 0) -> Call:
    """The root gets every rank's block, all of one size (MPI 4.1, section 6.5)."""
    return _gather(comm, sendbuf, recvbuf, root, equal=True)


def gatherv(comm: MPI.Comm, sendbuf: Any, recvbuf: Any, root: int = 0) -> Call:
    """The root gets every rank's block, of any sizes (MPI 4.1, section 6.5)."""
    return _gather(comm, sendbuf, recvbuf, root, equal=False)


def _gather(comm: MPI.Comm, sendbuf: Any, recvbuf: Any, root: int, equal: bool) -> Call:
    is_root = is_root_of(comm, root)
    recv = _blocks(comm, recvbuf, "recvbuf", True, equal) if is_root else None
    send = _own(sendbuf, is_root)
    if send and recv:
        _check_count("sendbuf", send.counts[0], recv.counts[root], "the root's own slot")
    if equal:
        count = recv.counts[0] if recv else send.counts[0] if send else 0
        sizes = _constant(count, comm.size)
    else:
        sizes = dict(enumerate(recv.counts)) if recv else {}
    return Call(
        "gather", comm.rank, send, recv, root, sizes=sizes, equal=equal, told=equal, agreed=equal
    )


def _own(sendbuf: Any, may_be_in_place: bool) -> Buffer | None:
    """This rank's block, or None in place."""
    if not is_in_place(sendbuf):
        return as_bytes(vector(sendbuf, name="sendbuf", writable=False))
    if not may_be_in_place:
        raise ValueError("sendbuf is MPI.IN_PLACE on a rank that is not the root; pass a buffer")
    return None


def _blocks(comm: MPI.Comm, spec: Any, name: str, writable: bool, equal: bool) -> Buffer:
    """One block a rank."""
    parse = per_rank if equal else per_rank_v
    return as_bytes(parse(spec, comm.size, name=name, writable=writable))


def scatter(comm: MPI.Comm, sendbuf: Any, recvbuf: Any, root: int = 0) -> Call:
    """Each rank gets its block of the root's buffer, all of one size (MPI 4.1, section 6.6)."""
    return _scatter(comm, sendbuf, recvbuf, root, equal=True)


def scatterv(comm: MPI.Comm, sendbuf: Any, recvbuf: Any, root: int = 0) -> Call:
    """Each rank gets its block of the root's buffer, of any sizes (MPI 4.1, section 6.6)."""
    return _scatter(comm, sendbuf, recvbuf, root, equal=False)


def _scatter(comm: MPI.Comm, sendbuf: Any, recvbuf: Any, root: int, equal: bool) -> Call:
    is_root = is_root_of(comm, root)
    send = _blocks(comm, sendbuf, "sendbuf", False, equal) if is_root else None
    recv, end = None, None
    if not is_in_place(recvbuf):
        recv = as_bytes(vector(recvbuf, name="recvbuf", writable=True))
    elif send is None:
        raise ValueError("recvbuf is MPI.IN_PLACE on a rank that is not the root; pass a buffer")
    else:
        end = Place(slots(send), Memory.SEND)
    if send and recv:
        _check_count("recvbuf", recv.counts[0], send.counts[root], "the root's own slot")
    if equal:
        sizes = _constant(send.counts[0] if send else recv.counts[0] if recv else 0, comm.size)
    else:
        sizes = dict(enumerate(send.counts)) if send else {}
    return Call(
        "scatter", comm.rank, send, recv, root,
        end=end, sizes=sizes, equal=equal, told=equal, agreed=equal,
    )  # fmt: skip


def allgather(comm: MPI.Comm, sendbuf: Any, recvbuf: Any) -> Call:
    """Every rank gets every rank's block, all of one size (MPI 4.1, section 6.7)."""
    return _allgather(comm, sendbuf, recvbuf, equal=True)


def allgatherv(comm: MPI.Comm, sendbuf: Any, recvbuf: Any) -> Call:
    """Every rank gets every rank's block, of any sizes (MPI 4.1, section 6.7)."""
    return _allgather(comm, sendbuf, recvbuf, equal=False)


def _allgather(comm: MPI.Comm, sendbuf: Any, recvbuf: Any, equal: bool) -> Call:
    recv = _blocks(comm, recvbuf, "recvbuf", True, equal)
    send = _own(sendbuf, may_be_in_place=True)
    if send:
        _check_count("sendbuf", send.counts[0], recv.counts[comm.rank], "its slot in recvbuf")
    sizes = dict(enumerate(recv.counts))
    return Call("allgather", comm.rank, send, recv, sizes=sizes, equal=equal)


def alltoall(comm: MPI.Comm, sendbuf: Any, recvbuf: Any) -> Call:
    """Every rank has a block for every other, all of one size (MPI 4.1, section 6.8)."""
    recv = _blocks(comm, recvbuf, "recvbuf", True, True)
    send = None if is_in_place(sendbuf) else _blocks(comm, sendbuf, "sendbuf", False, True)
    if send:
        _check_count("a block of sendbuf", send.counts[0], recv.counts[0], "one of recvbuf")
    sizes = _constant(recv.counts[0], comm.size**2)
    return Call("alltoall", comm.rank, send, recv, sizes=sizes)


def alltoallv(comm: MPI.Comm, sendbuf: Any, recvbuf: Any) -> Call:
    """Every rank has a block for every other, of any sizes (MPI 4.1, section 6.8)."""
    recv = _blocks(comm, recvbuf, "recvbuf", True, False)
    send = None if is_in_place(sendbuf) else _blocks(comm, sendbuf, "sendbuf", False, False)
    return _alltoall(comm, send, recv)


def alltoallw(comm: MPI.Comm, sendbuf: Any, recvbuf: Any) -> Call:
    """Alltoallv with a datatype for each block, and displacements in bytes (MPI 4.1, 6.8)."""
    recv = per_rank_w(recvbuf, comm.size, name="recvbuf", writable=True)
    send = None
    if not is_in_place(sendbuf):
        send = per_rank_w(sendbuf, comm.size, name="sendbuf", writable=False)
    return _alltoall(comm, send, recv)


def _alltoall(comm: MPI.Comm, send: Buffer | None, recv: Buffer) -> Call:
    rank, size = comm.rank, comm.size
    row = (send or recv).counts
    _check_count("the block that sendbuf has for its own rank", row[rank], recv.counts[rank],
                 "the one that recvbuf expects")  # fmt: skip
    sizes = {pair(rank, other, size): row[other] for other in range(size)}
    sizes |= {pair(other, rank, size): recv.counts[other] for other in range(size)}
    return Call("alltoall", rank, send, recv, sizes=sizes, equal=False, told=False, agreed=False)
