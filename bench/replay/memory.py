"""Print the memory that one allreduce of 64 MiB takes beside its two buffers; run it under mpiexec.

    python memory.py ALGORITHM

Scratch is what Python allocates at the most while a plan is made and run; peak is by how much the
process grows, with all that MPI takes.  Both on the rank that takes most.
"""

from __future__ import annotations

import sys
import tracemalloc
from resource import RUSAGE_SELF, getrusage
from typing import Any

import numpy as np
from mpi4py import MPI

from mpicoll import Communicator
from mpicoll.measure.cases import AUTO
from mpicoll.schedule import VENDOR

COUNT = 16 << 20
"""Elements of float32: 64 MiB."""

MIB = 1 << 20


def grown() -> int:
    """The most memory that this process has had, in bytes."""
    return getrusage(RUSAGE_SELF).ru_maxrss * 1024


def main(name: str) -> None:
    """Run and print, on rank 0."""
    algorithm = None if name == AUTO else name
    with Communicator(MPI.COMM_WORLD) as comm:
        send, receive = np.ones(COUNT, np.float32), np.ones(COUNT, np.float32)
        comm.Allreduce(send[: COUNT // 1024], receive[: COUNT // 1024], algorithm=algorithm)
        before = grown()
        tracemalloc.start()
        plan: Any = comm.Allreduce_init(send, receive, algorithm=algorithm)
        plan.run()
        scratch = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        plan.run()
        most = np.array([scratch, grown() - before])
        comm.vendor.Allreduce(MPI.IN_PLACE, most, MPI.MAX)
        if comm.rank == 0 and name == VENDOR:
            vector = f"# allreduce of 64 MiB, {comm.size} ranks"
            print(f"{vector:<44}{'scratch MiB':>12}{'peak MiB':>10}{'scratch/vector':>16}")
        if comm.rank == 0:
            what = f"{AUTO} ({plan.algorithm})" if name == AUTO else plan.algorithm
            mib, peak = most / MIB
            print(f"{what:<44}{mib:>12.1f}{peak:>10.1f}{mib / (send.nbytes / MIB):>16.2f}")
        plan.Free()


if __name__ == "__main__":
    main(sys.argv[1])
