"""Timing: turns, repetitions and what is not timed; on one rank, without any time asserted."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from itertools import islice

import pytest
from measured import record
from mpi4py import MPI

from mpicoll import Communicator
from mpicoll.measure import timing
from mpicoll.measure.cases import Case, even_case
from mpicoll.measure.floor import Floor, measure_floor
from mpicoll.measure.settings import Settings
from mpicoll.measure.timing import LEAST, MOST, WARM_UP, Contender, contender, measure
from mpicoll.measure.trial import Trial
from mpicoll.measure.words import noise_us
from mpicoll.schedule import Unserved


@pytest.fixture
def alone() -> Iterator[Communicator]:
    """A communicator of one rank."""
    with Communicator(MPI.COMM_SELF) as comm:
        yield comm


def copy(trial: Trial, ran: list[str], name: str, plus: int = 0) -> Contender:
    """A contender for an allreduce on one rank, off by ``plus``, that notes when it ran."""
    assert trial.send is not None and trial.receive is not None
    source, target = trial.send.data, trial.receive.data

    def run() -> None:
        ran.append(name)
        target[:] = source + plus

    return Contender(name, run, lambda: None)


def test_orders_are_shuffled_alike_from_one_seed() -> None:
    first, again = (list(islice(timing._orders(5, "7 bcast"), 50)) for _ in range(2))
    assert first == again
    assert all(sorted(order) == list(range(5)) for order in first)
    assert len({tuple(order) for order in first}) > 30
    assert first != list(islice(timing._orders(5, "8 bcast"), 50))


@pytest.mark.parametrize(
    ("done", "spent", "seconds", "more"),
    [
        (8, 1.0, 10.0, 8),  # time for 72 more, but at most as many again
        (64, 1.0, 1.5, 32),
        (64, 1.0, 1.0, 0),
        (64, 3.0, 1.0, 0),
        (MOST - 4, 0.5, 9.0, 4),
        (MOST, 0.5, 9.0, 0),
    ],
)
def test_repetitions_follow_the_time(done: int, spent: float, seconds: float, more: int) -> None:
    assert timing._more(done, spent, seconds) == more


def test_contenders_take_turns_and_are_checked_before_and_after(alone: Communicator) -> None:
    trial, ran = Trial(even_case("allreduce", 64, 1), 0, 1), list[str]()
    pair = [copy(trial, ran, "a"), copy(trial, ran, "b")]
    first, second = measure(trial, alone, pair, 0.0, "seed")
    assert (first.name, second.name, first.wrong, second.wrong) == ("a", "b", 0, 0)
    assert len(first.samples_us) == len(second.samples_us) == LEAST
    assert ran[:2] == ran[-2:] == ["a", "b"]
    turns = ran[2:-2]
    assert len(turns) == 2 * (WARM_UP + LEAST)
    assert all(set(turns[at : at + 2]) == {"a", "b"} for at in range(0, len(turns), 2))
    assert gc.isenabled()


def test_what_is_wrong_is_not_timed(alone: Communicator) -> None:
    trial, ran = Trial(even_case("allreduce", 64, 1), 0, 1), list[str]()
    pair = [copy(trial, ran, "off", plus=1), copy(trial, ran, "right")]
    off, right = measure(trial, alone, pair, 0.0, "seed")
    assert (off.samples_us, off.wrong) == ([], 16)
    assert len(right.samples_us) == LEAST and right.wrong == 0
    assert ran.count("off") == 1


def test_what_turns_wrong_later_is_told(alone: Communicator) -> None:
    trial, ran = Trial(even_case("allreduce", 64, 1), 0, 1), list[str]()
    good, bad = copy(trial, ran, "x"), copy(trial, ran, "x", plus=1)
    tired = Contender("tired", lambda: (bad if len(ran) > 5 else good).run(), lambda: None)
    (told,) = measure(trial, alone, [tired], 0.0, "seed")
    assert told.wrong == 16


def test_a_call_in_place_gets_its_input_back_each_time(alone: Communicator) -> None:
    trial = Trial(even_case("allreduce", 64, 1, in_place=True), 0, 1)
    assert trial.receive is not None
    data, seen = trial.receive.data, list[float]()

    def spoil() -> None:
        seen.append(float(data[3]))
        if len(seen) > 1:
            data[3] += 1

    measure(trial, alone, [Contender("x", spoil, lambda: None)], 0.0, "seed")
    assert set(seen) == {93.0}


def test_contenders_are_plans_or_calls(alone: Communicator) -> None:
    trial = Trial(even_case("allreduce", 64, 1), 0, 1)
    for name, persistent in (("ring", True), ("ring", False), ("vendor", True), ("auto", True)):
        one = contender(trial, alone, name, persistent)
        assert (one.name, one.chosen is None) == (name, name == "vendor")
        assert timing.verify(trial, alone, one) == 0
        one.free()


def test_floor_has_parts(alone: Communicator) -> None:
    floor = measure_floor(alone, one_host=True)
    assert floor.skew_us == 0.0
    assert 0 < floor.empty_us < 1000
    assert noise_us(record(floor=vars(Floor(0.5, 9.0, 2.0)))) == 2.0
    assert noise_us(record(floor=vars(Floor(0.5, 9.0, None)))) == 0.5


def test_settings_say_which_cells_there_are() -> None:
    settings = Settings(("barrier", "allgather"), (4, 8, 64))
    cases = settings.cases(2)
    assert [(case.collective, case.nbytes) for case in cases] == [
        ("barrier", 0), ("allgather", 8), ("allgather", 64)
    ]  # fmt: skip
    assert settings.contenders(cases[0], 2)[0] == "vendor"


def test_settings_tell_what_does_not_run() -> None:
    settings = Settings(("allgather",), (64,))
    (case,) = settings.cases(3)
    refused = settings.refusals(case, 3)
    assert refused["recursive_doubling"] == "it needs a power of two of ranks, not 3"
    assert refused["neighbor_exchange"] == "it needs an even number of ranks, not 3"
    assert not set(refused) & set(settings.contenders(case, 3))


def test_a_named_algorithm_is_never_dropped_in_silence() -> None:
    with pytest.raises(Unserved, match="it needs a power of two of ranks, not 3"):
        Settings(("allgather",), (64,), ("recursive_doubling",)).cases(3)


def test_the_vendor_is_left_out_where_it_cannot_be_trusted() -> None:
    settings = Settings(("allreduce",), (64,), dtype="float16")
    (case,) = settings.cases(2)
    assert "vendor" not in settings.contenders(case, 2)
    assert settings.refusals(case, 2)["vendor"] == "MPI has no float16"


def test_options_and_the_choice_stand_beside_the_catalogue() -> None:
    settings = Settings(("allreduce", "gather"), (64,), ("auto", "ring:stripes=4", "star", "ring"))
    allreduce, gather = settings.cases(3)
    assert settings.contenders(allreduce, 3) == [
        "vendor", "star", "ring:stripes=4", "ring", "auto"
    ]  # fmt: skip
    assert settings.contenders(gather, 3) == ["vendor", "auto"]
    every = Settings(("gather",), (64,), ("all", "auto"))
    assert every.contenders(gather, 3) == ["vendor", "linear", "binomial", "auto"]


def test_fewer_repetitions_come_without_warm_up(alone: Communicator) -> None:
    trial, ran = Trial(even_case("allreduce", 64, 1), 0, 1), list[str]()
    (only,) = measure(trial, alone, [copy(trial, ran, "a")], 0.0, "seed", fewest=3)
    assert (len(only.samples_us), len(ran)) == (3, 5)  # and a check before and after


def test_the_vendor_alone_may_be_measured() -> None:
    settings = Settings(("allgather",), (64,), ("vendor",))
    assert [settings.contenders(case, 3) for case in settings.cases(3)] == [["vendor"]]


def test_time_is_a_second_a_cell_up_to_a_limit() -> None:
    settings = Settings(("bcast",), (8,))
    assert settings.time(3) == 3.0
    assert settings.time(1000) == 100.0
    assert Settings(("bcast",), (8,), seconds=7.0).time(1000) == 7.0


def test_case_counts_follow_the_ranks() -> None:
    assert Case("allgather", "Allgatherv", (1, 2, 0)).ranks == 3
