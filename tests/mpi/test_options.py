"""Algorithms with other options than their own, and on other node maps than the machine's."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest
from methods import METHODS, Method
from mpi4py import MPI

import mpicoll
from mpicoll.schedule import find

pytestmark = pytest.mark.mpi

SIZE = MPI.COMM_WORLD.size
NAMED = [
    (method, find(method.collective, name))
    for method in METHODS
    for name in method.algorithms(SIZE)
    if name not in (None, "vendor")
]
RADICES = [
    pytest.param(method, entry.variant(radix=radix).name, id=f"{method.name}-{entry.name}-{radix}")
    for method, entry in NAMED
    if "radix" in entry.choices
    for radix in (2, 3, 5)
]
HIERARCHICAL = [
    pytest.param(method, entry.name, id=f"{method.name}-{entry.name}")
    for method, entry in NAMED
    if "nodes" in entry.parameters
]
MAPS = {
    "in pairs": lambda rank: rank // 2,
    "in turns": lambda rank: rank % 2,
    "unequal": lambda rank: rank * rank % 3,
    "one each": lambda rank: rank,
}


def run(comm: Any, method: Method, algorithm: str) -> None:
    for case in method.cases(comm.rank, SIZE):
        if case.n in (1, SIZE + 1, 13):
            call = method.build(case)
            method.call(comm, "blocking", call, algorithm)
            call.check(f"{method.name} {algorithm} {case}")


@pytest.mark.parametrize(("method", "algorithm"), RADICES)
def test_radices(comm: Any, method: Method, algorithm: str) -> None:
    run(comm, method, algorithm)


@pytest.mark.parametrize("nodes", MAPS.values(), ids=MAPS)
@pytest.mark.parametrize(("method", "algorithm"), HIERARCHICAL)
def test_node_maps(
    comm: Any,
    method: Method,
    algorithm: str,
    nodes: Callable[[int], int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with mpicoll.Communicator(comm.vendor, nodes=[*map(nodes, range(SIZE))]) as mapped:
        run(mapped, method, algorithm)
        monkeypatch.setattr(import_module("mpicoll.schedule.cost"), "STRIPE", 3 * 8)
        run(mapped, method, algorithm)
