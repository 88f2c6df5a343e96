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
def command(collective: str, algorithm: str, ranks: int, root: int) -> None:
    """Draw an algorithm: its cost, each message of each round, and what each rank then holds.

    Options of an algorithm stand after its name: circulant:blocks=8, bruck:radix=4.
    """
    entry = find(collective, algorithm)
    check_root(entry, ranks, root)
    click.echo(draw(entry, ranks, root), nl=False)


def check_root(entry: Algorithm, ranks: int, root: int) -> None:
    """Refuse a root that is not there or that this algorithm would take no notice of."""
    if root >= ranks:
        raise click.UsageError(f"--root {root} is not among {ranks} ranks: use 0 to {ranks - 1}")
    if root and not entry.contract.rooted:
        raise click.UsageError(f"--root: {entry.collective} has no root; leave it out")
