"""Requests on plans that take a known number of tests, without messages."""

from __future__ import annotations

from typing import Any

import pytest
from mpi4py import MPI

from mpicoll.transport import Plan, Request


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


def test_some_are_reported_as_soon_as_there_are_any() -> None:
    both = [request(3), MPI.REQUEST_NULL, request(2), request(2)]
    assert [Request.Testsome(both) for _ in range(2)] == [[], [2, 3]]
    assert Request.Waitsome(both) == [0]
    assert Request.Testsome(both) is None and Request.Waitsome(both) is None


def test_any_is_reported_with_whether_that_is_the_end() -> None:
    both = [request(3), MPI.REQUEST_NULL, request(2)]
    found = [Request.Testany(both) for _ in range(4)]
    nothing = MPI.UNDEFINED
    assert found == [(nothing, False), (2, True), (0, True), (nothing, True)]


def test_testing_all_reports_nothing_before_the_end() -> None:
    """What MPI's request received is still there when ours is complete."""
    incoming = MPI.COMM_SELF.irecv(source=0, tag=3)
    sent = MPI.COMM_SELF.isend("came", 0, 3)
    both = [incoming, request(3), sent]
    statuses: list[MPI.Status] = []
    found = [Request.testall(both, statuses) for _ in range(3)]
    assert statuses[0].tag == 3
    assert found == [(False, None), (False, None), (True, ["came", None, None])]
    assert both[0] == MPI.REQUEST_NULL


def mixed(tests: int) -> list[Any]:
    """A receive of ``"came"``, its send, and one of ours, which takes some tests."""
    incoming = MPI.COMM_SELF.irecv(source=0, tag=3)
    return [incoming, MPI.COMM_SELF.isend("came", 0, 3), request(tests)]


def test_the_lower_case_names_give_what_was_received() -> None:
    assert Request.waitall(mixed(2)) == ["came", None, None]
    both = mixed(5)
    assert sorted(Request.waitany(both)[0] for _ in range(3)) == [0, 1, 2]
    assert Request.waitany(both) == (MPI.UNDEFINED, None)
    assert Request.testany(both) == (MPI.UNDEFINED, True, None)
    both, found = mixed(2), {}
    while (some := Request.waitsome(both))[0] is not None:
        found.update(zip(*some, strict=True))
    assert found == {0: "came", 1: None, 2: None}
    assert Request.testsome(both) == (None, None)
    assert (request(1).test(), request(1).wait()) == ((True, None), None)


def test_statuses_are_those_of_the_requests_that_are_reported() -> None:
    both, statuses = [*mixed(1)[::-1]], [MPI.Status()]
    statuses[0].source = 4
    Request.Waitall(both, statuses)
    assert [status.tag for status in statuses][::2] == [MPI.ANY_TAG, 3]
    assert [status.source for status in statuses][::2] == [MPI.ANY_SOURCE, 0]
    both, statuses = [request(9), *mixed(9)], []
    assert Request.Waitsome(both[:2], statuses) == [1]
    assert (statuses[0].source, statuses[0].tag) == (0, 3)
    Request.Waitall(both)


def test_persistent_requests_of_mpi_that_are_not_active_are_passed_over() -> None:
    idle = MPI.COMM_SELF.Send_init(bytearray(1), 0, 9)
    assert Request.Waitany([idle]) == MPI.UNDEFINED
    assert Request.Testsome([idle]) is None
    idle.Free()


def test_a_request_says_what_it_is() -> None:
    one = request(1)
    assert repr(one) == "<Request: countdown, under way>"
    one.Wait()
    assert repr(one) == "<Request: complete>"


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


def test_what_went_wrong_is_raised_by_the_call_for_it_and_no_other() -> None:
    broken, slow = Request(iter([Broken(1, [])])), request(3)  # type: ignore[list-item]
    assert not slow.Test() and slow.Wait()
    assert repr(broken) == "<Request: failed, KeyError('op')>"
    for _ in range(2):
        with pytest.raises(KeyError):
            broken.Wait()
    assert Request.Waitany([broken]) == MPI.UNDEFINED


def test_several_plans_are_started_at_once_of_both_kinds() -> None:
    log: list[str] = []

    class Started:
        def Start(self) -> None:
            log.append("ours")

    got = bytearray(3)
    incoming = MPI.COMM_SELF.Recv_init(got, 0, 5)
    outgoing = MPI.COMM_SELF.Send_init(bytearray(b"abc"), 0, 5)
    Plan.Startall([incoming, Started(), outgoing])
    MPI.Request.Waitall([incoming, outgoing])
    assert (got, log) == (b"abc", ["ours"])
    incoming.Free()
    outgoing.Free()


@pytest.mark.parametrize("finish", ["Wait", "Free", "wait"])
def test_waiting_completes_every_plan(finish: str) -> None:
    log: list[str] = []
    getattr(request(9, 9, log=log), finish)()
    assert log == ["start", "free", "start", "free"]
