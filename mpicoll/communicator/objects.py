"""The lower-case methods: the same schedules, run on Python objects.

An object cannot be cut, so what serves them moves whole vectors, or one block a rank or pair.
Objects are combined in rank order, ``op(left, right)``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mpi4py import MPI

from ..schedule import Algorithm, Cut, find, require, serving
from ..schedule.steps import DATA, pair
from ..transport.objects import play
from ..transport.operators import Op
from ..transport.progress import Ways
from .call import check_root


class ObjectCollectives:
    """mpi4py's lower-case collectives: any object that can be pickled, results returned."""

    rank: int
    size: int
    _ways: Ways

    def _private(self) -> MPI.Intracomm:
        raise NotImplementedError

    def barrier(self, *, algorithm: str | None = None) -> None:
        """Wait until every rank has come."""
        self._objects("barrier", {0: None}, algorithm=algorithm, op=_first)

    def bcast(self, obj: Any, root: int = 0, *, algorithm: str | None = None) -> Any:
        """The root's object, on every rank."""
        return self._objects("bcast", {0: obj}, root, algorithm)[0]

    def gather(self, sendobj: Any, root: int = 0, *, algorithm: str | None = None) -> Any:
        """The list of all ranks' objects at the root, None elsewhere."""
        found = self._objects("gather", {self.rank: sendobj}, root, algorithm)
        return [found[rank] for rank in range(self.size)] if self.rank == root else None

    def scatter(
        self, sendobj: Sequence[Any] | None, root: int = 0, *, algorithm: str | None = None
    ) -> Any:
        """This rank's item of the root's sequence, which has one item a rank."""
        mine = self._items(sendobj) if self.rank == root else {}
        return self._objects("scatter", mine, root, algorithm)[self.rank]

    def allgather(self, sendobj: Any, *, algorithm: str | None = None) -> list[Any]:
        """The list of all ranks' objects."""
        found = self._objects("allgather", {self.rank: sendobj}, algorithm=algorithm)
        return [found[rank] for rank in range(self.size)]

    def alltoall(self, sendobj: Sequence[Any], *, algorithm: str | None = None) -> list[Any]:
        """The list of what each rank's sequence has for this rank."""
        row = {pair(self.rank, to, self.size): obj for to, obj in self._items(sendobj).items()}
        found = self._objects("alltoall", row, algorithm=algorithm)
        return [found[pair(source, self.rank, self.size)] for source in range(self.size)]

    def reduce(
        self, sendobj: Any, op: Any = MPI.SUM, root: int = 0, *, algorithm: str | None = None
    ) -> Any:
        """The combination of all ranks' objects at the root, None elsewhere."""
        return self._objects("reduce", {0: sendobj}, root, algorithm, op).get(0)

    def allreduce(self, sendobj: Any, op: Any = MPI.SUM, *, algorithm: str | None = None) -> Any:
        """The combination of all ranks' objects."""
        return self._objects("allreduce", {0: sendobj}, algorithm=algorithm, op=op)[0]

    def scan(self, sendobj: Any, op: Any = MPI.SUM, *, algorithm: str | None = None) -> Any:
        """The combination of the objects of ranks 0 to this one."""
        return self._objects("scan", {0: sendobj}, algorithm=algorithm, op=op)[0]

    def exscan(self, sendobj: Any, op: Any = MPI.SUM, *, algorithm: str | None = None) -> Any:
        """The combination of the objects of the ranks before this one; None on rank 0."""
        return self._objects("exscan", {0: sendobj}, algorithm=algorithm, op=op).get(0)

    def _items(self, sendobj: Sequence[Any] | None) -> dict[int, Any]:
        """One object a rank, by rank."""
        if sendobj is None or len(sendobj) != self.size:
            came = "None" if sendobj is None else f"{len(sendobj)} items"
            raise ValueError(f"sendobj is {came}; pass {self.size} items, one a rank")
        return dict(enumerate(sendobj))

    def _objects(
        self,
        collective: str,
        blocks: dict[int, Any],
        root: int = 0,
        algorithm: str | None = None,
        op: Any = None,
    ) -> dict[int, Any]:
        """Run a schedule on objects; the blocks that this rank ends with."""
        check_root(root, self.size)
        rank, size = self.rank, self.size
        entry = _choose(collective, algorithm, size)
        contract, count = entry.contract, entry.block_count(size)
        start = contract.start(rank, size, root, count)
        values = {(DATA, block): blocks[block] for block in start}
        combine = _function(op) if contract.reduces else op
        rounds = entry.schedule(rank, size, root, ordered=True)
        play(self._private(), rounds, values, combine, self._ways.wait)
        return {block: values[DATA, block] for block in contract.end(rank, size, root, count)}


def _function(op: Any) -> Callable[[Any, Any], Any]:
    """What combines two objects; ``TypeError`` for what cannot."""
    function = op.function if isinstance(op, Op) else op
    if isinstance(op, MPI.Op) and (op == MPI.OP_NULL or not op.is_predefined):
        raise TypeError("op: an MPI.Op of one's own combines no objects; pass its function")
    if not callable(function):
        raise TypeError(f"op: expected an MPI.Op or a callable f(a, b), got {type(op).__name__}")
    return function


def _choose(collective: str, name: str | None, size: int) -> Algorithm:
    """The algorithm of that name, or the one with the fewest messages; it leaves objects whole."""
    if name is None:
        candidates = _candidates(collective, size)
        return min(candidates, key=lambda entry: entry.count(size).startups)
    entry = find(collective, name)
    require(entry, size, commuting=not entry.contract.reduces)
    if not _whole(entry, size):
        reason = "it cuts its vector, and an object cannot be cut"
        raise entry.unserved(reason, _candidates(collective, size))
    return entry


def _candidates(collective: str, size: int) -> list[Algorithm]:
    return [entry for entry in serving(collective, size, commuting=False) if _whole(entry, size)]


def _whole(entry: Algorithm, size: int) -> bool:
    return entry.contract.cut is not Cut.VECTOR or entry.block_count(size) == 1


def _first(left: Any, right: Any) -> Any:
    """The operator of a barrier."""
    return left
