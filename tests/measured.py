"""A small record, made up by hand, for the tests of reports and plots."""

from __future__ import annotations

from typing import Any


def row(algorithm: str, nbytes: int, median: float, ratio: float | None, **other: Any) -> Any:
    """A row of an allreduce on two ranks; its intervals are 2 % to each side."""
    return {
        "collective": "allreduce",
        "algorithm": algorithm,
        "bytes": nbytes,
        "count": nbytes // 4,
        "dtype": "float32",
        "op": "sum",
        "root": None,
        "in_place": False,
        "memory": "host",
        "samples_us": [median],
        "median_us": median,
        "ci_us": [median * 0.98, median * 1.02],
        "min_us": median * 0.9,
        "max_us": median * 2,
        "algbw_gbs": nbytes / median / 1e3,
        "busbw_gbs": nbytes / median / 1e3,
        "wrong": 0,
        "vs_vendor": ratio,
        "vs_vendor_ci": None if ratio is None else [ratio * 0.97, ratio * 1.03],
        "bytes_sent_max": None if algorithm == "vendor" else nbytes,
        "rounds": None if algorithm == "vendor" else 2,
        **other,
    }


def record(*rows: Any, **environment: Any) -> dict[str, Any]:
    """A record of those rows."""
    return {
        "schema": 1,
        "mpicoll": "0.1.0",
        "started": "2026-01-02T03:04:05+00:00",
        "argv": ["mpicoll", "bench"],
        "mpi": {"library": "MPICH Version: 5.0.2", "vendor": "MPICH 5.0.2", "path": "/x/libmpi.so"},
        "ranks": 2,
        "hosts": ["here"],
        "environment": {
            "cores": {"here": 2},
            "thread_level": "multiple",
            "oversubscribed": False,
            "floor": {"empty_us": 0.1, "round_us": 1.5, "skew_us": 0.5},
            "method": {"seed": 1, "persistent": True, "algorithms": ["all"], "not_run": {}},
            **environment,
        },
        "rows": list(rows),
    }


SMALL = record(
    row("vendor", 8, 4.0, 1.0),
    row("ring", 8, 8.0, 0.5),
    row("recursive_doubling", 8, 3.8, 4 / 3.8),
    row("vendor", 1048576, 1000.0, 1.0),
    row("ring", 1048576, 400.0, 2.5),
    row("recursive_doubling", 1048576, 800.0, 1.25, wrong=3),
    row("vendor", 0, 2.0, 1.0, collective="barrier", dtype=None, op=None, algbw_gbs=None,
        busbw_gbs=None),
    row("tree", 0, 4.0, 0.5, collective="barrier", dtype=None, op=None, algbw_gbs=None,
        busbw_gbs=None),
    method={
        "seed": 1, "persistent": True, "algorithms": ["all"],
        "not_run": {"barrier": {"odd": "it needs luck"}},
    },
)  # fmt: skip
"""Two collectives: an allreduce in two sizes with a wrong result, and a barrier."""
