"""Where the results of a measurement go: the table, the record and the picture."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from ..measure.report import formats
from .files import require_folder, require_new
from .options import FORMAT

format_option = click.option(
    "--format",
    "report",
    type=FORMAT,
    default="nccl",
    show_default=True,
    help=f"The table: {', '.join(formats())}.",
)

plot_option = click.option(
    "--plot", "plot_file", type=click.Path(path_type=Path), help="Save a picture (PNG)."
)


@dataclass(frozen=True)
class Outputs:
    """Where results go: the format of the table, and the files, if any."""

    report: str
    json_file: Path | None
    plot_file: Path | None
    resume_file: Path | None = None

    @property
    def record_file(self) -> Path | None:
        """Where the record is kept."""
        return self.json_file or self.resume_file

    def require_new(self) -> None:
        """Raise ``click.UsageError`` where a file is there already or a plot cannot be drawn.

        A record to go on with may be there.
        """
        from ..measure.plot import NoMatplotlib, require_matplotlib

        if self.json_file and self.resume_file:
            raise click.UsageError("--json and --resume both name a record; leave one out")
        for path in (self.json_file, self.plot_file):
            require_new(path)
        require_folder(self.resume_file)
        try:
            if self.plot_file is not None:
                require_matplotlib()
        except NoMatplotlib as error:
            raise click.UsageError(str(error)) from error

    def earlier(self) -> dict[str, Any] | None:
        """The record to go on with, if there is one; raises ``click.UsageError``."""
        from ..measure.record import load

        try:
            return load(self.resume_file) if self.resume_file else None
        except ValueError as error:
            raise click.UsageError(f"--resume: {error}") from error

    def draw(self, record: dict[str, Any]) -> None:
        """Draw the plot, if one is wanted."""
        from ..measure.plot import plot

        if self.plot_file is not None:
            plot(record, self.plot_file)

    def deliver(self, record: dict[str, Any]) -> None:
        """Print a complete record, save it where that is wanted, and draw it."""
        from ..measure.record import Record
        from ..measure.report import render

        click.echo("\n".join(render(record, self.report)))
        Record(record, self.json_file).add(record["rows"])
        self.draw(record)
