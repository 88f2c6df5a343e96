"""The record of a run as JSON: every sample, saved after each cell; never over another file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timezone
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..schedule import VENDOR, cost, find
from .cases import Case
from .environment import describe, library, versions
from .files import write_anew
from .statistics import Summary, ratio, summarize
from .words import Row

if TYPE_CHECKING:
    from mpi4py import MPI

    from .floor import Floor
    from .timing import Timing

SCHEMA = 1

COMPARED = {
    "ranks": ("ranks",),
    "MPI library": ("mpi", "vendor"),
    "seed": ("environment", "method", "seed"),
    "persistent": ("environment", "method", "persistent"),
    "algorithms": ("environment", "method", "algorithms"),
}
"""What must be the same in a record and in the run that goes on with it."""


def bus_factor(collective: str, size: int) -> float | None:
    """What turns bytes over time into the traffic of the busiest link; None for a barrier.

    Scan and exscan: 1, our own definition.  Source: nccl-tests, doc/PERFORMANCE.md.
    """
    once = (size - 1) / size
    split = dict.fromkeys(("scatter", "gather", "allgather", "reduce_scatter", "alltoall"), once)
    whole = dict.fromkeys(("bcast", "reduce", "scan", "exscan"), 1.0)
    return {"allreduce": 2 * once, **split, **whole}.get(collective)


def rows_of(
    case: Case, size: int, timings: Sequence[Timing], nodes: Sequence[int] | None = None
) -> list[Row]:
    """The rows of one cell, each beside the vendor's where that was measured.

    ``nodes``: the node of each rank.  ``chosen`` is the algorithm that ran, with its options.
    """
    summaries = {one.name: summarize(one.samples_us) for one in timings if one.samples_us}
    vendor = summaries.get(VENDOR)
    return [
        {"collective": case.collective, "algorithm": one.name}
        | _cell(case)
        | {"samples_us": [round(sample, 3) for sample in one.samples_us]}
        | _times(case, size, summaries.get(one.name))
        | {"wrong": one.wrong}
        | _beside(vendor, summaries.get(one.name))
        | _counted(case, size, one.chosen or one.name, nodes)
        | {"chosen": one.chosen}
        for one in timings
    ]


def _cell(case: Case) -> Row:
    """What tells the cells of a record apart."""
    return {
        "collective": case.collective,
        "bytes": case.nbytes,
        "count": case.count,
        "dtype": None if case.contract.idempotent else case.dtype,
        "op": case.op if case.operates else None,
        "root": case.root if case.contract.rooted else None,
        "in_place": case.in_place,
        "memory": "host",
    }


def _times(case: Case, size: int, summary: Summary | None) -> Row:
    return {
        "median_us": summary and summary.median,
        "ci_us": summary and [summary.low, summary.high],
        "min_us": summary and summary.least,
        "max_us": summary and summary.most,
        **bandwidths(case.collective, case.nbytes, size, summary.median if summary else None),
    }


def bandwidths(collective: str, nbytes: int, size: int, median_us: float | None) -> Row:
    """Algorithm and bus bandwidth in GB/s; None for a barrier, or where nothing was measured."""
    factor = bus_factor(collective, size)
    if factor is None or median_us is None:
        return {"algbw_gbs": None, "busbw_gbs": None}
    speed = nbytes / median_us / 1e3
    return {"algbw_gbs": speed, "busbw_gbs": speed * factor}


def _beside(vendor: Summary | None, own: Summary | None) -> Row:
    if vendor is None or own is None:
        return {"vs_vendor": None, "vs_vendor_ci": None}
    times = ratio(vendor, own)
    return {"vs_vendor": times.value, "vs_vendor_ci": [times.low, times.high]}


def _counted(case: Case, size: int, name: str, nodes: Sequence[int] | None) -> Row:
    if name == VENDOR:
        return {"bytes_sent_max": None, "rounds": None}
    entry = find(case.collective, name)
    sizes = case.block_bytes(entry, size, nodes)
    counted = cost(entry, size, sizes, case.root, nodes)
    return {"bytes_sent_max": max(counted.bytes_sent), "rounds": counted.rounds}


class Record:
    """A run's record, and the file that it is kept in, if any.

    With an earlier record it goes on with that one, in the same file.  Without, it raises
    ``FileExistsError`` at once where the file is there already.
    """

    def __init__(
        self,
        header: dict[str, Any],
        path: Path | None = None,
        earlier: dict[str, Any] | None = None,
    ) -> None:
        self.data: dict[str, Any] = {**header, "rows": []} if earlier is None else earlier
        self.path = path
        if path is not None and earlier is None:
            _claim(path)

    @property
    def rows(self) -> list[Row]:
        """All rows so far."""
        return list(self.data["rows"])

    def has(self, case: Case) -> bool:
        """Whether it has the rows of a cell."""
        cell = _cell(case)
        return any(cell.items() <= row.items() for row in self.data["rows"])

    def add(self, rows: Sequence[Row]) -> None:
        """Add a cell's rows and save."""
        self.data["rows"].extend(rows)
        self.save()

    def save(self) -> None:
        """Write the file anew, at no moment leaving half of one."""
        if self.path is not None:
            write_anew(self.path, json.dumps(self.data) + "\n")


def header(
    vendor: MPI.Intracomm, argv: Sequence[str], method: dict[str, object], floor: Floor
) -> dict[str, Any]:
    """All of a record but its rows; collective.

    ``method`` says how was measured: the seed and whatever else a repetition of the run needs.
    """
    environment = describe(vendor)
    return {
        "schema": SCHEMA,
        "mpicoll": versions()["mpicoll"],
        "started": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "argv": list(argv),
        "mpi": library(),
        "ranks": vendor.Get_size(),
        "hosts": environment.pop("hosts"),
        "environment": environment | {"method": method, "floor": vars(floor)},
    }


def _claim(path: Path) -> None:
    """Take a file that is not there, or that a run left empty; raises ``FileExistsError``."""
    if not path.exists() or path.stat().st_size:
        path.open("x").close()


def load(path: Path) -> dict[str, Any] | None:
    """A record from its file; None where there is none, or it ended before its first cell.

    Raises ``ValueError`` where the file holds something else.
    """
    text = path.read_text() if path.exists() else ""
    if not text:
        return None
    try:
        record: dict[str, Any] = json.loads(text)
        if record["schema"] == SCHEMA:
            return record
    except (ValueError, KeyError, TypeError):
        pass
    raise ValueError(f"{path} is not a record of mpicoll bench with schema {SCHEMA}")


def resumed(earlier: dict[str, Any], header: dict[str, Any]) -> dict[str, Any]:
    """An earlier record that the run of a header goes on with; it says so.

    Raises ``ValueError`` where their cells could not stand beside each other.
    """
    for name, path in COMPARED.items():
        was, now = (reduce(getitem, path, record) for record in (earlier, header))
        if was != now:
            raise ValueError(f"the record there has {name} {was}, this run {now}")
    again = {"started": header["started"], "hosts": header["hosts"]}
    return {**earlier, "resumed": [*earlier.get("resumed", []), again]}
