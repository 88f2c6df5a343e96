"""Requests on plans that take a known number of tests, without messages."""

from __future__ import annotations

from typing import Any

import pytest
from mpi4py import MPI

from mpicoll.transport import Request


class Countdown:
    """A plan that is complete at its n-th test."""

    algorithm = "countdown"

    def __init__(self, tests: int, log: list[str]) -> None:
        self.left, self.log = tests, log

    def begin(self) -> None:
        self.log.append("start")

    def advance(self) -> bool:
        self.left -= 1
        return self.left <= 0

    def finish(self) -> None:
        self.left = 0

    def Free(self) -> None:
        self.log.append("free")


def request(*tests: int, log: list[str] | None = None) -> Any:
    """A request of one plan for each number of tests."""
    history: list[str] = [] if log is None else log
    return Request(Countdown(number, history) for number in tests)  # type: ignore[misc]


def test_plans_follow_one_another_and_are_freed() -> None:
    log: list[str] = []
    two = request(2, 1, log=log)
    assert (two.algorithm, log) == ("countdown", ["start"])
    assert not two.Test()
    assert two.Test()
    assert (two.algorithm, log) == (None, ["start", "free", "start", "free"])
    assert two.Test() and two.Wait()


def test_testing_all_makes_progress_in_all() -> None:
    """The first needs three tests and the second two: both are complete at the third."""
    pair = [request(3), request(2)]
    assert [Request.Testall(pair) for _ in range(2)] == [False, False]
    assert pair[1].algorithm is None
    assert Request.Testall(pair)


def test_waiting_for_all_or_any_of_both_kinds() -> None:
    both = [request(3), MPI.REQUEST_NULL, request(1, 1)]
    assert Request.Waitall(both)
    assert Request.Testall(both)
    assert Request.Waitany([request(5), request(2)]) == 1
    assert Request.Waitany([]) == MPI.UNDEFINED


def test_each_is_reported_once() -> None:
    both = [request(1), request(1, 1)]
    assert [Request.Waitany(both) for _ in range(3)] == [0, 1, MPI.UNDEFINED]


def test_testing_or_waiting_for_one_advances_the_others() -> None:
    slow, quick = request(4), request(2)
    assert not slow.Test() and not slow.Test()
    assert quick.algorithm is None
    other = request(1)
    assert slow.Wait() and other.algorithm is None and other.Wait()


class Broken(Countdown):
    """A plan that cannot go on, as when an operator raises."""

    def advance(self) -> bool:
        if super().advance():
            raise KeyError("op")
        return False

    def finish(self) -> None:
        raise KeyError("op")


@pytest.mark.parametrize("tests", [1, 2, 9])
def test_what_raised_is_not_under_way_any_more(tests: int) -> None:
    broken = Request(iter([Broken(tests, [])]))  # type: ignore[list-item]
    with pytest.raises(KeyError):
        broken.Wait()
    other = request(3)
    assert not other.Test() and other.Wait()


@pytest.mark.parametrize("finish", ["Wait", "Free", "wait"])
def test_waiting_completes_every_plan(finish: str) -> None:
    log: list[str] = []
    getattr(request(9, 9, log=log), finish)()
    assert log == ["start", "free", "start", "free"]
