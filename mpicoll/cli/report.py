"""``mpicoll report``: tables and pictures of records, without running MPI."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .options import RATE
from .outputs import Outputs, format_option, plot_option


# fmt: off
@click.command(name="report")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, dir_okay=False))
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Save them as one.")
@plot_option
@format_option
@click.option("--link", "rate", type=RATE, metavar="RATE",
              help="Of the links, each way, as 100mbit: compare with what they allow.")
def command(
    files: tuple[Path, ...], json_file: Path | None, plot_file: Path | None, report: str,
    rate: float | None,
) -> None:
    """Print the records that ``mpicoll bench`` saved in FILES.

    Several of the same number of ranks are launches of one run, whose medians are compared; of
    different numbers, the table shows how the time grows with the ranks.
    """
    from ..measure.launches import merge

    outputs = Outputs(report, json_file, plot_file)
    outputs.require_new()
    records = [_load(path) for path in files]
    try:
        if len({record["ranks"] for record in records}) > 1 or rate:
            _scaling(records, rate, outputs)
        else:
            outputs.deliver(merge(records) if len(records) > 1 else records[0])
    except ValueError as error:
        raise click.UsageError(str(error)) from error
# fmt: on


def _load(path: Path) -> dict[str, Any]:
    from ..measure.record import load

    try:
        record = load(path)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    if record is None:
        raise click.UsageError(f"{path}: no record is there yet; see: mpicoll bench --json")
    return record


def _scaling(records: list[dict[str, Any]], rate: float | None, outputs: Outputs) -> None:
    from ..measure.scaling import scaling_lines
    from ..measure.scaling_plot import plot_scaling

    if outputs.json_file is not None:
        raise click.UsageError("--json: records of different ranks are not one; leave it out")
    click.echo("\n".join(scaling_lines(records, rate)))
    if outputs.plot_file is not None:
        plot_scaling(records, rate, outputs.plot_file)
