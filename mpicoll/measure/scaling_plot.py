"""The picture of time over the number of ranks: a panel a cell, the vendor in black."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .plot import grid, require_matplotlib, save, style
from .scaling import Panel, law_us, limit_us, origin, panels


def plot_scaling(records: Sequence[dict[str, Any]], rate: float | None, path: Path) -> None:
    """Draw a PNG; with a rate also each algorithm's law, dotted, and the limit of the links.

    Raises ``FileExistsError`` where the file is there already.
    """
    pyplot = require_matplotlib()
    cells = panels(records)
    figure, axes = grid(pyplot, len(cells))
    for place, panel in zip(axes.flat, cells, strict=False):
        _draw(place, panel, rate)
    figure.suptitle(origin(records[0], rate))
    save(pyplot, figure, path)


def _draw(place: Any, panel: Panel, rate: float | None) -> None:
    for index, (name, curve) in enumerate(panel.curves.items()):
        look = style(name, index)
        times = [row["median_us"] / 1e3 for row in curve.values()]
        place.plot(list(curve), times, label=name, markersize=4, **look)
        laws = [law_us(panel, name, size, rate) for size in curve] if rate else []
        if laws and None not in laws:
            points = [law / 1e3 for law in laws if law is not None]
            place.plot(list(curve), points, color=look["color"], linestyle=":", linewidth=1)
    limits = [limit_us(panel, size, rate) for size in panel.ranks] if rate else []
    if limits and None not in limits:
        points = [limit / 1e3 for limit in limits if limit is not None]
        place.plot(panel.ranks, points, color="gray", linewidth=5, alpha=0.4, label="link limit")
    place.set(title=panel.title, xlabel="ranks", ylabel="milliseconds", xticks=panel.ranks)
    place.set_ylim(bottom=0)
    place.grid(True, alpha=0.3)
    place.legend(fontsize="x-small", title="dotted: the law" if rate else None)
