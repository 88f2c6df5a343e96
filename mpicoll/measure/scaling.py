"""Records of different numbers of ranks as one: how the time grows, beside the law and the limit.

The law of an algorithm is what its busiest rank moves, the limit what any algorithm must move
through the busiest link; both divided by the rate of a link, each way, that carries TCP packets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..schedule import VENDOR, cost, even_blocks, find
from .cases import AUTO
from .limits import HEADERS, least_us, link
from .words import Row, size_words


@dataclass(frozen=True)
class Panel:
    """One cell at several numbers of ranks: rows by algorithm, then by ranks."""

    collective: str
    nbytes: int
    curves: dict[str, dict[int, Row]]

    @property
    def ranks(self) -> list[int]:
        """The numbers of ranks, rising."""
        return sorted({size for curve in self.curves.values() for size in curve})

    @property
    def title(self) -> str:
        """What was measured, in words."""
        return f"{self.collective} of {size_words(self.nbytes)}" if self.nbytes else self.collective


def panels(records: Sequence[dict[str, Any]]) -> list[Panel]:
    """The cells of several records, each of another number of ranks.

    Raises ``ValueError`` where two have the same.
    """
    sizes = [record["ranks"] for record in records]
    if len(set(sizes)) < len(sizes):
        raise ValueError(f"records of {sizes} ranks: expected one of each number")
    found: dict[tuple[str, int], Panel] = {}
    for record in sorted(records, key=lambda record: int(record["ranks"])):
        for row in record["rows"]:
            name, nbytes = row["collective"], row["bytes"]
            panel = found.setdefault((name, nbytes), Panel(name, nbytes, {}))
            if row["median_us"] is not None:
                panel.curves.setdefault(row["algorithm"], {})[record["ranks"]] = row
    return list(found.values())


def limit_us(panel: Panel, size: int, rate: float) -> float | None:
    """The least time on links of so many bits a second, in microseconds; None for a barrier."""
    return least_us(panel.collective, size, panel.nbytes, link(rate)) or None


def law_us(panel: Panel, algorithm: str, size: int, rate: float) -> float | None:
    """An algorithm's own time on such links, in microseconds; None for the vendor's or a choice."""
    if algorithm in (VENDOR, AUTO):
        return None
    entry = find(panel.collective, algorithm)
    counted = cost(entry, size, even_blocks(entry, size, panel.nbytes))
    return counted.volume * link(rate).beta * 1e6


def origin(record: dict[str, Any], rate: float | None) -> str:
    """By what and over what a record was measured, in words; ``rate`` in bits a second."""
    links = f", links of {rate / 1e6:g} Mbit/s" if rate else ""
    return f"{record['mpi']['vendor']}, mpicoll {record['mpicoll']}{links}"


def scaling_lines(records: Sequence[dict[str, Any]], rate: float | None) -> list[str]:
    """The tables: milliseconds by ranks and algorithm; with a rate the limit, and times over it."""
    lines = [f"# medians in ms, {origin(records[0], rate)}"]
    if rate:
        lines.append(
            f"# limit: the bytes that any algorithm moves through the busiest link, each with "
            f"{HEADERS - 1:.1%} of packet headers; (x): time / limit"
        )
    return lines + [line for panel in panels(records) for line in _table(panel, rate)]


def _table(panel: Panel, rate: float | None) -> list[str]:
    columns = "".join(f"{name:>19}" for name in panel.curves)
    head = f"{'ranks':>6}{'limit' if rate else '':>10}{columns}"
    rows = [_line(panel, size, rate) for size in panel.ranks]
    return ["#", f"# {panel.title}", head, *rows]


def _line(panel: Panel, size: int, rate: float | None) -> str:
    limit = limit_us(panel, size, rate) if rate else None
    cells = (_cell(curve.get(size), limit) for curve in panel.curves.values())
    return f"{size:>6}{f'{limit / 1e3:.1f}' if limit else '':>10}{''.join(cells)}"


def _cell(row: Row | None, limit: float | None) -> str:
    if row is None:
        return f"{'-':>19}"
    over = f" ({row['median_us'] / limit:.2f}x)" if limit else ""
    return f"{row['median_us'] / 1e3:.2f}{over}".rjust(19)
