"""``mpicoll explain``: the picture of an algorithm."""

from __future__ import annotations

import click

from ..schedule import Algorithm, find
from ..schedule.draw import draw
from .options import COLLECTIVE


@click.command(name="explain")
@click.argument("collective", type=COLLECTIVE)
@click.argument("algorithm")
@click.option("-n", "--ranks", type=click.IntRange(min=1), default=5, show_default=True)
@click.option("--root", type=click.IntRange(min=0), default=0, show_default=True, help="The root.")
@click.option("--blocks", type=click.IntRange(min=1), help="Blocks of a pipelined algorithm.")
def command(collective: str, algorithm: str, ranks: int, root: int, blocks: int | None) -> None:
    """Draw an algorithm: its cost, each message of each round, and what each rank then holds."""
    entry = find(collective, algorithm)
    check_options(entry, ranks, root, blocks)
    click.echo(draw(entry, ranks, root, blocks), nl=False)


def check_options(entry: Algorithm, ranks: int, root: int, blocks: int | None) -> None:
    """Refuse options that this algorithm would take no notice of."""
    name = f"{entry.collective} {entry.name}"
    if root >= ranks:
        raise click.UsageError(f"--root {root} is not among {ranks} ranks: use 0 to {ranks - 1}")
    if root and not entry.contract.rooted:
        raise click.UsageError(f"--root: {entry.collective} has no root; leave it out")
    if blocks is not None and not entry.pipelined:
        raise click.UsageError(f"--blocks: {name} cuts its data by itself; leave it out")
