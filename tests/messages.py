"""A program for the ranks of Open MPI: what messages each call of its own collectives sends.

Its argument is a list of [collective, method or null, bytes] as JSON.  Rank 0 prints, for each, how
many messages each rank sent in it, as the library's own monitoring counts them.
"""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from mpi4py import MPI

from mpicoll.measure.cases import even_case
from mpicoll.measure.environment import library_path
from mpicoll.measure.trial import Trial

SIZE_CLASS = 2
"""MPI_T_PVAR_CLASS_SIZE of Open MPI."""


def counter(comm: MPI.Intracomm) -> Callable[[], int]:
    """A function for the number of messages that this rank has sent on a communicator."""
    library = ctypes.CDLL(library_path())
    index, count = ctypes.c_int(), ctypes.c_int()
    session, handle = ctypes.c_void_p(), ctypes.c_void_p()
    bound = ctypes.c_void_p(MPI._handleof(comm))

    def call(name: str, *arguments: Any) -> None:
        assert getattr(library, name)(*arguments) == 0, name

    call("MPI_T_init_thread", 0, ctypes.byref(index))
    name = b"pml_monitoring_messages_count"
    call("MPI_T_pvar_get_index", name, SIZE_CLASS, ctypes.byref(index))
    call("MPI_T_pvar_session_create", ctypes.byref(session))
    places = (ctypes.byref(bound), ctypes.byref(handle), ctypes.byref(count))
    call("MPI_T_pvar_handle_alloc", session, index, *places)
    call("MPI_T_pvar_start", session, handle)

    def sent() -> int:
        values = (ctypes.c_size_t * count.value)()
        call("MPI_T_pvar_read", session, handle, values)
        return sum(values)

    return sent


def main() -> None:
    comm = MPI.COMM_WORLD
    sent, found = counter(comm), []
    for collective, method, nbytes in json.loads(sys.argv[1]):
        case = even_case(collective, nbytes, comm.size)
        case = replace(case, method=method) if method else case
        call = Trial(case, comm.rank, comm.size).call(comm)
        before = sent()
        call()
        found.append(sent() - before)
    every = comm.gather(found)
    if every is not None:
        print(json.dumps(list(zip(*every, strict=True))))


main()
