"""From a call and an algorithm to a plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from mpi4py import MPI

from ..schedule import Algorithm, Cut
from ..schedule.steps import split
from ..transport.binding import Binding
from ..transport.datatypes import Array
from ..transport.layout import Place, layout
from ..transport.placement import place as place_blocks
from ..transport.plan import Plan
from ..transport.program import Program
from ..transport.progress import PLAIN, Ways
from ..transport.stripes import interleave
from .call import Call


class Channel(NamedTuple):
    """The communicator and the tag that carry one call's messages.

    ``ways``: how its plans wait; ``scratch``: what gives them memory, where they never run beside
    each other.
    """

    comm: MPI.Intracomm
    tag: int
    ways: Ways = PLAIN
    scratch: Callable[[int], Array] | None = None


def make_plan(
    channel: Channel, call: Call, entry: Algorithm, ordered: bool, nodes: tuple[int, ...]
) -> Plan:
    """Lay a call's buffers out for an algorithm, place its blocks and bind the result."""
    rank, size = channel.comm.rank, channel.comm.size
    case = Case(entry, rank, size, call.root, ordered, call.granule, nodes)
    program = _program(case, *call.places(), tuple(call.sizes.items()))
    buffers = [buffer for buffer in (call.send, call.recv) if buffer is not None]
    binding = Binding(
        channel.comm,
        channel.tag,
        None if call.send is None else call.send.data,
        None if call.recv is None else call.recv.data,
        call.operator,
        [buffer.load for buffer in buffers if buffer.load],
        [call.recv.store] if call.recv is not None and call.recv.store else [],
        channel.ways,
        channel.scratch,
    )
    return Plan(program, binding, entry.name)


class Case(NamedTuple):
    """What a program depends on beside the layout of memory."""

    entry: Algorithm
    rank: int
    size: int
    root: int
    ordered: bool
    granule: int
    nodes: tuple[int, ...]


@lru_cache(maxsize=256)
def _program(
    case: Case,
    start: Place | None,
    end: Place | None,
    sizes: tuple[tuple[int, int], ...],
) -> Program:
    """The program of a call; the same object for the same layout."""
    whole = start or end
    if case.entry.contract.cut is not Cut.VECTOR or whole is None:
        return _place(case, start, end, dict(sizes))
    programs, begin, stripes = [], 0, case.entry.options.get("stripes", 1)
    for count in split(whole.slots[0][1] // case.granule, stripes):
        length = count * case.granule
        source = start and start.part(begin, length)
        programs.append(_place(case, source, end and end.part(begin, length), {}))
        begin += length
    return interleave(programs, overlap=keeps_busy(case.entry, case.size, case.nodes))


def _place(case: Case, start: Place | None, end: Place | None, sizes: Mapping[int, int]) -> Program:
    entry, rank, size, root, ordered, granule, nodes = case
    blocks = entry.block_count(size, nodes)
    places = layout(entry.contract, rank, size, root, blocks, start, end, sizes, granule)
    rounds = entry.schedule(rank, size, root, ordered, nodes)
    empty_messages = entry.contract.idempotent
    return place_blocks(rounds, places.start, places.end, places.sizes, empty_messages)


def keeps_busy(entry: Algorithm, size: int, nodes: Sequence[int]) -> bool:
    """Whether ranks combine and all are busy in all rounds: a pipeline would fill for longer."""
    whole, busiest = entry.count(size, nodes), entry.rank_count(size, nodes)
    return whole.reduced > 0 and whole == busiest
