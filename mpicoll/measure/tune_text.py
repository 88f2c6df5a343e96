"""A tuning as the text of its file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from ..communicator.tuning import SCHEMA, Place, Tuning, Winner
from ..schedule import Machine

NOTE = f"""\
# Written by mpicoll tune, read by mpicoll.Communicator(tuning=...) and MPICOLL_TUNING.
# alpha in s, beta and gamma in s/byte, switch a factor of beta; rows go up to a size in bytes.
schema = {SCHEMA}
"""


def to_toml(tuning: Tuning) -> str:
    """The text of a tuning's file; ``Tuning.load`` makes the same tuning of it."""
    assert tuning.place is not None
    parts = [NOTE, _run(tuning), _machine(tuning.place), _mpi(tuning.place)]
    links = {"node": tuning.node, "network": tuning.network}
    parts += [_link(name, link) for name, link in links.items() if link is not None]
    parts += [_row(name, row) for name, rows in tuning.winners.items() for row in rows]
    return "\n".join(parts)


def _run(tuning: Tuning) -> str:
    return _table("[run]", {**tuning.made, "nodes": list(tuning.nodes)})


def _machine(place: Place) -> str:
    return _table("[machine]", {"host": place.host, "cpu": place.cpu, "cores": place.cores})


def _mpi(place: Place) -> str:
    return _table("[mpi]", {"library": place.mpi, "version": place.version})


def _link(name: str, link: Machine) -> str:
    return _table(f"[{name}]", {key: float(f"{one:.4g}") for key, one in link._asdict().items()})


def _row(collective: str, row: Winner) -> str:
    return _table(
        "[[winners]]",
        {"collective": collective, "up_to": row.up_to, "use": row.use}
        | ({"times_us": row.times} if row.times else {}),
    )


def _table(heading: str, values: Mapping[str, object]) -> str:
    return (
        "\n".join([heading, *(f"{key} = {_value(value)}" for key, value in values.items())]) + "\n"
    )


def _value(value: object) -> str:
    """A text, number, list or mapping of them as TOML; JSON's texts and numbers are TOML's."""
    if isinstance(value, Mapping):
        return _inline(f"{_value(key)} = {_value(one)}" for key, one in value.items())
    return json.dumps(value, ensure_ascii=False)


def _inline(items: Iterable[str]) -> str:
    return f"{{ {', '.join(items)} }}"
