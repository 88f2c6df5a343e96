"""Winners as rules of an MPI library: the text, and that the library really follows it.

What Open MPI runs is told by the messages that its own monitoring counts; what MPICH runs, by the
lengths that it gives to an operator in Python, and by who must wait for whom.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from mpi4py import MPI

from mpicoll.communicator.tuning import Tuning, Winner
from mpicoll.measure.export import exporter, libraries, mpich, openmpi
from mpicoll.schedule import UnknownName, cost, even_blocks, find

HERE = Path(__file__).parent

RANKS = 4

VENDOR = MPI.get_vendor()[0]

Run = Callable[..., subprocess.CompletedProcess[str]]


def tuning(**winners: Sequence[Winner]) -> Tuning:
    """Of four ranks on one node."""
    rows = {name: tuple(found) for name, found in winners.items()}
    return Tuning(path="t.toml", nodes=(0,) * RANKS, winners=rows)


def test_exports_are_found_by_name() -> None:
    assert libraries() == ("mpich", "openmpi")
    assert exporter("openmpi") is openmpi
    with pytest.raises(UnknownName, match="unknown library 'impi'; choose from: mpich, openmpi"):
        exporter("impi")


def test_open_mpi_s_rules_are_for_these_ranks_and_start_at_each_size() -> None:
    rows = [Winner(1024, "recursive_doubling"), Winner(65536, "ring:stripes=2")]
    text, notes = openmpi.export(tuning(allreduce=rows, bcast=[Winner(64, "chain:stripes=3")]))
    numbers = [line.partition("#")[0].split() for line in text.splitlines()]
    assert [words for words in numbers if words] == [
        ["2"],
        ["2"], ["3"],  # allreduce; fewer than 4 ranks, 4, more
        ["0"], ["1"], ["0", "0", "0", "0"],
        ["4"], ["2"], ["0", "3", "0", "0"], ["1025", "5", "0", "8192"],  # 64 KiB / 4 / 2
        ["5"], ["1"], ["0", "0", "0", "0"],
        ["7"], ["3"],
        ["0"], ["1"], ["0", "0", "0", "0"],
        ["4"], ["1"], ["0", "3", "0", "22"],
        ["5"], ["1"], ["0", "0", "0", "0"],
    ]  # fmt: skip
    assert notes == [openmpi.ORDER]


def test_what_the_library_lacks_gives_way_to_the_best_that_it_has() -> None:
    times = {"circulant": 5.0, "allgather_reduce": 6.0, "star": 9.0, "ring": 7.0, "vendor": 1.0}
    rows = [Winner(64, "circulant", times), Winner(128, "circulant"), Winner(256, "vendor")]
    text, notes = openmpi.export(tuning(allreduce=rows))
    assert "\n0 4 0 0\n65 0 0 0\n" in text and "\n257 " not in text and "\n129 " not in text
    assert notes[:-1] == [
        "allreduce up to 64 B: circulant won, which is not there; ring is the best that is",
        "allreduce up to 128 B: circulant won, and nothing like it is there; the library chooses",
    ]
    assert all(f"# {note}" in text for note in notes)


def test_sizes_that_open_mpi_does_not_tell_apart_get_no_rules() -> None:
    two = [Winner(64, "linear"), Winner(128, "binomial")]
    text, notes = openmpi.export(tuning(gather=two))
    assert "0 # collectives" in text and "gather: no rule" in notes[0]
    text, _ = openmpi.export(tuning(gather=two[:1], scatter=two[1:]))
    assert "\n2 # collectives\n9 # gather" in text and "15 # scatter" in text


RULES: mpich.Tree = {
    "collective=allreduce": {
        "comm_type=intra": {"algorithm=MPIR_Allreduce_intra_smp": {}},
        "comm_type=inter": {"algorithm=MPIR_Allreduce_inter_reduce_exchange_bcast": {}},
    },
    "collective=barrier": {"comm_type=intra": {"algorithm=MPIR_Barrier_intra_smp": {}}},
}


def test_mpich_s_rules_stay_but_for_these_ranks_and_what_is_needed() -> None:
    rows = [Winner(64, "recursive_doubling"), Winner(128, "ring")]
    text, notes = mpich.export(tuning(allreduce=rows), RULES)
    own = RULES["collective=allreduce"]["comm_type=intra"]
    ring = {"algorithm=MPIR_Allreduce_intra_ring": {}}
    assert json.loads(text) == {
        "collective=allreduce": {
            "comm_type=intra": {
                "comm_size<4": own,
                "comm_size<=4": {
                    "avg_msg_size<=64": {"algorithm=MPIR_Allreduce_intra_recursive_doubling": {}},
                    "avg_msg_size=any": {
                        "is_commutative=yes": {
                            "is_op_built_in=yes": {"count<pow2": own, "count=any": ring},
                            "is_op_built_in=no": own,
                        },
                        "is_commutative=no": own,
                    },
                },
                "comm_size=any": own,
            },
            "comm_type=inter": RULES["collective=allreduce"]["comm_type=inter"],
        },
        "collective=barrier": RULES["collective=barrier"],
    }
    assert notes == []


def test_rules_are_found_in_an_image() -> None:
    selection = json.dumps(RULES, separators=(",", ":")).encode()
    other = b'{"collective=bcast":{"composition=MPIDI_Bcast_intra_composition_alpha":{}}}'
    assert mpich._trees(b"\x7fELF\0" + other + b"\0" + selection + b"\0..") == [RULES]


# -- the libraries themselves


def winners_of(names: Sequence[tuple[str, str]]) -> tuple[Tuning, list[list[Any]]]:
    """Each of some algorithms at a size of its own, and the calls that run them."""
    winners: dict[str, list[Winner]] = {}
    for collective, name in names:
        rows = winners.setdefault(collective, [])
        rows.append(Winner(0 if collective == "barrier" else 1024 << len(rows), name))
    calls = [[name, None, row.up_to] for name, rows in winners.items() for row in rows]
    return tuning(**winners), calls


FOLLOWED = [
    ("allgather", "bruck"), ("allgather", "ring"), ("allgather", "neighbor_exchange"),
    ("allreduce", "star"), ("allreduce", "recursive_doubling"), ("allreduce", "ring"),
    ("allreduce", "rabenseifner"), ("alltoall", "pairwise"), ("alltoall", "bruck"),
    ("barrier", "linear"), ("bcast", "linear"), ("bcast", "chain:stripes=4"),
    ("bcast", "binary_tree"), ("bcast", "binomial"), ("gather", "linear"),
    ("reduce", "rabenseifner"), ("reduce", "chain"),
    ("reduce_scatter", "recursive_halving"), ("scan", "recursive_doubling"),
]  # fmt: skip

UNLIKE = {"scan": [2, 2, 2, 2]}
"""Messages that each rank of Open MPI sends, sorted, where its version differs from ours.

In its scan all ranks exchange in each of the two rounds; in ours some have nothing to send.
"""


@pytest.mark.skipif(VENDOR != "Open MPI", reason="Open MPI: tests/run --mpi openmpi --ranks 0")
def test_open_mpi_sends_the_messages_of_the_winners(
    tmp_path: Path, mpiexec: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, calls = winners_of(FOLLOWED)
    rules = tmp_path / "rules"
    rules.write_text(openmpi.export(made)[0])
    for name, value in {
        "coll": "^han",
        "coll_tuned_use_dynamic_rules": "1",
        "coll_tuned_dynamic_rules_filename": str(rules),
        "pml_monitoring_enable": "1",
    }.items():
        monkeypatch.setenv(f"OMPI_MCA_{name}", value)
    ran = mpiexec(RANKS, str(HERE / "messages.py"), json.dumps(calls))
    assert ran.returncode == 0, ran.stderr
    for (collective, name), sent in zip(FOLLOWED, json.loads(ran.stdout), strict=True):
        entry = find(collective, name)
        counted = cost(entry, RANKS, even_blocks(entry, RANKS, 1 << 16)).messages
        stripes = entry.options.get("stripes", 1)
        expected = UNLIKE.get(collective, sorted(stripes * count for count in counted))
        assert sorted(sent) == expected, f"{collective} {name}"


@pytest.mark.skipif(VENDOR != "MPICH", reason="MPICH: tests/run --ranks 0")
def test_mpich_runs_the_winners(
    tmp_path: Path, mpiexec: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each collective in one algorithm up to 1 KiB and in others beyond."""
    trees = ["scatter_allgather", "binomial", "linear", "chain:stripes=2", "binary_tree"]
    made = tuning(
        allreduce=[Winner(1024, "ring"), Winner(4096, "recursive_doubling")],
        bcast=[Winner(1024 * size, name) for size, name in enumerate(trees, 1)],
        reduce_scatter=[Winner(1024, "pairwise"), Winner(4096, "recursive_halving")],
    )
    rules = tmp_path / "rules.json"
    rules.write_text(mpich.export(made)[0])
    monkeypatch.setenv("MPIR_CVAR_DEVICE_COLLECTIVES", "none")
    monkeypatch.setenv("MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE", str(rules))
    early = [
        [False, False, False],  # all exchange their parts
        [True, True, False],  # 0 sends to 1 and 2, 2 to 3
        [True, True, True],
        [True, False, False],  # 0, 1, 2, 3
        [True, True, True],  # 0 sends to 1 and 2, 1 to 3
    ]
    ran = mpiexec(RANKS, str(HERE / "selections.py"), json.dumps(early))
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == {
        "allreduce": [[0.0, 1.0, 2.0], [0.0]],
        "bcast": early,
        "reduce_scatter": [[32, 32, 32], [256, 128]],
    }
