"""Records: rows worked out by hand, the file, launches merged, and the picture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from measured import SMALL, record, row

from mpicoll.measure.cases import even_case
from mpicoll.measure.launches import merge
from mpicoll.measure.plot import plot
from mpicoll.measure.record import Record, bus_factor, rows_of
from mpicoll.measure.timing import Timing


def test_bus_factors() -> None:
    assert bus_factor("allreduce", 4) == 1.5
    assert {bus_factor(name, 4) for name in ("scatter", "gather", "alltoall")} == {0.75}
    assert {bus_factor(name, 4) for name in ("reduce_scatter", "allgather")} == {0.75}
    assert {bus_factor(name, 4) for name in ("bcast", "reduce", "scan", "exscan")} == {1.0}
    assert bus_factor("barrier", 4) is None


def test_rows_of_a_cell() -> None:
    case = even_case("allreduce", 1 << 20, 4)
    timings = [Timing("vendor", [300.0, 100.0, 200.0], 0), Timing("ring", [100.0] * 3, 0)]
    vendor, ring = rows_of(case, 4, timings)
    assert (vendor["median_us"], vendor["ci_us"]) == (200.0, [100.0, 300.0])
    assert (vendor["min_us"], vendor["max_us"]) == (100.0, 300.0)
    assert (vendor["vs_vendor"], vendor["rounds"], vendor["bytes_sent_max"]) == (1.0, None, None)
    assert ring["vs_vendor"] == 2.0
    assert ring["vs_vendor_ci"] == pytest.approx([1.0, 3.0])
    assert ring["algbw_gbs"] == pytest.approx(10.48576)  # 2^20 bytes in 100 us
    assert ring["busbw_gbs"] == pytest.approx(15.72864)  # times 2 (4 - 1)/4
    assert (ring["rounds"], ring["bytes_sent_max"]) == (6, 1572864)
    assert (ring["bytes"], ring["count"], ring["dtype"]) == (1048576, 262144, "float32")
    assert (ring["op"], ring["root"], ring["memory"]) == ("sum", None, "host")
    assert ring["samples_us"] == [100.0, 100.0, 100.0]


def test_rows_have_the_keys_of_the_schema() -> None:
    (only,) = rows_of(even_case("reduce", 8, 2, root=1), 2, [Timing("linear", [1.0], 0)])
    assert list(only) == [
        "collective", "algorithm", "bytes", "count", "dtype", "op", "root", "in_place", "memory",
        "samples_us", "median_us", "ci_us", "min_us", "max_us", "algbw_gbs", "busbw_gbs", "wrong",
        "vs_vendor", "vs_vendor_ci", "bytes_sent_max", "rounds", "chosen",
    ]  # fmt: skip
    assert only["root"] == 1 and only["vs_vendor"] is None


def test_what_was_chosen_is_what_is_counted() -> None:
    timings = [Timing("auto", [1.0], 0, "ring:stripes=2"), Timing("vendor", [1.0], 0)]
    auto, vendor = rows_of(even_case("allreduce", 4000, 4), 4, timings)
    assert (auto["algorithm"], auto["chosen"], auto["rounds"]) == ("auto", "ring:stripes=2", 6)
    assert auto["bytes_sent_max"] == 6000 and vendor["chosen"] is None
    (left,) = rows_of(even_case("bcast", 8, 4), 4, [Timing("auto", [1.0], 0, "vendor")])
    assert left["rounds"] is None


def test_what_was_wrong_has_no_time() -> None:
    timings = [Timing("vendor", [1.0], 0), Timing("star", [], 7)]
    star = rows_of(even_case("allreduce", 8, 2), 2, timings)[1]
    assert star["wrong"] == 7
    assert star["median_us"] is star["ci_us"] is star["algbw_gbs"] is star["vs_vendor"] is None


def test_record_is_saved_after_each_cell_and_leaves_no_other_file(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    kept = Record({"schema": 1}, path)
    for number in (1, 2):
        kept.add([{"collective": "bcast", "number": number}])
        saved = json.loads(path.read_text())
        assert [one["number"] for one in saved["rows"]] == list(range(1, number + 1))
    assert saved["schema"] == 1
    assert [one.name for one in tmp_path.iterdir()] == ["run.json"]


def test_record_never_overwrites(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text("precious")
    with pytest.raises(FileExistsError):
        Record({}, path)
    assert path.read_text() == "precious"


def test_a_file_that_a_run_left_empty_may_be_taken(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.touch()
    Record({}, path).add([])
    assert json.loads(path.read_text()) == {"rows": []}


def launch(vendor: float, ring: float) -> dict[str, object]:
    return record(row("vendor", 8, vendor, 1.0), row("ring", 8, ring, vendor / ring))


def test_launches_are_compared_by_their_medians() -> None:
    merged = merge([launch(8.0, 4.0), launch(9.0, 3.0), launch(10.0, 2.0), launch(12.0, 4.0)])
    vendor, ring = merged["rows"]
    assert vendor["launch_medians_us"] == [8.0, 9.0, 10.0, 12.0]
    assert (vendor["median_us"], ring["median_us"]) == (9.5, 3.5)
    assert ring["vs_vendor"] == 3.0  # of 2, 3, 5 and 3
    assert ring["vs_vendor_ci"] == [2.0, 5.0]
    assert ring["p"] == pytest.approx(2 / 70)
    assert ring["samples_us"] == [4.0, 3.0, 2.0, 4.0]
    assert ring["algbw_gbs"] == pytest.approx(8 / 3500)
    assert merged["environment"]["method"]["launches"] == 4


def test_launches_of_different_cells_are_refused() -> None:
    other = record(row("vendor", 16, 8.0, 1.0), row("ring", 16, 4.0, 2.0))
    with pytest.raises(ValueError, match="have the same collectives, sizes and algorithms"):
        merge([launch(8.0, 4.0), other])


def test_plot_is_a_png_and_never_overwrites(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs matplotlib: pip install 'mpicoll[plot]'")
    path = tmp_path / "run.png"
    plot(SMALL, path)
    assert path.read_bytes().startswith(b"\x89PNG")
    with pytest.raises(FileExistsError):
        plot(SMALL, path)


def test_the_picture_has_the_lower_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Any] = []
    monkeypatch.setattr("mpicoll.measure.plot.save", lambda *given: drawn.append(given[1]))
    method = {**SMALL["environment"]["method"], "machine": [1e-6, 2e-9, 1e-10]}
    plot({**SMALL, "environment": {**SMALL["environment"], "method": method}}, tmp_path / "x.png")
    plot(SMALL, tmp_path / "x.png")
    lines = [
        {line.get_label(): line for line in panel.get_lines()}
        for figure in drawn
        for panel in figure.axes
    ]
    assert [("lower bound" in panel) for panel in lines] == [True, False, False, False]
    # two ranks: one round of 1 us and n bytes of 2 ns
    assert list(lines[0]["lower bound"].get_xdata()) == [8, 1048576]
    assert list(lines[0]["lower bound"].get_ydata()) == pytest.approx([1.016, 2098.152])
