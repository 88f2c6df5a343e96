"""What all formats share: sizes in words, the verdict beside the vendor, the header."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from ..schedule import VENDOR
from .cases import AUTO

Row: TypeAlias = dict[str, Any]
"""One algorithm at one cell; times in microseconds, bandwidths in GB/s of 1e9 bytes."""

LEVEL = 0.05
"""The chance below which a difference over several launches counts."""

FASTER, SLOWER, SAME = "+", "-", "="
"""The verdicts: significantly faster than the vendor, slower, or neither."""


def size_words(nbytes: int) -> str:
    """A size with its binary unit: 8 B, 64 KiB, 1.5 MiB."""
    value, unit = float(nbytes), "B"
    for larger in ("KiB", "MiB", "GiB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{value:.4g} {unit}"


def algorithm_words(row: Row) -> str:
    """The name of a row's contender, and what the communicator chose where it had the choice."""
    chosen = row.get("chosen")
    return f"{AUTO} ({chosen})" if row["algorithm"] == AUTO and chosen else str(row["algorithm"])


def noise_us(record: dict[str, Any]) -> float:
    """The difference below which two times of a record are the same, in microseconds."""
    return floor_noise_us(record["environment"]["floor"])


def floor_noise_us(floor: Mapping[str, Any]) -> float:
    """The same by a floor's fields (see ``floor.Floor``)."""
    return max(float(floor["empty_us"]), float(floor["skew_us"] or 0.0))


def verdict(row: Row, noise: float) -> str:
    """How a row stands beside the vendor; '' where there is no vendor.

    To differ, its interval must leave out 1, and its distance from the vendor's median must exceed
    the noise in microseconds.
    """
    if row["vs_vendor"] is None or row["algorithm"] == VENDOR:
        return ""
    low, high = row["vs_vendor_ci"]
    if row.get("p", 0.0) > LEVEL:
        return SAME
    apart = abs(row["vs_vendor"] - 1) * row["median_us"]
    if low <= 1 <= high or apart <= noise:
        return SAME
    return FASTER if low > 1 else SLOWER


def title_lines(record: dict[str, Any]) -> list[str]:
    """What was measured where, in comment lines."""
    environment, floor = record["environment"], record["environment"]["floor"]
    cores = ", ".join(f"{count} cores of {host}" for host, count in environment["cores"].items())
    mpi = record["mpi"]
    lines = [
        f"# mpicoll {record['mpicoll']}, {record['started']}",
        f"# {mpi['vendor']}, {mpi['path'] or 'file not seen'}",
        f"# {record['ranks']} ranks on {cores}, thread level {environment['thread_level']}",
        f"# floor: {floor['round_us']:.2f} us a round of empty messages, "
        f"{_skew(floor)}{floor['empty_us']:.2f} us a call that does nothing",
    ]
    if environment["oversubscribed"]:
        lines.append(
            "# WARNING: more ranks than cores: ranks wait for each other's time slices; "
            "these times mean little and are no bandwidth"
        )
    return lines


def _skew(floor: dict[str, Any]) -> str:
    return "" if floor["skew_us"] is None else f"{floor['skew_us']:.2f} us between ranks, "


def call_words(record: dict[str, Any]) -> str:
    """How our algorithms were called, and the vendor's; over how many launches."""
    ours = (
        "a plan bound once" if record["environment"]["method"]["persistent"] else "a blocking call"
    )
    launches = record["environment"]["method"].get("launches", 1)
    over = f"; medians over {launches} launches" if launches > 1 else ""
    return f"# ours: {ours}; the vendor's: a blocking call on the same buffers, taking turns{over}"


def not_run(record: dict[str, Any], collective: str) -> list[str]:
    """What did not run, and why, in comment lines."""
    reasons = record["environment"]["method"]["not_run"].get(collective, {})
    return [f"# not run: {name} ({reason})" for name, reason in reasons.items()]
