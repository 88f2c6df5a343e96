"""What was measured on a machine, as the choice of an algorithm uses it: constants and winners.

``mpicoll tune`` writes it to a file, ``Tuning.load`` reads it.  A file of another machine, MPI
library or schema is not used; a warning says what differs.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from platform import machine, node
from typing import TypeAlias

from mpi4py import MPI

from ..schedule import Machine
from .nodes import numbered

SCHEMA = 1
"""The number of the file's format that this version reads and writes."""

VARIABLE = "MPICOLL_TUNING"
"""The environment variable that names the tuning file of communicators that are given none."""

NODE = Machine()
"""A link inside a node, where none was measured."""

NETWORK = Machine(alpha=2e-5, beta=8e-10, gamma=NODE.gamma, switch=1.3)
"""A link between nodes, where none was measured: Ethernet with 10 Gbit/s, in round numbers."""

BEYOND = 2
"""How far above the largest size that was measured its winner holds, as a factor."""

Nodes: TypeAlias = tuple[int, ...]
"""The node of each rank."""


class TuningError(ValueError):
    """A tuning file that is broken; the message names the file, the line and the field."""


class TuningWarning(UserWarning):
    """A tuning file that was made elsewhere, so that it is not used."""


@dataclass(frozen=True)
class Place:
    """Where a tuning was measured: host, model of its processor, cores, MPI library, version."""

    host: str
    cpu: str
    cores: int
    mpi: str
    version: str

    def differences(self, here: Place) -> list[str]:
        """What is not the same here, with both values; numbers in host names do not count."""
        pairs = (
            (one.name, getattr(self, one.name), getattr(here, one.name)) for one in fields(self)
        )
        return [
            f"{name} {there!r} there, {now!r} here"
            for name, there, now in pairs
            if _kind(there) != _kind(now) or (name != "host" and there != now)
        ]


def _kind(value: object) -> str:
    """A text without its numbers: the nodes of a cluster have one name but for those."""
    return re.sub(r"\d+", "#", str(value))


def here() -> Place:
    """Where this process runs."""
    library, version = MPI.get_vendor()
    return Place(node(), _cpu(), os.cpu_count() or 1, library, ".".join(map(str, version)))


def _cpu(path: str = "/proc/cpuinfo") -> str:
    """The model of the processor, as Linux tells it; elsewhere its architecture."""
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path(path).read_text(), re.MULTILINE)
    except OSError:
        found = None
    return found[1].strip() if found else machine()


@dataclass(frozen=True)
class Winner:
    """The algorithm to use up to a size in bytes, and the medians of all that were measured.

    ``use``: a name with its options, or ``vendor``; ``times``: microseconds by name.
    """

    up_to: int
    use: str
    times: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Tuning:
    """Constants of two link classes, and the winners of each collective, by size.

    ``node``, ``network``: a link inside a node and one between nodes, None where not measured.
    ``nodes``: the node map of the ranks that were measured; winners hold for no other.  ``path``:
    the file that it came from; ``made``: what the file says of the run, by field; ``refused``: why
    it is not used, if it is not.  Without arguments it is no tuning at all.
    """

    path: str | None = None
    schema: int = SCHEMA
    place: Place | None = None
    made: Mapping[str, str] = field(default_factory=dict)
    nodes: Nodes = ()
    node: Machine | None = None
    network: Machine | None = None
    winners: Mapping[str, tuple[Winner, ...]] = field(default_factory=dict)
    refused: str = ""

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Tuning:
        """Read a tuning file, wherever it was made; raises ``TuningError`` where it is broken."""
        from .tuning_file import parse

        name = os.fspath(path)
        try:
            text = Path(name).read_text(encoding="utf-8")
        except (OSError, UnicodeError) as error:
            raise TuningError(
                f"{name}: cannot be read: {error}; make one with: mpicoll tune"
            ) from error
        return parse(text, name)

    def differences(self, here: Place) -> list[str]:
        """What keeps it from being used here, in words, with both values."""
        if self.schema != SCHEMA:
            return [f"schema {self.schema} there, {SCHEMA} here"]
        return self.place.differences(here) if self.place else []

    def used(self, here: Place) -> Tuning:
        """Itself, or where it was made elsewhere one without content that says why."""
        found = "; ".join(self.differences(here))
        return Tuning(path=self.path, refused=found) if found else self

    def winner(self, collective: str, nbytes: int, nodes: Sequence[int]) -> Winner | None:
        """What won at a size on such ranks; None where nothing near it was measured.

        A row holds up to its size, the last one up to ``BEYOND`` times its size.
        """
        rows = self.winners.get(collective, ())
        if not rows or numbered(nodes) != self.nodes or nbytes > BEYOND * rows[-1].up_to:
            return None
        return next((row for row in rows if nbytes <= row.up_to), rows[-1])

    def links(self, nodes: Sequence[int]) -> tuple[Machine, Machine | None]:
        """The link that collectives of these ranks use, and that inside a node beside it.

        On one node there is but the one; measured where there is a measurement, else assumed.
        """
        inside = self.node or NODE
        return (self.network or NETWORK, inside) if len(set(nodes)) > 1 else (inside, None)


def agree(comm: MPI.Intracomm, given: str | os.PathLike[str] | Tuning | None) -> Tuning:
    """The tuning that all ranks use: rank 0's, whose file it alone reads; collective.

    Raises ``TuningError`` on all ranks where the file is broken; warns on rank 0 where it was made
    elsewhere.
    """
    found: Tuning | Exception | None = None
    if comm.rank == 0:
        try:
            found = _found(given)
        except Exception as error:  # what stops rank 0 stops all, even a warning that is an error
            found = error
    found = comm.bcast(found)
    if isinstance(found, Exception):
        raise found
    assert found is not None
    return found


def _found(given: str | os.PathLike[str] | Tuning | None) -> Tuning:
    source = os.environ.get(VARIABLE) or None if given is None else given
    if source is None:
        return Tuning()
    tuning = source if isinstance(source, Tuning) else Tuning.load(source)
    result = tuning.used(here())
    if result.refused and not tuning.refused:
        message = f"{tuning.path or 'tuning'} is not used: {result.refused}"
        cure = "the model chooses in its place; make another with: mpicoll tune"
        warnings.warn(f"{message}; {cure}", TuningWarning, stacklevel=4)
    return replace(result, refused=result.refused or tuning.refused)
