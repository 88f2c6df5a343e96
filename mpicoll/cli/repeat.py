"""``mpicoll bench --launches K``: the same run in several jobs, as one record."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from . import launch
from .progress import progress

if TYPE_CHECKING:
    from ..measure.settings import Settings
    from ..schedule import Machine


def run_launches(settings: Settings, ranks: int, launches: int) -> dict[str, Any]:
    """Start so many jobs one after the other, each with a seed of its own, and merge them.

    Raises ``click.ClickException`` where a job ends without a complete record.
    """
    from ..measure.launches import merge

    with TemporaryDirectory() as folder, progress(launches) as announce:
        records = []
        for number in range(launches):
            announce(f"launch {number + 1} of {launches}")
            path = Path(folder) / f"{number}.json"
            records.append(_launch(replace(settings, seed=settings.seed + number), ranks, path))
    return merge(records)


def _launch(settings: Settings, ranks: int, path: Path) -> dict[str, Any]:
    status = launch.start(ranks, arguments(settings, ranks, path), quiet=True)
    if status not in (0, 1) or not path.exists() or not path.stat().st_size:
        raise click.ClickException(f"a launch ended with status {status} and no record; see above")
    record: dict[str, Any] = json.loads(path.read_text())
    return record


def arguments(settings: Settings, ranks: int, path: Path) -> Sequence[str]:
    """The command line of one launch."""
    options = {
        "-n": ranks,
        "--sizes": ",".join(map(str, settings.sizes)),
        "--algorithms": ",".join(settings.algorithms),
        "--dtype": settings.dtype,
        "--op": settings.op,
        "--root": settings.root,
        "--call": "persistent" if settings.persistent else "blocking",
        "--repetitions": settings.fewest,
        "--seed": settings.seed,
        "--json": path,
        **({} if settings.seconds is None else {"--time": settings.seconds}),
        **({} if settings.machine is None else {"--machine": _constants(settings.machine)}),
    }
    flat = [str(word) for pair in options.items() for word in pair]
    return ["bench", *settings.collectives, *flat, *(["--in-place"] * settings.in_place)]


def _constants(machine: Machine) -> str:
    """As ``--machine`` reads them."""
    return f"{machine.alpha},{machine.beta},{machine.gamma}"
