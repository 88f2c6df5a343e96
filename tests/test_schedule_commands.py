"""The commands that need no MPI: list, explain, verify."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from mpicoll import __version__
from mpicoll.cli import main
from mpicoll.cli.verify import parse_ranks
from mpicoll.schedule import ScheduleError, catalogue, collectives

GOLDEN = Path(__file__).parent / "golden"


def mpicoll(*arguments: str) -> Result:
    """Run a command; an exception other than an exit is the test's failure."""
    result = CliRunner().invoke(main, arguments)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_help_lists_every_command_with_its_first_line() -> None:
    result = mpicoll("--help")
    assert result.exit_code == 0
    assert "explain  Draw an algorithm: its cost," in result.stdout
    assert "verify   Prove the ALGORITHM of the COLLECTIVE right, or all:" in result.stdout
    assert "options" not in result.stdout.partition("Commands:")[2].split()


def test_version() -> None:
    assert mpicoll("--version").stdout == f"mpicoll, version {__version__}\n"


def test_list_has_every_algorithm() -> None:
    lines = mpicoll("list").stdout.splitlines()
    named = {(*line.split()[:2],) for line in lines}
    everything = {(c, name) for c, entries in catalogue().items() for name in entries}
    assert everything <= named


@pytest.mark.parametrize(
    ("arguments", "file"), [((), "list-gather.txt"), (("--markdown",), "list-gather.md")]
)
def test_list_of_one_collective(arguments: tuple[str, ...], file: str) -> None:
    assert mpicoll("list", "gather", *arguments).stdout == (GOLDEN / file).read_text()


def test_explain() -> None:
    golden = (GOLDEN / "explain-bcast-binomial-6-root-2.txt").read_text()
    assert mpicoll("explain", "bcast", "binomial", "-n", "6", "--root", "2").stdout == golden


def test_explain_in_blocks() -> None:
    golden = (GOLDEN / "explain-bcast-circulant-5-blocks-2.txt").read_text()
    assert mpicoll("explain", "bcast", "circulant:blocks=2", "-n", "5").stdout == golden


def test_verify_says_what_it_proved() -> None:
    """Ranks 1 to 9 with all roots up to 8, then 0, 1, 4 and 8: 36 + 4 cases; 1, 2, 4, 8 serve."""
    assert mpicoll("verify", "bcast", "chain", "--ranks", "1:9").stdout.splitlines()[0] == (
        "bcast chain                          40 cases proved"
    )
    result = mpicoll("verify", "allgather", "recursive_doubling", "--ranks", "1:9")
    assert result.exit_code == 0
    first, last = result.stdout.splitlines()
    assert first == (
        "allgather recursive_doubling          4 cases proved, 5 numbers of ranks refused"
    )
    assert last.startswith("1 algorithm, 4 cases proved, 0 failed, ")


def test_verify_says_what_an_operator_needs() -> None:
    lines = mpicoll("verify", "allreduce", "--ranks", "2:6").stdout.splitlines()
    remarks = {line.split()[1]: line.partition("proved")[2] for line in lines[:-1]}
    assert remarks["ring"] == ", the operator must commute"
    assert remarks["star"] == ", in rank order"
    assert remarks["rabenseifner"] == ", in rank order, with the bits of the canonical tree"


def test_verify_at_one_root() -> None:
    first = mpicoll("verify", "gather", "linear", "--ranks", "3,5", "--root", "4").stdout
    assert first.startswith("gather linear                          1 case proved\n")


def test_a_failed_proof_is_named_and_exits_non_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(entry: object, size: int, root: int) -> None:
        raise ScheduleError("missing contribution of rank 0 at the end", 1, 2, 3)

    monkeypatch.setattr("mpicoll.cli.verify.verify", broken)
    result = mpicoll("verify", "bcast", "--ranks", "4")
    assert result.exit_code == 1
    assert result.stdout.startswith(
        "bcast linear                        FAILED at 4 ranks, root 0: "
        "rank 1, round 2, block 3: missing contribution of rank 0 at the end\n"
    )
    assert f"{len(catalogue()['bcast'])} failed" in result.stdout


BAD = [
    (("lst",), "unknown command 'lst'; choose from: "),
    (("list", "allredcue"), "unknown collective 'allredcue'; choose from: barrier, bcast"),
    (("explain", "bcast", "ring"), "unknown algorithm of bcast 'ring'; choose from: linear"),
    (("verify", "gather", "ring"), "unknown algorithm of gather 'ring'; choose from: linear"),
    (("explain", "bcast", "chain", "-n", "17"), "draw at most 16"),
    (("explain", "bcast", "chain", "-n", "0"), "0 is not in the range x>=1"),
    (("explain", "bcast", "chain", "-n", "4", "--root", "4"), "use 0 to 3"),
    (("explain", "scan", "linear", "--root", "1"), "scan has no root; leave it out"),
    (("explain", "bcast", "chain:blocks=2"), "no option 'blocks'; it has stripes"),
    (("explain", "allgather", "neighbor_exchange", "-n", "3"), "an even number of ranks, not 3"),
    (("verify", "--ranks", "4:2"), "ranks '4:2': expected 1 <= first <= last"),
    (("verify", "--ranks", "many"), "ranks 'many': expected numbers as in 8, 1:64 or 2,4,16:20"),
    (("verify", "scan", "--root", "1"), "scan has no root; leave it out"),
    (("verify", "bcast", "--ranks", "4", "--root", "4"), "--root 4 is not among 4 ranks"),
    (("verify", "allgather", "recursive_doubling", "--ranks", "3"), "nothing was proved"),
]


@pytest.mark.parametrize(("arguments", "text"), BAD)
def test_bad_input_is_refused_with_the_choices(arguments: tuple[str, ...], text: str) -> None:
    result = mpicoll(*arguments)
    assert result.exit_code == 2
    assert text in result.stderr
    assert "Traceback" not in result.stderr


def test_unknown_collectives_list_all() -> None:
    assert ", ".join(collectives()) in mpicoll("verify", "gathre").stderr


def test_parse_ranks() -> None:
    assert parse_ranks("8") == [8]
    assert parse_ranks("1:4") == [1, 2, 3, 4]
    assert parse_ranks("16:18,2,4,17") == [2, 4, 16, 17, 18]
