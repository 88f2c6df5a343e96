"""Tuning on several ranks: all decide alike, children inherit it, and restrictions hold."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from methods import METHODS, MODES, Method
from mpi4py import MPI

import mpicoll
from mpicoll import Communicator, Tuning, TuningError, TuningWarning
from mpicoll.communicator.tuning import VARIABLE, Winner, here
from mpicoll.measure.links import measure_links
from mpicoll.measure.tune_text import to_toml
from mpicoll.schedule import Machine

pytestmark = pytest.mark.mpi

WORLD = MPI.COMM_WORLD
SIZE = WORLD.size


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder of rank 0's, whose name all know; it is gone when all are done with it."""
    with TemporaryDirectory() if WORLD.rank == 0 else nullcontext("") as name:
        yield Path(WORLD.bcast(name))
        WORLD.Barrier()


@pytest.fixture
def tuning(comm: Any) -> Tuning:
    """Of this place and these ranks, with winners that the model would not choose."""
    return Tuning(
        path="here.toml",
        place=here(),
        made={"date": "today", "mpicoll": mpicoll.__version__, "command": "mpicoll tune"},
        nodes=comm.nodes,
        node=Machine(1e-6, 1e-10, 1e-10),
        winners={
            "allreduce": (Winner(64, "star"), Winner(1 << 20, "ring:stripes=3")),
            "bcast": (Winner(1 << 20, "chain"),),
            "reduce": (Winner(8, "vendor"), Winner(4096, "circulant")),
        },
    )


@pytest.fixture
def tuned(tuning: Tuning) -> Iterator[Communicator]:
    with Communicator(WORLD, tuning=tuning) as comm:
        yield comm


def allreduce(comm: Communicator, count: int, **options: Any) -> str:
    """What runs an allreduce of so many float64; its result is checked."""
    mine, total = np.arange(count) + 100.0 * comm.rank, np.full(count, np.nan)
    plan = comm.Allreduce_init(mine, total, **options)
    plan.Start()
    plan.Wait()
    name = str(plan.algorithm)
    plan.Free()
    assert (total == SIZE * np.arange(count) + 100.0 * sum(range(SIZE))).all()
    return name


def test_winners_run(tuned: Communicator) -> None:
    assert allreduce(tuned, 8) == "star"
    assert allreduce(tuned, 9) == "ring:stripes=3"
    assert allreduce(tuned, 100_000) == "ring:stripes=3"
    assert allreduce(tuned, 8, algorithm="recursive_doubling") == "recursive_doubling"


def test_explain_says_what_runs(tuned: Communicator) -> None:
    for count in (8, 9, 100_000):
        told = tuned.explain("allreduce", 8 * count)
        assert told.algorithm == allreduce(tuned, count)
        assert told.why == "the fastest here, says here.toml"
    assert tuned.explain("allreduce", 800).stripes == 3
    assert tuned.explain("scan", 8).why == "the cheapest by the model; here.toml has nothing for it"


@pytest.mark.skipif(SIZE == 1, reason="one rank has nothing to combine; run on 2 or more")
def test_a_winner_that_cannot_serve_gives_way(tuned: Communicator) -> None:
    ordered = mpicoll.Op(lambda a, b: a + b)
    name = allreduce(tuned, 9, op=ordered)
    told = tuned.explain("allreduce", 72, op=ordered)
    assert name == told.algorithm and not name.startswith("ring")
    assert told.why.endswith("ring:stripes=3, the fastest here, cannot serve this call")
    assert allreduce(tuned, 8, op=ordered) == "star"
    assert (
        allreduce(tuned, 9, deterministic=True)
        == tuned.explain("allreduce", 72, deterministic=True).algorithm
    )
    assert "cannot serve" in tuned.explain("allreduce", 72, deterministic=True).why


def test_children_inherit_it(tuned: Communicator) -> None:
    with tuned.Dup() as child:
        assert allreduce(child, 8) == "star"
    with tuned.Split(tuned.rank) as alone:
        assert alone.tuning.winners == tuned.tuning.winners
        assert alone.explain("allreduce", 8).why.startswith("the cheapest") is (SIZE > 1)


def test_rank_0_s_argument_counts(tuning: Tuning) -> None:
    with Communicator(WORLD, tuning=tuning if WORLD.rank == 0 else None) as comm:
        assert allreduce(comm, 8) == "star"
    with Communicator(WORLD, tuning=None if WORLD.rank == 0 else tuning) as comm:
        assert comm.tuning.path is None


def test_the_variable_names_a_file_that_rank_0_reads(
    tuning: Tuning, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "tuning.toml"
    if WORLD.rank == 0:
        path.write_text(to_toml(tuning))
        monkeypatch.setenv(VARIABLE, str(path))
    with Communicator(WORLD) as comm:
        assert allreduce(comm, 8) == "star"
        assert str(comm.tuning.path).endswith("tuning.toml")
    with Communicator(WORLD, tuning=Tuning()) as comm:
        assert comm.tuning.winners == {}


def test_a_broken_file_is_an_error_on_all_ranks(folder: Path) -> None:
    path = folder / "broken.toml"
    if WORLD.rank == 0:
        path.write_text("schema = -1\n")
    with pytest.raises(TuningError, match=r"broken\.toml, line 1: schema: expected a whole"):
        Communicator(WORLD, tuning=path)


def test_a_file_from_elsewhere_is_told_of_on_rank_0_alone(tuning: Tuning, folder: Path) -> None:
    path = folder / "other.toml"
    if WORLD.rank == 0:
        path.write_text(to_toml(replace(tuning, place=replace(here(), version="0.9"))))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with Communicator(WORLD, tuning=path) as comm, comm.Dup() as child:
            assert "version '0.9' there, " in child.tuning.refused
            assert "is not used: version '0.9' there" in child.explain("allreduce", 8).why
    told = [one for one in caught if one.category is TuningWarning]
    assert len(told) == (WORLD.rank == 0)
    with warnings.catch_warnings(), pytest.raises(TuningWarning, match=r"'0\.9' there"):
        warnings.simplefilter("error")
        Communicator(WORLD, tuning=path)


def test_the_node_map_counts(tuning: Tuning) -> None:
    with Communicator(WORLD, tuning=tuning, nodes=range(SIZE)) as comm:
        assert comm.explain("allreduce", 8).why.startswith("the cheapest") is (SIZE > 1)


@pytest.fixture(scope="module")
def vendors() -> Iterator[Communicator]:
    """Where MPI's own won everything."""
    every = {name: (Winner(1 << 20, "vendor"),) for name in mpicoll.collectives()}
    with Communicator(
        WORLD, tuning=Tuning(path="v.toml", nodes=(0,) * SIZE, winners=every)
    ) as comm:
        yield comm


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_the_vendor_runs_where_it_won(vendors: Communicator, method: Method, mode: str) -> None:
    for case in method.cases(WORLD.rank, SIZE):
        call = method.build(case)
        method.call(vendors, mode, call, None)
        call.check(f"{method.name} {mode} {case}")


def test_it_runs_where_its_result_is_ours_alone(vendors: Communicator) -> None:
    assert vendors.explain("allreduce", 8).algorithm == "vendor"
    assert allreduce(vendors, 9) == "vendor"
    for options in ({"op": mpicoll.Op(lambda a, b: a + b)}, {"deterministic": True}):
        assert allreduce(vendors, 9, **options) != "vendor"
    for dtype, op in (("f8", MPI.MAX), ("i2", MPI.SUM), ("f2", MPI.SUM)):
        mine, most = np.full(3, vendors.rank, dtype), np.zeros(3, dtype)
        plan = vendors.Allreduce_init(mine, most, op)
        assert plan.algorithm != "vendor"
        plan.Free()


def test_strided_memory_on_one_rank_alone_serves_the_vendor_too(vendors: Communicator) -> None:
    wide = np.full((4, 2), -1.0)
    total = wide[::-1, 1] if vendors.rank == 0 else np.zeros(4)
    mine, due = np.arange(4) + 10.0 * vendors.rank, SIZE * np.arange(4) + 10.0 * sum(range(SIZE))
    for _ in range(2):
        total[:] = -2.0
        vendors.Allreduce(mine, total)
        assert (total == due).all()
    total[:] = -2.0
    request = vendors.Iallreduce(mine, total)
    assert request.algorithm == "vendor"
    request.Wait()
    assert (total == due).all() and (wide[:, 0] == -1.0).all()


def test_a_plan_of_the_vendor_takes_its_input_anew(vendors: Communicator) -> None:
    inout = np.zeros(2 * SIZE)
    plan = vendors.Reduce_scatter_block_init(MPI.IN_PLACE, inout)
    assert plan.algorithm == "vendor"
    for step in (1.0, 2.0):
        inout[:] = step
        plan.Start()
        assert mpicoll.Request.Waitall([plan])
        assert (inout[:2] == step * SIZE).all() and (inout[2:] == step).all()
    plan.Free()


def test_switching_costs_nothing_inside_a_node(comm: Any) -> None:
    """Only a link between nodes has a factor, and it makes nothing cheaper."""
    assert "network" not in measure_links(comm)
    nodes = list(range(comm.size))
    with mpicoll.Communicator(comm.vendor, nodes=nodes) as apart:
        found = measure_links(apart)
    assert set(found) == ({"network"} if comm.size > 1 else set())
    assert all(link.switch >= 1 for link in found.values())
