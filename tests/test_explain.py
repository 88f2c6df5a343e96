"""What a call will run, why, and what all else would cost, worked out by hand."""

from __future__ import annotations

import pytest

from mpicoll.communicator.choice import Chooser, Query
from mpicoll.communicator.explain import Price, explain
from mpicoll.communicator.tuning import Tuning, Winner
from mpicoll.schedule import Machine, UnknownName, Unserved

LINK = Machine(1e-6, 1e-9, 0.0)

FOUR = Chooser((0, 0, 0, 0), Tuning(node=LINK))


def test_the_table_of_a_gather() -> None:
    """linear: 3 messages and 750 bytes at the root; binomial: 2 rounds and as many bytes."""
    assert (
        str(explain(FOUR, Query("gather", 1000)))
        == """\
gather of 1000 bytes on 4 ranks of 1 node: binomial
  the cheapest by the model
  algorithm  predicted  rounds  bytes of the busiest rank
> binomial     2.75 us       2           750
  linear       3.75 us       1           750"""
    )


def test_fields_can_be_read() -> None:
    told = explain(FOUR, Query("gather", 1000), "linear")
    assert (told.algorithm, told.why, told.stripes, told.ranks) == ("linear", "named", 1, 4)
    assert told.costs == (
        Price("binomial", pytest.approx(2.75e-6), 2, 750),
        Price("linear", pytest.approx(3.75e-6), 1, 750),
    )


def test_what_cannot_serve_says_why_and_comes_last() -> None:
    three = Chooser((0, 0, 0), Tuning(node=LINK))
    last = {
        one.algorithm: one.refused for one in explain(three, Query("allgather", 300)).costs[-2:]
    }
    assert last == {
        "neighbor_exchange": "it needs an even number of ranks, not 3",
        "recursive_doubling": "it needs a power of two of ranks, not 3",
    }
    ordered = explain(FOUR, Query("allreduce", 300, commutes=False))
    refused = {one.algorithm for one in ordered.costs if one.refused}
    assert {"ring", "circulant"} <= refused and "recursive_doubling" not in refused
    assert "  ring  " in str(ordered) and "cannot serve: its operator must commute" in str(ordered)


def test_a_long_vector_is_cut_and_a_stripe_more_is_a_round_more() -> None:
    """The scan of one rank after another has 3 rounds at 4 ranks; each stripe adds one."""
    told = explain(FOUR, Query("scan", 1 << 26), "linear:stripes=7")
    price = next(one for one in told.costs if one.algorithm == "linear:stripes=7")
    assert (told.stripes, price.rounds) == (7, 3 + 6)


def test_links_between_nodes_cost_more() -> None:
    """Inside: binomial, 2 alpha.  Between: linear, one alpha and two overheads, those of a node."""
    two = Chooser((0, 0, 1, 1), Tuning(node=LINK, network=Machine(1e-4, 1e-7, 0.0)))
    near, far = (explain(one, Query("gather", 1000)).costs[0] for one in (FOUR, two))
    assert (near.seconds, far.seconds) == (pytest.approx(2.75e-6), pytest.approx(1.77e-4))


@pytest.mark.parametrize(
    ("tuning", "why"),
    [
        (Tuning(), "the cheapest by the model"),
        (
            Tuning(path="f.toml", refused="cores 8 there, 2 here"),
            "the cheapest by the model; f.toml is not used: cores 8 there, 2 here",
        ),
        (
            Tuning(path="f.toml", nodes=(0, 1), winners={"gather": (Winner(8, "linear"),)}),
            "the cheapest by the model; f.toml has nothing for it",
        ),
        (
            Tuning(path="f.toml", nodes=(0,) * 4, winners={"gather": (Winner(8, "linear"),)}),
            "the fastest here, says f.toml",
        ),
        (
            Tuning(path="f.toml", nodes=(0,) * 4, winners={"gather": (Winner(8, "vendor"),)}),
            "MPI's own is the fastest here, says f.toml; ours runs where its result might differ",
        ),
    ],
)
def test_why(tuning: Tuning, why: str) -> None:
    assert explain(Chooser((0,) * 4, tuning), Query("gather", 16)).why == why


def test_what_is_wrong_is_an_error() -> None:
    with pytest.raises(UnknownName, match="unknown collective 'shuffle'; choose from: barrier"):
        explain(FOUR, Query("shuffle", 8))
    with pytest.raises(ValueError, match="nbytes is -8, expected a number of bytes, 0 or more"):
        explain(FOUR, Query("gather", -8))
    with pytest.raises(Unserved, match="its operator must commute"):
        explain(FOUR, Query("allreduce", 8, commutes=False), "ring")
