"""The picture of a record: time over size, a panel a collective, the vendor in black.

Where the record has the constants of a machine, a grey line is the least time that they allow.
"""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from ..schedule import VENDOR, Machine
from .cases import AUTO
from .limits import least_us
from .words import Row, size_words

COLUMNS = 3
MOST_TICKS = 5
PALETTE = 128


class NoMatplotlib(RuntimeError):
    """Matplotlib is not installed; the message says how to get it."""


def require_matplotlib() -> Any:
    """The module ``matplotlib.pyplot``, drawing to files; raises ``NoMatplotlib``."""
    try:
        import matplotlib
    except ImportError as error:
        raise NoMatplotlib(
            "a plot needs matplotlib, which is not installed; "
            "install it with: pip install 'mpicoll[plot]'"
        ) from error
    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def plot(record: dict[str, Any], path: Path) -> None:
    """Draw the record as a PNG; raises ``FileExistsError`` where the file is there already."""
    pyplot = require_matplotlib()
    names = list(dict.fromkeys(row["collective"] for row in record["rows"]))
    figure, axes = grid(pyplot, len(names))
    for panel, name in zip(axes.flat, names, strict=False):
        _panel(panel, name, [row for row in record["rows"] if row["collective"] == name])
        _bound(panel, name, record)
    figure.suptitle(_title(record))
    save(pyplot, figure, path)


def grid(pyplot: Any, count: int) -> tuple[Any, Any]:
    """A figure, and a table of so many panels to draw in; those beyond stay blank."""
    columns = min(COLUMNS, count)
    lines = -(-count // columns)
    figure, axes = pyplot.subplots(
        lines, columns, figsize=(5.2 * columns, 3.8 * lines), squeeze=False, layout="constrained"
    )
    for panel in axes.flat[count:]:
        panel.set_axis_off()
    return figure, axes


def save(pyplot: Any, figure: Any, path: Path) -> None:
    """Write a figure as a PNG and be done with it; raises ``FileExistsError``.

    Few colours make the file a third as large; Pillow comes with Matplotlib.
    """
    from PIL import Image

    drawn = BytesIO()
    with path.open("xb") as file:
        figure.savefig(drawn, format="png", dpi=90)
        Image.open(drawn).convert("RGB").quantize(PALETTE).save(file, "PNG", optimize=True)
    pyplot.close(figure)


def _title(record: dict[str, Any]) -> str:
    little = " (more ranks than cores)" if record["environment"]["oversubscribed"] else ""
    return (
        f"{record['ranks']} ranks{little}, {record['mpi']['vendor']}, mpicoll {record['mpicoll']}"
    )


def _panel(panel: Any, name: str, rows: Sequence[Row]) -> None:
    panel.set_title(name)
    measured = [row for row in rows if row["median_us"] is not None]
    if any(row["bytes"] for row in measured):
        _curves(panel, measured)
    else:
        _bars(panel, measured)
    panel.grid(True, which="major", alpha=0.3)


def _curves(panel: Any, rows: Sequence[Row]) -> None:
    """Time over size, with intervals."""
    for index, algorithm in enumerate(dict.fromkeys(row["algorithm"] for row in rows)):
        points = [row for row in rows if row["algorithm"] == algorithm]
        sizes, times = ([row[key] for row in points] for key in ("bytes", "median_us"))
        look = style(algorithm, index)
        panel.plot(sizes, times, label=algorithm, markersize=4, **look)
        lows, highs = ([row["ci_us"][end] for row in points] for end in (0, 1))
        panel.fill_between(sizes, lows, highs, alpha=0.15, color=look["color"], linewidth=0)
    sizes = sorted({row["bytes"] for row in rows})
    panel.set(xscale="log", yscale="log", ylabel="microseconds")
    panel.set_xticks(sizes[:: -(-len(sizes) // MOST_TICKS)], minor=False)
    panel.minorticks_off()
    panel.xaxis.set_major_formatter(lambda value, _: size_words(round(value)))
    panel.tick_params(axis="x", labelsize="small")
    panel.legend(fontsize="x-small")


def _bound(panel: Any, name: str, record: dict[str, Any]) -> None:
    """The least time, where the record has constants and the collective moves anything."""
    constants = record["environment"]["method"].get("machine")
    sizes = sorted({row["bytes"] for row in record["rows"] if row["collective"] == name})
    if not constants or not sizes[-1]:
        return
    least = [least_us(name, record["ranks"], nbytes, Machine(*constants)) for nbytes in sizes]
    panel.plot(sizes, least, color="gray", linewidth=5, alpha=0.4, label="lower bound", zorder=1)
    panel.legend(fontsize="x-small")


def _bars(panel: Any, rows: Sequence[Row]) -> None:
    """Time alone, for what has no size."""
    names = [row["algorithm"] for row in rows]
    colors = [style(name, index)["color"] for index, name in enumerate(names)]
    panel.barh(names, [row["median_us"] for row in rows], color=colors)
    panel.invert_yaxis()
    panel.set_xlabel("microseconds")


def style(algorithm: str, index: int) -> dict[str, Any]:
    """The vendor thick and black, the choice thick and red, ours each with a colour and a mark."""
    if algorithm == VENDOR:
        return {"color": "black", "linewidth": 2.2, "marker": ".", "zorder": 3}
    if algorithm == AUTO:
        return {"color": "red", "linewidth": 2.2, "linestyle": "--", "marker": ".", "zorder": 3}
    return {"color": f"C{(index - 1) % 10}", "linewidth": 1.2, "marker": "osv^D<>P*X"[index % 10]}
