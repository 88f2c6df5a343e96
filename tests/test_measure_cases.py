"""Cases: the data of each rank and what must come out, worked out by hand on two ranks.

Number i of rank r's pattern is (7919 r + i) x 31 modulo 65521: 0, 31, 62 on rank 0 and 48926,
48957, 48988, 49019 on rank 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from mpi4py import MPI

from mpicoll.measure.cases import METHODS, Case, even_case
from mpicoll.measure.matrix import MODES, probes
from mpicoll.measure.patterns import DTYPES, PERIOD, affine, combination, contribution
from mpicoll.measure.trial import GUARD, Guarded, Trial
from mpicoll.schedule import CONTRACTS, UnknownName


def test_patterns_differ_by_rank_and_place() -> None:
    assert contribution("int64", "sum", 0, 0, 3).tolist() == [0, 31, 62]
    assert contribution("int64", "sum", 1, 0, 4).tolist() == [48926, 48957, 48988, 49019]
    assert contribution("int64", "sum", 1, 2, 2).tolist() == [48988, 49019]


def test_patterns_repeat_after_a_period() -> None:
    long = contribution("int32", "sum", 0, PERIOD - 1, PERIOD + 3)
    assert long[:3].tolist() == [(PERIOD - 1) * 31 % PERIOD, 0, 31]
    assert long[-2:].tolist() == [0, 31]


def test_combinations() -> None:
    assert combination("int64", "sum", [0, 1], 0, 2).tolist() == [48926, 48988]
    assert combination("int64", "max", [0, 1], 1, 1).tolist() == [48957]
    assert combination("int8", "sum", [1, 1], 0, 1).tolist() == [60]  # 48926 is 30 modulo 256
    assert combination("float16", "sum", [0, 1], 0, 2).tolist() == [
        48926 % 13,
        31 % 13 + 48957 % 13,
    ]


def test_small_integers_wrap() -> None:
    values = contribution("int8", "sum", 0, 3, 2)  # 93 and 124
    assert values.tolist() == [93, 124]
    assert combination("int8", "sum", [0, 0], 3, 2).tolist() == [-70, -8]


def test_affine_composes_and_does_not_commute() -> None:
    left, right = np.array([-1 + 3j]), np.array([1 + 5j])  # -x + 3 and x + 5
    assert affine(left, right).tolist() == [-1 - 2j]  # -(x + 5) + 3
    assert affine(right, left).tolist() == [-1 + 8j]  # (-x + 3) + 5


@pytest.mark.parametrize("dtype", DTYPES)
def test_sums_are_exact_in_every_dtype(dtype: str) -> None:
    parts = [contribution(dtype, "sum", rank, 5, 40) for rank in range(8)]
    total = sum(part.astype(complex) for part in parts)
    if np.dtype(dtype).kind in "fc":
        assert np.array_equal(combination(dtype, "sum", range(8), 5, 40).astype(complex), total)


def trial(rank: int, collective: str, counts: tuple[int, ...], **options: Any) -> Trial:
    """A trial of two ranks, by the method that serves any counts."""
    return Trial(Case(collective, METHODS[collective][-1], counts, "int64", **options), rank, 2)


def expected(collective: str, counts: tuple[int, ...], **options: Any) -> list[list[int] | None]:
    trials = [trial(rank, collective, counts, **options) for rank in range(2)]
    return [None if one.expected is None else one.expected.tolist() for one in trials]


def test_what_must_come_out() -> None:
    assert expected("bcast", (2,), root=1) == [[48926, 48957], [48926, 48957]]
    assert expected("scatter", (1, 2), root=1) == [[48926], [48957, 48988]]
    assert expected("gather", (1, 2), root=1) == [None, [0, 48957, 48988]]
    assert expected("allgather", (1, 2)) == [[0, 48957, 48988]] * 2
    assert expected("reduce", (2,), root=1) == [None, [48926, 48988]]
    assert expected("allreduce", (2,)) == [[48926, 48988]] * 2
    assert expected("reduce_scatter", (1, 1)) == [[48926], [48988]]
    assert expected("alltoall", (1, 1, 1, 1)) == [[0, 48988], [31, 49019]]
    assert expected("scan", (2,)) == [[0, 31], [48926, 48988]]
    assert expected("exscan", (2,)) == [None, [0, 31]]
    assert expected("barrier", (0,)) == [None, None]


def test_sent_data_and_significance() -> None:
    root, other = trial(0, "scatter", (1, 2)), trial(1, "scatter", (1, 2))
    assert root.send is not None and root.send.data.tolist() == [0, 31, 62]
    assert other.send is None
    assert trial(1, "reduce", (2,)).receive is None


def test_counts_of_what_is_sent_and_received() -> None:
    send, receive = trial(1, "alltoall", (0, 1, 2, 3)).arguments
    assert (send[1], receive[1]) == ([2, 3], [1, 3])
    assert (send[2], receive[2]) == ([0, 16], [0, 8])  # an alltoallw's bytes
    _, receive, root = trial(1, "gather", (1, 2), root=1).arguments
    assert (receive[1], root) == ([1, 2], 1)
    assert trial(0, "reduce_scatter", (1, 2)).arguments[2] == (1, 2)


def test_in_place() -> None:
    whole = trial(1, "allgather", (1, 2), in_place=True)
    assert whole.send is None and whole.receive is not None
    assert whole.receive.data[1:].tolist() == [48957, 48988]
    assert whole.arguments[0] is MPI.IN_PLACE
    assert trial(1, "reduce", (2,), in_place=True).send is not None
    assert trial(0, "scatter", (1, 2), in_place=True).arguments[1] is MPI.IN_PLACE


def test_wrong_counts_elements_poison_guards_and_changed_input() -> None:
    one = trial(0, "allreduce", (3,))
    assert one.send is not None and one.receive is not None and one.expected is not None
    one.fill()
    assert one.wrong() == 3
    one.receive.data[:] = one.expected
    assert one.wrong() == 0
    one.receive.data[1] += 1
    one.send.data[0] = 5
    assert one.wrong() == 2
    one.receive._raw[GUARD - 1] = 0
    one.receive._raw[-GUARD] = 0
    assert one.wrong() == 4
    one.fill()
    assert one.wrong() == 3


def test_what_must_not_be_touched() -> None:
    one = trial(0, "exscan", (2,))
    one.fill()
    assert one.wrong() == 0
    assert one.receive is not None
    one.receive.data[0] = 0
    assert one.wrong() > 0


def test_guarded_starts_aligned_and_full_of_poison() -> None:
    one = Guarded("float64", 5)
    assert one.data.ctypes.data % 64 == 0
    assert set(one._raw.tolist()) == {0xA5}
    assert one.wrong(np.full(5, 1.0)) == 5


def test_counts_and_bytes() -> None:
    pairs = Case("alltoall", "Alltoallv", (0, 1, 2, 3) * 4, "int32")
    assert pairs.count == 6 and pairs.nbytes == 24 and pairs.starts[:5] == (0, 0, 1, 3, 6)
    assert even_case("allgather", 64, 3).counts == (5, 5, 5)
    assert even_case("alltoall", 4, 3).counts == (1,) * 9
    assert even_case("allreduce", 64, 3).counts == (16,)
    assert even_case("barrier", 64, 3).nbytes == 0


def test_names_that_are_not_there_list_the_choices() -> None:
    for case, kind in (
        (("shuffle", "Shuffle", (1,)), "unknown collective 'shuffle'; choose from: barrier, bcast"),
        (("bcast", "Bcastv", (1,)), "unknown method of bcast 'Bcastv'; choose from: Bcast"),
        (("bcast", "Bcast", (1,), "f4"), "unknown dtype 'f4'; choose from: bool, int8"),
        (("reduce", "Reduce", (1,), "int8", "avg"), "unknown operator 'avg'; choose from: sum"),
    ):
        with pytest.raises(UnknownName, match=kind):
            Case(*case)
    with pytest.raises(TypeError, match="'band' has no meaning for dtype 'float32'"):
        Case("reduce", "Reduce", (1,), "float32", "band")


@pytest.mark.parametrize("collective", CONTRACTS)
def test_probes_vary_what_they_should(collective: str) -> None:
    cases = [probe.case for probe in probes(collective, 5)]
    assert {case.method for case in cases} == set(METHODS[collective])
    if collective == "barrier":
        return
    assert {case.dtype for case in cases} == set(DTYPES)
    plain = {case.counts[0] for case in cases if case.equal_counts}
    assert plain == {0, 1, 4, 5, 6, 13, 9, 1000}
    if CONTRACTS[collective].rooted:
        assert {case.root for case in cases} == {0, 2, 4}
    if len(METHODS[collective]) > 1:
        assert any(0 in case.counts and any(case.counts) for case in cases)
    assert {mode for probe in probes(collective, 5) for mode in probe.modes} == set(MODES)


def test_every_operator_meets_every_dtype_that_it_serves() -> None:
    kinds = {(one.case.dtype, one.case.op) for one in probes("allreduce", 3)}
    assert {
        ("bool", "lxor"),
        ("int8", "prod"),
        ("float16", "max"),
        ("complex64", "affine"),
    } <= kinds
    assert ("complex64", "max") not in kinds and ("float32", "band") not in kinds


def test_the_vendor_is_no_oracle_where_it_is_not_right() -> None:
    distrust = lambda dtype, op: Case("reduce", "Reduce", (1,), dtype, op).distrust  # noqa: E731
    assert distrust("float32", "sum") is None and distrust("int8", "max") is None
    assert "overflow" in (distrust("int16", "prod") or "")
    assert "float16" in (distrust("float16", "max") or "")
    assert "bool" in (distrust("bool", "sum") or "")
    assert Case("bcast", "Bcast", (1,), "int8").distrust is None
