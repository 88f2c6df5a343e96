"""The tuning file: TOML, read with an error that names the line."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from ..schedule import CONTRACTS, VENDOR, Machine, UnknownName, find
from .nodes import numbered
from .tuning import SCHEMA, Nodes, Place, Tuning, TuningError, Winner

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Value = TypeVar("Value")

MADE = ("date", "mpicoll", "command")
"""What the file says of the run that made it, beside the node map."""


def parse(text: str, path: str) -> Tuning:
    """A tuning from the text of its file; ``TuningError`` where that is broken.

    Of a file with another schema nothing else is read.
    """
    try:
        top = Table(tomllib.loads(text), path, text)
    except tomllib.TOMLDecodeError as error:
        raise TuningError(f"{path}: no TOML: {error}") from error
    schema = top.take("schema", _whole)
    if schema != SCHEMA:
        return Tuning(path=path, schema=schema)
    run, machine, mpi = top.table("run"), top.table("machine"), top.table("mpi")
    place = Place(
        machine.take("host", _text), machine.take("cpu", _text), machine.take("cores", _positive),
        mpi.take("library", _text), mpi.take("version", _text),
    )  # fmt: skip
    made = {name: run.take(name, _text) for name in MADE}
    nodes, node, network = run.take("nodes", _nodes), _link(top, "node"), _link(top, "network")
    winners = _winners(top)
    for table in (top, run, machine, mpi):
        table.require_no_more()
    return Tuning(path, schema, place, made, nodes, node, network, winners)


@dataclass
class Table:
    """A table of the file: takes its values out, one after the other.

    ``name``: its heading; ``index``: which of those with that heading it is.
    """

    values: dict[str, Any]
    path: str
    text: str
    name: str = ""
    index: int = 0

    def take(self, key: str, convert: Callable[[Any], Value]) -> Value:
        """A value, converted; ``TuningError`` where it is missing or the conversion refuses it."""
        if key not in self.values:
            raise self.error(key, "it is missing")
        value = self.values.pop(key)
        try:
            return convert(value)
        except ValueError as error:
            raise self.error(key, str(error)) from error

    def table(self, name: str) -> Table:
        """A table in this one, which must be there."""
        return Table(self.take(name, _table), self.path, self.text, name)

    def tables(self, name: str) -> list[Table]:
        """The tables of an array of them; none where it is missing."""
        rows = self.take(name, _tables) if name in self.values else []
        return [Table(row, self.path, self.text, name, index) for index, row in enumerate(rows)]

    def require_no_more(self) -> None:
        """Raise ``TuningError`` where a value has not been taken."""
        for key in self.values:
            raise self.error(key, "no such field is known; leave it out")

    def error(self, key: str, problem: str) -> TuningError:
        """The error of a field, with its file and line."""
        line = line_of(self.text, self.name, self.index, key)
        field = f"{self.name}.{key}" if self.name else key
        return TuningError(f"{self.path}, line {line}: {field}: {problem}")


def line_of(text: str, table: str, index: int, key: str) -> int:
    """The line of a key or table, from 1; that of its table's heading, or 1, where it has none."""
    current, seen, found = "", -1 if table else 0, 1
    for number, line in enumerate(text.splitlines(), 1):
        heading = re.match(r"\s*\[+\s*([\w.-]+)\s*\]+", line)
        if heading and not table and heading[1] == key:
            return number
        if heading:
            current = heading[1]
            seen += current == table
            found = number if (current, seen) == (table, index) else found
        elif (current, seen) == (table, index) and re.match(rf'\s*"?{re.escape(key)}"?\s*=', line):
            return number
    return found


def _link(top: Table, name: str) -> Machine | None:
    if name not in top.values:
        return None
    table = top.table(name)
    link = Machine(*(table.take(one, _constant) for one in Machine._fields))
    table.require_no_more()
    return link


def _winners(top: Table) -> dict[str, tuple[Winner, ...]]:
    found: dict[str, tuple[Winner, ...]] = {}
    for row in top.tables("winners"):
        collective = row.take("collective", _collective)
        earlier = found.get(collective, ())
        found[collective] = (*earlier, _winner(row, collective, earlier))
        row.require_no_more()
    return found


def _winner(row: Table, collective: str, earlier: tuple[Winner, ...]) -> Winner:
    return Winner(
        row.take("up_to", partial(_above, earlier[-1].up_to if earlier else -1)),
        row.take("use", partial(_algorithm, collective)),
        row.take("times_us", partial(_times, collective)) if "times_us" in row.values else {},
    )


def _expected(what: str, value: Any) -> ValueError:
    return ValueError(f"expected {what}, got {value!r}")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise _expected("a text", value)
    return value


def _whole(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise _expected("a whole number of 0 or more", value)
    return value


def _positive(value: Any) -> int:
    if type(value) is not int or value < 1:
        raise _expected("a whole number of 1 or more", value)
    return value


def _constant(value: Any) -> float:
    if type(value) not in (int, float) or not 0 <= value < math.inf:
        raise _expected("a number of 0 or more", value)
    return float(value)


def _nodes(value: Any) -> Nodes:
    if not isinstance(value, list) or not value or any(type(one) is not int for one in value):
        raise _expected("the number of each rank's node, as in [0, 0, 1, 1]", value)
    return numbered(value)


def _table(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _expected("a table", value)
    return value


def _tables(value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, list):
        raise _expected("tables, each under [[winners]]", value)
    return [_table(one) for one in value]


def _collective(value: Any) -> str:
    if _text(value) not in CONTRACTS:
        raise UnknownName("collective", value, tuple(CONTRACTS))
    return str(value)


def _above(last: int, value: Any) -> int:
    if _whole(value) <= last:
        raise ValueError(f"expected more than the {last} bytes of the row before it, got {value}")
    return int(value)


def _algorithm(collective: str, value: Any) -> str:
    return VENDOR if value == VENDOR else find(collective, _text(value)).name


def _times(collective: str, value: Any) -> dict[str, float]:
    return {_algorithm(collective, name): _constant(time) for name, time in _table(value).items()}
