"""Face 1: an mpi4py communicator whose collectives are ours."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from mpi4py import MPI

from ..schedule import relays
from ..transport.background import CALLS, THREAD, hold
from ..transport.operators import commutes
from ..transport.pool import ScratchPool
from ..transport.progress import Ways
from ..transport.request import Request
from ..transport.waiting import wait_mode
from . import moving, reducing
from .by_vendor import vendor_plan
from .call import Call
from .children import Children
from .choice import Chooser, Query
from .explain import Explanation, explain
from .forms import forms
from .kept import KeptPlans, run_all
from .make import Channel, make_plan
from .nodes import found_nodes, given_nodes, nodes_of_child
from .objects import ObjectCollectives
from .tuning import Tuning, agree

TAGS = 32768
"""The tags that every MPI has, from 0: MPI_TAG_UB is at least 32767 (MPI 4.1, section 9.1.2)."""


class Communicator(Children, ObjectCollectives, MPI.Intracomm):
    """An ``MPI.Intracomm`` whose collectives are built from sends and receives.

    ``comm`` is any intracommunicator.  Making one is collective: the traffic of its collectives
    runs on a private duplicate, so no receive of the user's ever sees it; point-to-point and all
    else is mpi4py's.  ``deterministic``: results have bits that depend on the number of ranks only.
    ``nodes``: the node of each rank, as MPI finds it or as given, the same on every rank.
    ``tuning``: a ``mpicoll.Tuning`` or the file of one, which ``mpicoll tune`` writes; by default
    the file that MPICOLL_TUNING names, if any.  Rank 0's argument is used by all; communicators
    made from this one inherit it.  ``explain`` tells what it leads to.
    ``wait``: how to wait for messages: ``"spin"``, ``"yield"`` to others that want the core, or
    ``"sleep"`` after a while; by default as MPICOLL_WAIT says, or to yield where a node has fewer
    cores than ranks of ``comm``.  ``progress``: ``"thread"`` has a thread advance non-blocking
    calls and started plans while their rank does something else, ``"calls"`` only our calls that
    test or wait; by default as MPICOLL_PROGRESS says, or ``"calls"``.
    What the non-blocking methods return is no ``MPI.Request``: wait for several by
    ``mpicoll.Request.Waitall``, ``Waitany`` or ``Testall``, which take both kinds, in any mixture.
    Free it by ``free()``, or as a context manager; what ``Dup``, ``Split`` and the like return
    owns its MPI communicator and frees that too.  Topologies (``Create_cart`` ...) are mpi4py's.

    Raises ``TypeError`` for what is no intracommunicator, ``ValueError`` for ``MPI.COMM_NULL`` and
    words that mean nothing, ``TuningError`` for a broken tuning file, ``RuntimeError`` for a thread
    without ``MPI.THREAD_MULTIPLE``.
    """

    deterministic: bool
    nodes: tuple[int, ...]
    tuning: Tuning

    def __new__(
        cls,
        comm: MPI.Comm,
        *,
        deterministic: bool = False,
        nodes: Sequence[int] | None = None,
        tuning: str | os.PathLike[str] | Tuning | None = None,
        wait: str | None = None,
        progress: str | None = None,
    ) -> Communicator:
        """Check what is wrapped; see the class."""
        if isinstance(comm, MPI.Comm) and comm == MPI.COMM_NULL:
            raise ValueError("comm is MPI.COMM_NULL; this rank is not part of it")
        if not isinstance(comm, MPI.Intracomm):
            raise TypeError(f"comm: expected an MPI.Intracomm, got {type(comm).__name__}")
        return super().__new__(cls, comm)

    def __init__(
        self,
        comm: MPI.Comm,
        *,
        deterministic: bool = False,
        nodes: Sequence[int] | None = None,
        tuning: str | os.PathLike[str] | Tuning | None = None,
        wait: str | None = None,
        progress: str | None = None,
    ) -> None:
        self.vendor = MPI.Intracomm(comm)
        self.tuning = agree(self.vendor, tuning)
        given = None if nodes is None else given_nodes(nodes, comm.Get_size())
        self._ways = Ways(wait_mode(self.vendor, wait), hold(progress))
        self.deterministic = deterministic
        self._traffic = [self.vendor.Dup()]
        self._calls = self._inits = 0
        self._kept, self._scratch = KeptPlans(), ScratchPool()
        self._owner = False
        self._size = self.vendor.size
        self.nodes = given or found_nodes(self._traffic[0])
        self._chooser = Chooser(self.nodes, self.tuning)

    # -- life

    def free(self) -> None:
        """Free what this object made: collective, and safe to call twice.

        Requests that are under way are completed first.
        """
        for comm in self._taken():
            comm.Free()
        if self._owner and self != MPI.COMM_NULL:
            super().Free()

    def Free(self) -> None:
        """Free the communicator itself, as ``MPI_Comm_free`` does, and what this object made."""
        self._owner = True
        self.free()

    def Disconnect(self) -> None:
        """As ``Free``, once all that is under way on the communicator itself is complete."""
        for comm in self._taken():
            comm.Disconnect()
        super().Disconnect()

    def _taken(self) -> list[MPI.Intracomm]:
        """The duplicates, which nothing uses any more; none from the second time on."""
        if self._traffic:
            Request.complete_all(self)
            self._kept.free()
            if self._ways.driver is not None:
                self._ways.driver.release()
        traffic, self._traffic = self._traffic, []
        return traffic

    def __enter__(self) -> Communicator:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if error is None:
            self.free()

    def _adopt(self, comm: MPI.Comm) -> Any:
        """A communicator of ours around one that was just made for us; COMM_NULL stays itself."""
        if not isinstance(comm, MPI.Intracomm) or comm == MPI.COMM_NULL:
            return MPI.COMM_NULL
        nodes = nodes_of_child(self.nodes, self.vendor, comm)
        result = type(self)(
            comm, deterministic=self.deterministic, nodes=nodes, tuning=self.tuning,
            wait=self._ways.wait, progress=CALLS if self._ways.driver is None else THREAD,
        )  # fmt: skip
        result._owner = True
        return result

    # -- plans

    # Calls are made in the same order on all ranks, so that counting them gives all the same tag.

    def _blocking_channel(self) -> Channel:
        """For a call that has no other of its kind beside it."""
        return Channel(self._private(), 0, self._ways, self._scratch.take)

    def _nonblocking_channel(self) -> Channel:
        """For a call that may be under way beside others; before tags come again, those end."""
        if self._calls and self._calls % (TAGS - 1) == 0:
            Request.complete_all(self)
        self._calls += 1
        return Channel(self._private(), 1 + (self._calls - 1) % (TAGS - 1), self._ways)

    def _persistent_channel(self) -> Channel:
        """For a plan, which may live for ever: another duplicate whenever the tags are used up."""
        self._private()
        if self._inits % TAGS == 0:
            self._traffic.append(self.vendor.Dup())
        self._inits += 1
        return Channel(self._traffic[-1], (self._inits - 1) % TAGS, self._ways)

    def _private(self) -> MPI.Intracomm:
        """The duplicate that carries the traffic of blocking and non-blocking calls."""
        if not self._traffic:
            raise RuntimeError("a collective on a communicator that was freed; make a new one")
        return self._traffic[0]

    def _plans(
        self,
        call: Call,
        name: str | None,
        deterministic: bool | None,
        channel: Channel,
        persistent: bool = False,
    ) -> Iterator[Any]:
        """The plans that carry out a call, one after the other; each depends on those before it.

        Persistent: the last one alone, those before it having run.
        """
        fixed = self.deterministic if deterministic is None else deterministic
        nbytes = call.nbytes if call.agreed else None
        query = Query(call.collective, nbytes, call.commutes, call.equal, fixed)
        if name is None and self._chooser.prefers_vendor(query):
            by_vendor = vendor_plan(self.vendor, call)
            if by_vendor is not None:
                yield by_vendor
                return
        entry = self._chooser.choose(query, name).algorithm
        if not call.told and call.contract.rooted and relays(entry, self._size, call.root):
            counts = np.zeros(self._size, np.int64)
            counts[: len(call.sizes)] = list(call.sizes.values())
            told = self._plans(moving.bcast(self, counts, call.root), None, None, channel)
            if persistent:
                run_all(told)
            else:
                yield from told
            call.sizes = dict(enumerate(counts.tolist()))
        yield make_plan(channel, call, entry, fixed or not call.commutes, self.nodes)

    def explain(
        self,
        collective: str,
        nbytes: int,
        *,
        op: Any = MPI.SUM,
        algorithm: str | None = None,
        deterministic: bool | None = None,
        equal: bool = True,
    ) -> Explanation:
        """What a call of n = ``nbytes`` will run and why, and what all else would cost; local.

        ``equal``: all blocks have one size.  Other arguments are those of the call.  Print what is
        returned, or read its fields.  Raises ``UnknownName``, or ``Unserved`` where the named
        algorithm cannot serve the call.
        """
        fixed = self.deterministic if deterministic is None else deterministic
        query = Query(collective, nbytes, commutes(op), equal, fixed)
        return explain(self._chooser, query, algorithm)

    # -- collectives

    Barrier, Ibarrier, Barrier_init = forms("Barrier", moving.barrier)
    Bcast, Ibcast, Bcast_init = forms("Bcast", moving.bcast)
    Gather, Igather, Gather_init = forms("Gather", moving.gather)
    Gatherv, Igatherv, Gatherv_init = forms("Gatherv", moving.gatherv)
    Scatter, Iscatter, Scatter_init = forms("Scatter", moving.scatter)
    Scatterv, Iscatterv, Scatterv_init = forms("Scatterv", moving.scatterv)
    Allgather, Iallgather, Allgather_init = forms("Allgather", moving.allgather)
    Allgatherv, Iallgatherv, Allgatherv_init = forms("Allgatherv", moving.allgatherv)
    Alltoall, Ialltoall, Alltoall_init = forms("Alltoall", moving.alltoall)
    Alltoallv, Ialltoallv, Alltoallv_init = forms("Alltoallv", moving.alltoallv)
    Alltoallw, Ialltoallw, Alltoallw_init = forms("Alltoallw", moving.alltoallw)
    Reduce, Ireduce, Reduce_init = forms("Reduce", reducing.reduce)
    Allreduce, Iallreduce, Allreduce_init = forms("Allreduce", reducing.allreduce)
    Reduce_scatter_block, Ireduce_scatter_block, Reduce_scatter_block_init = forms(
        "Reduce_scatter_block", reducing.reduce_scatter_block
    )
    Reduce_scatter, Ireduce_scatter, Reduce_scatter_init = forms(
        "Reduce_scatter", reducing.reduce_scatter
    )
    Scan, Iscan, Scan_init = forms("Scan", reducing.scan)
    Exscan, Iexscan, Exscan_init = forms("Exscan", reducing.exscan)
