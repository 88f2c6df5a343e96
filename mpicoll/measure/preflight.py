"""Whether the ranks of a job reach each other, asked so that nothing hangs where they do not."""

from __future__ import annotations

from time import perf_counter

import numpy as np
from mpi4py import MPI

from ..communicator import Communicator
from ..schedule import VENDOR

PING, PONG = 1, 2
"""Tags of the question and of the answer."""

MESSAGE = 1 << 20
"""Bytes of the message whose time tells a slow link."""

COUNT = 1000


def silent_neighbours(comm: MPI.Intracomm, seconds: float) -> list[int]:
    """The neighbours on the ring of ranks that this rank did not hear from in so many seconds.

    Each rank asks its right neighbour and answers its left one.  Where it did not hear from one,
    nothing more can be done on this communicator but to abort.
    """
    left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    heard = [(left, PING, bytearray(1)), (right, PONG, bytearray(1))]
    waiting = [(peer, tag, comm.Irecv(buffer, peer, tag)) for peer, tag, buffer in heard]
    sent = [comm.Isend(b"?", right, PING)]
    end = perf_counter() + seconds
    while waiting and perf_counter() < end:
        done = [(peer, tag) for peer, tag, request in waiting if request.Test()]
        sent += [comm.Isend(b"!", peer, PONG) for peer, tag in done if tag == PING]
        waiting = [one for one in waiting if one[:2] not in done]
    if not waiting:
        MPI.Request.Waitall(sent)
    return sorted({peer for peer, _, _ in waiting})


def message_ms(comm: MPI.Intracomm) -> float:
    """Milliseconds that ``MESSAGE`` from the left neighbour took, while all send; collective.

    The second of two: the first makes connections.
    """
    left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    mine, got = np.zeros(MESSAGE, np.uint8), np.empty(MESSAGE, np.uint8)
    took = 0.0
    for _ in range(2):
        comm.Barrier()
        start = perf_counter()
        comm.Sendrecv(mine, right, PING, got, left, PING)
        took = perf_counter() - start
    return took * 1e3


def wrong_allreduces(comm: MPI.Intracomm) -> list[str]:
    """Which of the vendor's and our ring allreduce gave a wrong sum on some rank; collective."""
    mine = np.full(COUNT, comm.rank + 1, np.int64)
    right = comm.size * (comm.size + 1) // 2
    wrong = []
    with Communicator(comm) as ours:
        for name in (VENDOR, "ring"):
            total = np.zeros(COUNT, np.int64)
            ours.Allreduce(mine, total, algorithm=name)
            if comm.allreduce(bool(np.any(total != right)), MPI.LOR):
                wrong.append(name)
    return wrong
