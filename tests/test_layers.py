"""The layers: each imports only from those above it, and the first needs nothing but Python."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import mpicoll

PACKAGE = Path(mpicoll.__file__).parent

LAYERS = ("schedule", "transport", "communicator", "training", "measure", "cli")
"""From the first to the last; DESIGN's order, with the two faces beside each other."""

MODULES = sorted(PACKAGE.rglob("*.py"))

HEAVY = ("mpi4py", "numpy", "cupy")


def imports(path: Path) -> Iterator[str]:
    """The absolute names of all that a module imports, wherever in it."""
    package = ("mpicoll", *path.relative_to(PACKAGE).parent.parts)
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            parts = [*base, *([node.module] if node.module else [])]
            yield from (".".join([*parts, alias.name]) for alias in node.names)


def layer(name: str) -> str | None:
    """The layer that an absolute name of ours belongs to."""
    top, _, rest = name.partition(".")
    first = rest.partition(".")[0]
    return first if top == "mpicoll" and first in LAYERS else None


def test_names_are_resolved() -> None:
    """What this test stands on: relative imports become absolute."""
    found = set(imports(PACKAGE / "schedule" / "algorithms" / "bcast.py"))
    assert {"mpicoll.schedule.steps.send", "mpicoll.schedule.algorithms.scatter"} <= found
    assert layer("mpicoll.schedule.steps.send") == "schedule"
    assert layer("numpy.linalg") is None


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_walk_one_way(path: Path) -> None:
    mine = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if mine not in LAYERS:
        assert mine in {"__init__", "__main__"}
        return
    allowed = LAYERS[: LAYERS.index(mine) + 1]
    for name in imports(path):
        assert layer(name) in {None, *allowed}, f"{mine} imports {name}"


@pytest.mark.parametrize("path", sorted((PACKAGE / "schedule").rglob("*.py")))
def test_the_first_layer_imports_the_standard_library_only(path: Path) -> None:
    for name in imports(path):
        assert name.partition(".")[0] in {*sys.stdlib_module_names, "mpicoll"}
        assert layer(name) in {None, "schedule"}


def loaded_after(code: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after some code."""
    program = f"import sys\n{code}\nprint(*sys.modules, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    return set(done.stderr.split())


@pytest.mark.parametrize("module", ["mpicoll", "mpicoll.schedule", "mpicoll.cli"])
def test_what_needs_no_mpi_loads_none(module: str) -> None:
    loaded = loaded_after(f"import {module}\nimport mpicoll\nmpicoll.algorithms('bcast')")
    assert "mpicoll.schedule.algorithms.bcast" in loaded
    assert not loaded & {*HEAVY}


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["list"],
        ["list", "--help"],
        ["bench", "--help"],
        ["tune", "--help"],
        ["explain", "allreduce", "ring"],
        ["verify", "bcast", "--ranks", "1:5"],
    ],
    ids=" ".join,
)
def test_commands_that_touch_no_mpi(arguments: list[str]) -> None:
    code = f"from mpicoll.cli import main\nmain({arguments!r}, standalone_mode=False)"
    if arguments[0] == "verify":
        code = code.replace("main([", "try: main([") + "\nexcept SystemExit: pass"
    loaded = loaded_after(code)
    assert "mpicoll.cli.main" in loaded
    assert "mpi4py.MPI" not in loaded
    if arguments[0] != "bench":
        assert not loaded & {*HEAVY}


def test_help_loads_no_command() -> None:
    loaded = loaded_after("from mpicoll.cli import main\nmain(['--help'], standalone_mode=False)")
    assert not {name for name in loaded if name.startswith("mpicoll.cli.")} - {"mpicoll.cli.main"}


def test_import_adds_little() -> None:
    """``import mpicoll`` alone: ours, click-free, and few modules besides."""
    bare = loaded_after("")
    ours = {name for name in loaded_after("import mpicoll") - bare if name.startswith("mpicoll")}
    assert "mpicoll.schedule.catalogue" in ours
    assert not {name for name in ours if layer(name) not in {None, "schedule"}}
    assert not {name for name in ours if ".algorithms." in name}
    assert "click" not in loaded_after("import mpicoll")


def test_the_function_algorithms_stays_what_the_layer_exports() -> None:
    """A folder has the same name; loading its modules must not put it in the function's place."""
    code = "import mpicoll\nmpicoll.algorithms('bcast')\nfrom mpicoll.schedule import algorithms"
    assert "mpicoll.schedule.algorithms.bcast" in loaded_after(f"{code}\nalgorithms('scan')")


@pytest.mark.parametrize("name", mpicoll.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(mpicoll, name).__doc__


POINT_TO_POINT = {"send", "recv", "isend", "irecv", "sendrecv", "mprobe", "improbe"}


@pytest.mark.parametrize("path", sorted((PACKAGE / "communicator").rglob("*.py")))
def test_only_the_transport_layer_sends_and_receives(path: Path) -> None:
    calls = [
        node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)
    ]
    names = {
        call.attr.lower().removesuffix("_init") for call in calls if isinstance(call, ast.Attribute)
    }
    assert not names & POINT_TO_POINT
