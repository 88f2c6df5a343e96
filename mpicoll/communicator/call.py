"""A call: what the user asked of a collective, checked, before an algorithm is chosen for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mpi4py import MPI

from ..schedule.contract import CONTRACTS, Contract, Cut
from ..transport.buffers import Buffer, by_address, overlap
from ..transport.layout import Place, Slots
from ..transport.operators import Operator
from ..transport.program import Memory


@dataclass
class Call:
    """One collective call on one rank.

    ``send`` and ``recv``: the user's buffers, None where insignificant; without ``send`` the input
    is in the receive buffer.  ``end``: where the result goes, if not over the whole of ``recv``.
    ``sizes``: elements of each block, as far as this rank knows them.  ``equal``: all blocks have
    one size.  ``told``: every rank knows every block's size; else only the root does.
    ``agreed``: every rank knows the same n, so that the choice of an algorithm may depend on it.
    ``alone``: it was made without communication.
    """

    collective: str
    rank: int
    send: Buffer | None
    recv: Buffer | None
    root: int = 0
    operator: Operator | None = None
    end: Place | None = None
    sizes: Mapping[int, int] = field(default_factory=dict)
    equal: bool = True
    told: bool = True
    agreed: bool = True
    alone: bool = True
    borrowed: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        """Take a send buffer that is the receive buffer as in place, refuse a partial overlap."""
        if self.send is None or self.recv is None:
            return
        shared = overlap(self.send, self.recv)
        if shared == "same" or (shared == "part" and self._is_own_slot(self.send, self.recv)):
            self._put_in_place(self.send)
        elif shared == "part":
            raise ValueError(
                f"{self.collective}: sendbuf and recvbuf overlap in part "
                f"({_extent(self.send)} and {_extent(self.recv)}); pass separate buffers, or "
                "MPI.IN_PLACE where the input stands in recvbuf"
            )

    @property
    def contract(self) -> Contract:
        """What the collective promises."""
        return CONTRACTS[self.collective]

    @property
    def commutes(self) -> bool:
        """Whether the order of the ranks does not matter."""
        return self.operator is None or self.operator.commutes

    @property
    def granule(self) -> int:
        """Elements that must stay together."""
        return 1 if self.operator is None else self.operator.granule

    @property
    def nbytes(self) -> int:
        """n in bytes, the same on every rank, or 0 where ranks cannot know it."""
        buffer = self.recv or self.send
        if not self.agreed or buffer is None:
            return 0
        counts: Sequence[int] = buffer.counts
        if self.contract.cut is Cut.RANK:
            counts = list(self.sizes.values())
        return sum(counts) * buffer.data.itemsize

    def places(self) -> tuple[Place | None, Place | None]:
        """Where the contract's start and end lie."""
        send, recv = _place(self.send, Memory.SEND), _place(self.recv, Memory.RECV)
        return send or recv, self.end or recv

    def borrow(self) -> None:
        """Where that will do, hold the user's memory by address only; ``borrowed`` tells."""
        buffers = [buffer for buffer in (self.send, self.recv) if buffer is not None]
        if self.alone and all(buffer.layout is None for buffer in buffers):
            for buffer in buffers:
                buffer.data = by_address(buffer.data)
            self.borrowed = True

    def _put_in_place(self, send: Buffer) -> None:
        """Use one buffer for both: the one that has a block for every rank."""
        if self.collective == "scatter":
            self.recv, self.end = None, Place(slots(send), Memory.SEND)
        else:
            self.send = None

    def _is_own_slot(self, send: Buffer, recv: Buffer) -> bool:
        """Whether this rank's block already stands where a scatter or gather wants it."""
        mine, every = (recv, send) if self.collective == "scatter" else (send, recv)
        if self.collective not in ("allgather", "gather", "scatter") or every.load is not None:
            return False
        itemsize, start = every.data.itemsize, every.starts[self.rank]
        first = MPI.Get_address(every.data) + start * itemsize
        return mine.memory == (first, first + every.counts[self.rank] * itemsize)


def slots(buffer: Buffer) -> Slots:
    """(start, count) of each of a buffer's blocks."""
    return tuple(zip(buffer.starts, buffer.counts, strict=True))


def is_in_place(spec: Any) -> bool:
    """Whether a buffer argument is ``MPI.IN_PLACE``."""
    return isinstance(spec, MPI.InPlaceType)


def check_root(root: int, size: int) -> None:
    """Raise ``ValueError`` where the root is no rank, ``TypeError`` where it is no integer."""
    if not hasattr(root, "__index__"):
        raise TypeError(f"root is {root!r}, expected an integer from 0 to {size - 1}")
    if not 0 <= root < size:
        raise ValueError(f"root is {root}, but ranks are 0 to {size - 1}")


def is_root_of(comm: MPI.Comm, root: int) -> bool:
    """Whether this rank is the root; ``ValueError`` where the root is no rank."""
    check_root(root, comm.size)
    return bool(comm.rank == root)


def _place(buffer: Buffer | None, memory: Memory) -> Place | None:
    return None if buffer is None else Place(slots(buffer), memory)


def _extent(buffer: Buffer) -> str:
    first, end = buffer.memory
    return f"{first:#x} to {end:#x}"
