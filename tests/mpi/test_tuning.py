"""Tuning on several ranks: all decide alike, children inherit it, and restrictions hold."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI

import mpicoll
from mpicoll import Communicator, Tuning, TuningError, TuningWarning
from mpicoll.communicator.tuning import VARIABLE, Winner, here
from mpicoll.measure.tune_text import to_toml
from mpicoll.schedule import Machine

pytestmark = pytest.mark.mpi

WORLD = MPI.COMM_WORLD
SIZE = WORLD.size


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
            "allreduce": (Winner(64, "star"), Winner(4096, "ring:stripes=3")),
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
    tuning: Tuning, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "tuning.toml"
    if WORLD.rank == 0:
        path.write_text(to_toml(tuning))
        monkeypatch.setenv(VARIABLE, str(path))
    with Communicator(WORLD) as comm:
        assert allreduce(comm, 8) == "star"
        assert str(comm.tuning.path).endswith("tuning.toml")
    with Communicator(WORLD, tuning=Tuning()) as comm:
        assert comm.tuning.winners == {}


def test_a_broken_file_is_an_error_on_all_ranks(tmp_path: Path) -> None:
    path = tmp_path / "broken.toml"
    path.write_text("schema = -1\n")
    with pytest.raises(TuningError, match=r"broken\.toml, line 1: schema: expected a whole"):
        Communicator(WORLD, tuning=path)


def test_a_file_from_elsewhere_is_told_of_on_rank_0_alone(tuning: Tuning, tmp_path: Path) -> None:
    path = tmp_path / "other.toml"
    path.write_text(to_toml(replace(tuning, place=replace(here(), version="0.9"))))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with Communicator(WORLD, tuning=path) as comm, comm.Dup() as child:
            assert "version '0.9' there, " in child.tuning.refused
            assert "is not used: version '0.9' there" in child.explain("allreduce", 8).why
    told = [one for one in caught if one.category is TuningWarning]
    assert len(told) == (WORLD.rank == 0)


def test_the_node_map_counts(tuning: Tuning) -> None:
    with Communicator(WORLD, tuning=tuning, nodes=range(SIZE)) as comm:
        assert comm.explain("allreduce", 8).why.startswith("the cheapest") is (SIZE > 1)
