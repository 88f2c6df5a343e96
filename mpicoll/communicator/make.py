"""From a call and an algorithm to a plan."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from mpi4py import MPI

from ..schedule import Algorithm
from ..transport.layout import layout
from ..transport.placement import place
from ..transport.plan import Binding, Plan
from .call import Call


class Channel(NamedTuple):
    """The communicator and the tag that carry one call's messages."""

    comm: MPI.Intracomm
    tag: int


def make_plan(channel: Channel, call: Call, entry: Algorithm, ordered: bool) -> Plan:
    """Lay a call's buffers out for an algorithm, place its blocks and bind the result."""
    rank, size = channel.comm.rank, channel.comm.size
    blocks = entry.block_count(size)
    places = layout(
        call.contract, rank, size, call.root, blocks, *call.places(), call.sizes, call.granule
    )
    program = place(
        entry.schedule(rank, size, call.root, ordered=ordered),
        places.start,
        places.end,
        places.sizes,
        empty_messages=call.contract.idempotent,
    )
    buffers = [buffer for buffer in (call.send, call.recv) if buffer is not None]
    binding = Binding(
        channel.comm,
        channel.tag,
        None if call.send is None else call.send.data,
        None if call.recv is None else call.recv.data,
        np.copyto if call.operator is None else call.operator.combine,
        [buffer.load for buffer in buffers if buffer.load],
        [buffer.store for buffer in buffers if buffer.store],
    )
    return Plan(program, binding, entry.name)
