"""Pictures of schedules, as ``mpicoll explain`` prints them, beside golden files."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpicoll.schedule import Unserved, catalogue, find
from mpicoll.schedule.draw import draw

GOLDEN = Path(__file__).parent / "golden"

PICTURES = [
    ("explain-allreduce-ring-5.txt", "allreduce", "ring", 5, 0),
    ("explain-alltoall-bruck-3.txt", "alltoall", "bruck", 3, 0),
    ("explain-scan-recursive_doubling-5.txt", "scan", "recursive_doubling", 5, 0),
    ("explain-reduce-circulant-4.txt", "reduce", "circulant", 4, 0),
    ("explain-bcast-binomial-6-root-2.txt", "bcast", "binomial", 6, 2),
    ("explain-bcast-circulant-5-blocks-2.txt", "bcast", "circulant:blocks=2", 5, 0),
]


@pytest.mark.parametrize(("file", "collective", "name", "size", "root"), PICTURES)
def test_golden(file: str, collective: str, name: str, size: int, root: int) -> None:
    assert draw(find(collective, name), size, root) == (GOLDEN / file).read_text()


def test_the_ring_on_three_ranks_by_hand() -> None:
    """Two rounds to combine, the block that rank r then has whole being r + 1, two to pass on."""
    text = draw(find("allreduce", "ring"), 3)
    assert (
        """\
Round 1
  0 > 1: block 2, combined on the left
  1 > 2: block 0, combined on the left
  2 > 0: block 1, combined on the left

             0    1    2
  block 0    0  0-1  0-2*
  block 1  0-2*   1  1-2
  block 2  0,2  0-2*   2

Round 2
  0 > 1: block 1
  1 > 2: block 2
  2 > 0: block 0

             0    1    2
  block 0  0-2* 0-1  0-2
  block 1  0-2  0-2* 1-2
  block 2  0,2  0-2  0-2*
"""
        in text
    )
    assert "  bytes moved        4/3 n   2 * (p - 1) / p\n" in text
    assert "Every rank sends 4/3 n in 4 messages, all together 4 n in 12.\n" in text


def test_nodes_are_counted_beside_the_closed_forms() -> None:
    """6 ranks are a node of 4 and one of 2: 1 round between them and 2 inside."""
    text = draw(find("bcast", "hierarchical"), 6)
    assert "  rounds                 3   ceil_log(N) + ceil_log(m)   with N = 2, m = 4\n" in text


def test_everything_can_be_drawn_for_2_to_16_ranks() -> None:
    for entries in catalogue().values():
        for entry in entries.values():
            for size in (2, 16):
                text = draw(entry, size)
                assert text.endswith("\n")
                assert max(map(len, text.splitlines())) < 200


def test_one_rank() -> None:
    assert draw(find("allreduce", "ring"), 1).endswith("\n\nOne rank sends nothing.\n")


def test_refusals() -> None:
    with pytest.raises(Unserved, match=r"draw at most 16.*mpicoll verify bcast chain --ranks 17"):
        draw(find("bcast", "chain"), 17)
    with pytest.raises(Unserved, match="needs a power of two of ranks, not 6"):
        draw(find("allgather", "recursive_doubling"), 6)
