"""Every method in every algorithm: counts around the number of ranks, roots, in place and not."""

from __future__ import annotations

from typing import Any

import pytest
from methods import METHODS, MODES, Method
from mpi4py import MPI

pytestmark = pytest.mark.mpi

SIZE = MPI.COMM_WORLD.size
PAIRS = [
    pytest.param(method, algorithm, id=f"{method.name}-{algorithm or 'automatic'}")
    for method in METHODS
    for algorithm in method.algorithms(SIZE)
]


def test_every_method_is_here() -> None:
    persistent = {
        name for name in dir(MPI.Intracomm) if name.endswith("_init") and name[0].isupper()
    }
    point_to_point = {f"{kind}end_init" for kind in ("S", "Bs", "Ss", "Rs")} | {"Recv_init"}
    partitioned = {"Psend_init", "Precv_init"}
    neighbours = {name for name in persistent if name.startswith("Neighbor")}
    collectives = persistent - point_to_point - partitioned - neighbours
    assert {f"{method.name}_init" for method in METHODS} == collectives


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("method", "algorithm"), PAIRS)
def test_every_call(comm: Any, method: Method, algorithm: str | None, mode: str) -> None:
    for case in method.cases(comm.rank, SIZE):
        call = method.build(case)
        method.call(comm, mode, call, algorithm)
        call.check(f"{method.name} {algorithm} {mode} {case}")
