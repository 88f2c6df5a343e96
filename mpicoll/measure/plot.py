"""The picture of a record: time over size, a panel a collective, the vendor in black."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .words import Row

COLUMNS = 3


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
    columns = min(COLUMNS, len(names))
    lines = -(-len(names) // columns)
    figure, axes = pyplot.subplots(
        lines, columns, figsize=(5.2 * columns, 3.8 * lines), squeeze=False, layout="constrained"
    )
    for panel, name in zip(axes.flat, names, strict=False):
        _panel(panel, name, [row for row in record["rows"] if row["collective"] == name])
    for panel in axes.flat[len(names) :]:
        panel.set_axis_off()
    figure.suptitle(_title(record))
    with path.open("xb") as file:
        figure.savefig(file, format="png", dpi=110)
    pyplot.close(figure)


def _title(record: dict[str, Any]) -> str:
    little = " (more ranks than cores)" if record["environment"]["oversubscribed"] else ""
    return (
        f"{record['ranks']} ranks{little}, {record['mpi']['vendor']}, mpicoll {record['mpicoll']}"
    )


def _panel(panel: Any, name: str, rows: Sequence[Row]) -> None:
    for algorithm in dict.fromkeys(row["algorithm"] for row in rows):
        points = [row for row in rows if row["algorithm"] == algorithm and row["median_us"]]
        _curve(panel, algorithm, points)
    panel.set(title=name, xlabel="bytes", ylabel="microseconds", yscale="log")
    if any(row["bytes"] for row in rows):
        panel.set_xscale("log", base=2)
    panel.grid(True, which="major", alpha=0.3)
    panel.legend(fontsize="x-small")


def _curve(panel: Any, algorithm: str, points: Sequence[Row]) -> None:
    sizes = [row["bytes"] for row in points]
    vendor = algorithm == "vendor"
    style = {"color": "black", "linewidth": 2.2, "zorder": 3} if vendor else {"linewidth": 1.2}
    panel.plot(sizes, [row["median_us"] for row in points], marker=".", label=algorithm, **style)
    lows, highs = ([row["ci_us"][end] for row in points] for end in (0, 1))
    panel.fill_between(sizes, lows, highs, alpha=0.2, color=style.get("color"))
