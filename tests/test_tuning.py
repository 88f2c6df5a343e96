"""The tuning file: what it says, what of it is used where, and what is wrong with a broken one."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from pathlib import Path

import pytest
from mpi4py import MPI

from mpicoll.communicator.tuning import (
    NETWORK,
    NODE,
    VARIABLE,
    Place,
    Tuning,
    TuningError,
    TuningWarning,
    Winner,
    agree,
    here,
)
from mpicoll.measure.tune_text import to_toml
from mpicoll.schedule import Machine

PLACE = Place("node017", "Some CPU @ 2 GHz", 8, "MPICH", "5.0.2")

TUNING = Tuning(
    place=PLACE,
    made={"date": "2026-01-02", "mpicoll": "0.1.0", "command": "mpicoll tune -n 4"},
    nodes=(0, 0, 1, 1),
    node=Machine(1e-6, 2e-10, 1e-10),
    network=Machine(2e-5, 8e-10, 1e-10),
    winners={
        "allreduce": (
            Winner(1024, "recursive_doubling", {"recursive_doubling": 3.5, "ring": 7.25}),
            Winner(1048576, "ring:stripes=4", {"ring:stripes=4": 410.0}),
        ),
        "bcast": (Winner(64, "vendor"),),
    },
)

TEXT = to_toml(TUNING)
"""Its file: the line numbers below are counted in it."""


def write(folder: Path, text: str = TEXT) -> Path:
    path = folder / "tuning.toml"
    path.write_text(text)
    return path


def test_what_is_written_is_read(tmp_path: Path) -> None:
    read = Tuning.load(write(tmp_path))
    assert read.path == str(tmp_path / "tuning.toml")
    for name in ("schema", "place", "made", "nodes", "node", "network", "winners"):
        assert getattr(read, name) == getattr(TUNING, name), name


def test_texts_of_any_kind_come_back(tmp_path: Path) -> None:
    odd = replace(TUNING, place=replace(PLACE, cpu='a "b" \\ é #1', host="h\t1"))
    assert Tuning.load(write(tmp_path, to_toml(odd))).place == odd.place


@pytest.mark.parametrize(
    ("nbytes", "use"),
    [
        (0, "recursive_doubling"),
        (1024, "recursive_doubling"),
        (1025, "ring:stripes=4"),
        (1 << 20, "ring:stripes=4"),
        (1 << 21, "ring:stripes=4"),
        ((1 << 21) + 1, None),
    ],
)
def test_a_row_holds_up_to_its_size_and_the_last_for_twice_that(
    nbytes: int, use: str | None
) -> None:
    winner = TUNING.winner("allreduce", nbytes, (0, 0, 1, 1))
    assert (winner and winner.use) == use


@pytest.mark.parametrize("nodes", [(0, 0, 0, 0), (0, 1, 0, 1), (0, 0, 1), (0, 0, 1, 1, 1)])
def test_winners_hold_for_the_ranks_that_were_measured_alone(nodes: tuple[int, ...]) -> None:
    assert TUNING.winner("allreduce", 8, nodes) is None
    assert TUNING.winner("reduce", 8, (0, 0, 1, 1)) is None
    assert TUNING.winner("allreduce", 8, (7, 7, 3, 3)) is not None


def test_links_are_measured_or_assumed() -> None:
    assert TUNING.links((0, 0)) == (TUNING.node, None)
    assert TUNING.links((0, 1)) == (TUNING.network, TUNING.node)
    assert Tuning().links((0, 0)) == (NODE, None)
    assert Tuning().links((0, 1)) == (NETWORK, NODE)


def test_another_place_is_told_with_both_values() -> None:
    assert PLACE.differences(replace(PLACE, host="node3")) == []
    there = replace(PLACE, host="login", cpu="Other", version="4.3.0")
    assert PLACE.differences(there) == [
        "host 'node017' there, 'login' here",
        "cpu 'Some CPU @ 2 GHz' there, 'Other' here",
        "version '5.0.2' there, '4.3.0' here",
    ]
    assert PLACE.differences(replace(PLACE, version="5.0.3")) == [
        "version '5.0.2' there, '5.0.3' here"
    ]


def test_another_schema_is_not_read_any_further(tmp_path: Path) -> None:
    tuning = Tuning.load(write(tmp_path, "schema = 9\nwinners = 'of another kind'\n"))
    assert tuning.differences(PLACE) == ["schema 9 there, 1 here"]


def broken(old: str, new: str) -> str:
    assert TEXT.count(old) >= 1
    return TEXT.replace(old, new, 1)


@pytest.mark.parametrize(
    ("old", "new", "line", "told"),
    [
        ("schema = 1", "schema =", 3, "no TOML: Invalid value"),
        ("schema = 1", "schema = 'one'", 3, "schema: expected a whole number of 0 or more"),
        ("schema = 1", "[schema]", 3, "schema: expected a whole number of 0 or more, got {}"),
        ("nodes = [0, 0, 1, 1]", "nodes = 4", 9, "run.nodes: expected the number of each rank's"),
        ('cpu = "Some', 'gpu = "Some', 11, "machine.cpu: it is missing"),
        ("cores = 8", "cores = -8", 14, "machine.cores: expected a whole number of 1 or more"),
        ("cores = 8", "cores = 8\nram = 3", 15, "machine.ram: no such field is known"),
        ("alpha = 1e-06", "alpha = -1e-06", 21, "node.alpha: expected a number of 0 or more"),
        ("gamma = 1e-10", "gamma = nan", 23, "node.gamma: expected a number of 0 or more, got nan"),
        ('"allreduce"', '"allreduced"', 33, "unknown collective 'allreduced'; choose from: barr"),
        ('use = "recursive_doubling"', 'use = "wing"', 35, "unknown algorithm of allreduce 'wing'"),
        ("up_to = 1048576", "up_to = 512", 40, "expected more than the 1024 bytes of the row"),
        ("up_to = 1048576", "up_to = 1e6", 40, "winners.up_to: expected a whole number of 0"),
        ("stripes=4", "stripes=0", 41, "stripes"),
        ("= 3.5", "= '3'", 36, "winners.times_us: expected a number of 0 or more, got '3'"),
    ],
)
def test_a_broken_file_is_told_with_its_line_and_field(
    tmp_path: Path, old: str, new: str, line: int, told: str
) -> None:
    path = write(tmp_path, broken(old, new))
    with pytest.raises(TuningError) as caught:
        Tuning.load(path)
    message = str(caught.value)
    assert message.startswith(str(path)) and told in message
    assert re.search(rf"line {line}\b", message), message


def test_what_cannot_be_read_is_an_error_too(tmp_path: Path) -> None:
    with pytest.raises(TuningError, match=r"none\.toml: cannot be read: .*No such file"):
        Tuning.load(tmp_path / "none.toml")
    (tmp_path / "raw.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(TuningError, match=r"raw\.toml: cannot be read: .*utf-8"):
        Tuning.load(tmp_path / "raw.toml")


def test_a_file_from_elsewhere_is_not_used_and_a_warning_says_so(tmp_path: Path) -> None:
    path = write(tmp_path)
    with pytest.warns(
        TuningWarning, match=r"tuning\.toml is not used: host 'node017' there, .*mod"
    ):
        tuning = agree(MPI.COMM_SELF, path)
    assert (tuning.winners, tuning.node, tuning.path) == ({}, None, str(path))
    assert "'Some CPU @ 2 GHz' there" in tuning.refused
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert agree(MPI.COMM_SELF, tuning).refused == tuning.refused  # as children inherit it


def test_a_file_from_here_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, to_toml(replace(TUNING, place=here())))
    assert agree(MPI.COMM_SELF, None).path is None
    assert agree(MPI.COMM_SELF, path).winners == TUNING.winners
    monkeypatch.setenv(VARIABLE, str(path))
    assert agree(MPI.COMM_SELF, None).winners == TUNING.winners
    assert agree(MPI.COMM_SELF, Tuning()).winners == {}  # what is given counts more
    monkeypatch.setenv(VARIABLE, "")
    assert agree(MPI.COMM_SELF, None).winners == {}


def test_an_error_of_the_file_is_raised(tmp_path: Path) -> None:
    with pytest.raises(TuningError, match=r"line 35: winners\.use"):
        agree(MPI.COMM_SELF, write(tmp_path, broken('"recursive_doubling"', '"wing"')))
    with pytest.raises(TypeError):
        agree(MPI.COMM_SELF, 3)  # type: ignore[arg-type]
