"""The methods of the communicator, and how each is called: one table for all tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import calls
from calls import Call, Case

from mpicoll.schedule import serving

MODES = ("blocking", "non-blocking", "persistent")


@dataclass(frozen=True)
class Method:
    """A method of the communicator: its collective, its calls, and what its cases vary."""

    name: str
    collective: str
    build: Callable[[Case], Call]
    rooted: bool = False
    in_place: bool = True
    equal_counts: bool = True

    def algorithms(self, size: int) -> list[str | None]:
        """Every algorithm that serves it, the automatic choice (None) and the vendor's."""
        names = serving(self.collective, size, equal_counts=self.equal_counts)
        return [*(entry.name for entry in names), None, "vendor"]

    def cases(self, rank: int, size: int) -> Iterator[Case]:
        """Counts around the number of ranks, roots, in place and not."""
        counts = sorted({0, 1, size - 1, size, size + 1, 2 * size - 1, 13})
        roots = sorted({0, size // 2, size - 1}) if self.rooted else [0]
        in_place = (False, True) if self.in_place else (False,)
        for n, root, inside in product(counts, roots, in_place):
            yield Case(rank, size, n, root, inside)

    def call(self, comm: Any, mode: str, call: Call, algorithm: str | None) -> None:
        """Make the call in one of ``MODES``; a persistent one runs twice, checked in between."""
        keywords = {**call.keywords, "algorithm": algorithm}
        if mode == "blocking":
            getattr(comm, self.name)(*call.args, **keywords)
        elif mode == "non-blocking":
            getattr(comm, f"I{self.name.lower()}")(*call.args, **keywords).Wait()
        else:
            self._replay(getattr(comm, f"{self.name}_init")(*call.args, **keywords), call)

    def _replay(self, plan: Any, call: Call) -> None:
        plan.Start()
        plan.Wait()
        call.check(f"{self.name}, first run of a plan")
        call.reset()
        plan.Start()
        plan.Wait()
        plan.Free()


METHODS = (
    Method("Barrier", "barrier", calls.barrier, in_place=False),
    Method("Bcast", "bcast", calls.bcast, rooted=True, in_place=False),
    Method("Scatter", "scatter", calls.scatter, rooted=True),
    Method("Scatterv", "scatter", calls.scatterv, rooted=True, equal_counts=False),
    Method("Gather", "gather", calls.gather, rooted=True),
    Method("Gatherv", "gather", calls.gatherv, rooted=True, equal_counts=False),
    Method("Allgather", "allgather", calls.allgather),
    Method("Allgatherv", "allgather", calls.allgatherv, equal_counts=False),
    Method("Reduce", "reduce", calls.reduce, rooted=True),
    Method("Allreduce", "allreduce", calls.allreduce),
    Method("Reduce_scatter", "reduce_scatter", calls.reduce_scatter, equal_counts=False),
    Method("Reduce_scatter_block", "reduce_scatter", calls.reduce_scatter_block),
    Method("Alltoall", "alltoall", calls.alltoall),
    Method("Alltoallv", "alltoall", calls.alltoallv, equal_counts=False),
    Method("Alltoallw", "alltoall", calls.alltoallw, equal_counts=False),
    Method("Scan", "scan", calls.scan),
    Method("Exscan", "exscan", calls.exscan),
)
"""All collectives; ``test_every_method_is_here`` holds it against mpi4py."""
