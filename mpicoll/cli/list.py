"""``mpicoll list``: the catalogue of algorithms."""

from __future__ import annotations

from collections.abc import Sequence

import click

from ..schedule import Algorithm, algorithms, collectives, find
from ..schedule.forms import Form
from .options import COLLECTIVE

HEADING = ("collective", "algorithm", "rounds", "bytes / n", "restrictions", "what it does")

LEGEND = """\
p ranks, q = ceil(log2 p), P = 2^Q is the largest power of two <= p, b blocks, N nodes of up to m
ranks, ceil_log(p, k) = ceil(log_k p), k = 2 if not given; a condition counts 1 where it holds.
Bytes are what the busiest rank moves; n is the whole vector, the sum of all ranks' blocks, or all
that one rank sends (alltoall). Options stand after a name, as in ring:stripes=16; ``mpicoll
explain`` names those that an algorithm has."""

LONGEST = 30
"""The longest closed form that a column shows, in characters."""


@click.command(name="list")
@click.argument("collective", required=False, type=COLLECTIVE)
@click.option("--markdown", is_flag=True, help="Print a table for a Markdown file.")
def command(collective: str | None, markdown: bool) -> None:
    """Print every algorithm of the COLLECTIVE, or of all: its cost and its restrictions."""
    chosen = collectives() if collective is None else (collective,)
    rows = [row(find(name, one)) for name in chosen for one in algorithms(name)]
    table = as_markdown(rows) if markdown else as_text(rows)
    click.echo(f"{table}\n\n{LEGEND}")


def row(entry: Algorithm) -> tuple[str, ...]:
    """The cells of one algorithm, in the order of ``HEADING``."""
    return (
        entry.collective,
        entry.name,
        brief(entry, "rounds"),
        brief(entry, "volume"),
        "; ".join(entry.restrictions),
        entry.summary,
    )


def brief(entry: Algorithm, which: str) -> str:
    """A closed form without its signs of multiplication, or its values where it is long."""
    form: Form = getattr(entry.forms, which)
    text = form.text.replace(" * ", " ")
    if len(text) <= LONGEST:
        return text
    five, eight = (getattr(entry.count(size), which) for size in (5, 8))
    return f"{five:.3g} at p = 5, {eight:.3g} at 8"


def as_text(rows: Sequence[tuple[str, ...]]) -> str:
    """The table in columns, as wide as they need."""
    table = [HEADING, *rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = ("  ".join(map(str.ljust, cells, widths)) for cells in table)
    return "\n".join(line.rstrip() for line in lines)


def as_markdown(rows: Sequence[tuple[str, ...]]) -> str:
    """The table as Markdown; the names of algorithms are set as code."""
    lines = [HEADING, ("---",) * len(HEADING)]
    lines += [(cells[0], f"`{cells[1]}`", *cells[2:]) for cells in rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
