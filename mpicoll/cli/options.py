"""What the commands that measure have in common: option types whose errors list the choices."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click

from ..schedule import (
    VENDOR,
    Machine,
    UnknownName,
    Unserved,
    algorithms,
    base_name,
    collectives,
    find,
    require,
)
from . import launch

Command = TypeVar("Command", bound=Callable[..., Any])

_RATE = re.compile(r"(\d+(?:\.\d+)?)([kmg])bit", re.IGNORECASE)
_RATES = {"k": 1e3, "m": 1e6, "g": 1e9}
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_SIZE = re.compile(r"(\d+)([KMG]?)(?:I?B)?", re.IGNORECASE)


def parse_rate(text: str) -> float:
    """Bits a second from 100mbit, 2.5gbit, as ``tc`` writes them; raises ``ValueError``."""
    match = _RATE.fullmatch(text)
    if not match or not float(match[1]):
        raise ValueError(f"rate {text!r}: expected such as 100mbit or 2.5gbit")
    return float(match[1]) * _RATES[match[2].lower()]


def parse_machine(text: str) -> Machine:
    """alpha in s, beta and gamma in s/byte from 5e-6,2e-10,1e-10; raises ``ValueError``.

    The last may be left out and is 0 then.
    """
    try:
        alpha, beta, gamma = map(float, [*text.split(","), "0"][:3])
    except ValueError:
        alpha = beta = gamma = -1.0
    if text.count(",") not in (1, 2) or not all(0 <= one < 1 for one in (alpha, beta, gamma)):
        raise ValueError(
            f"machine {text!r}: expected alpha in s, beta and gamma in s/byte: 5e-6,2e-10,1e-10"
        )
    return Machine(alpha, beta, gamma)


def parse_size(text: str) -> int:
    """A size in bytes from 64, 4K, 16M, 1G (binary units); raises ``ValueError``."""
    match = _SIZE.fullmatch(text.strip())
    if not match:
        raise ValueError(f"size {text!r}: expected a number of bytes such as 64, 4K, 16M or 1G")
    return int(match[1]) * _UNITS[match[2].upper()]


def parse_sizes(text: str) -> tuple[int, ...]:
    """Sizes from a list with commas of sizes and ranges ``8:64M:x4``; raises ``ValueError``.

    A range goes up to its end by the factor after the ``x``, which is 2 where none is given.
    """
    sizes = [size for part in text.split(",") for size in _range(part)]
    return tuple(dict.fromkeys(sizes))


def _range(text: str) -> Iterable[int]:
    low, *rest = text.split(":")
    if not rest:
        return [parse_size(low)]
    factor = rest[1] if len(rest) == 2 else "x2"
    if len(rest) > 2 or not re.fullmatch(r"x0*([2-9]|[1-9]\d+)", factor):
        raise ValueError(f"range {text!r}: expected low:high:xFACTOR, FACTOR at least 2: 8:64M:x4")
    size, high = parse_size(low), parse_size(rest[0])
    if not 0 < size <= high:
        raise ValueError(f"range {text!r}: expected 0 < low <= high, got {size} and {high}")
    found = []
    while size <= high:
        found.append(size)
        size *= int(factor[1:])
    return found


class Parsed(click.ParamType[Any]):
    """An option whose text a function turns into a value; its ``ValueError`` is the message."""

    def __init__(self, name: str, function: Callable[[str], Any]) -> None:
        self.name = name
        self.function = function

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The value of the text."""
        if not isinstance(value, str):
            return value
        try:
            return self.function(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def one_of(kind: str, choices: Callable[[], tuple[str, ...]]) -> Parsed:
    """A name out of those that the function returns, in any case; asked for when it is needed."""

    def name_of(text: str) -> str:
        if text.lower() not in choices():
            raise UnknownName(kind, text, choices())
        return text.lower()

    return Parsed("name", name_of)


def _names(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def _dtypes() -> tuple[str, ...]:
    from ..measure.patterns import DTYPES

    return DTYPES


def _operators() -> tuple[str, ...]:
    from ..measure.patterns import OPERATIONS

    return tuple(OPERATIONS)


def _formats() -> tuple[str, ...]:
    from ..measure.report import formats

    return formats()


SIZES = Parsed("sizes", parse_sizes)
NAMES = Parsed("names", _names)
RATE = Parsed("rate", parse_rate)
MACHINE = Parsed("machine", parse_machine)
COLLECTIVE = one_of("collective", collectives)
DTYPE = one_of("dtype", _dtypes)
OPERATOR = one_of("operator", _operators)
FORMAT = one_of("format", _formats)


def require_algorithms(names: tuple[str, ...], wanted: tuple[str, ...]) -> None:
    """Raise ``click.UsageError`` where a name is no algorithm of any of the collectives.

    So too where its options cannot be.
    """
    from ..measure.cases import AUTO

    known = {name for collective in wanted for name in algorithms(collective)}
    choices = ("all", AUTO, VENDOR, *sorted(known))
    for name in names:
        if name not in choices and base_name(name) not in known:
            raise click.UsageError(str(UnknownName("algorithm", name, choices)))
        for collective in wanted:
            _require_options(collective, name)


def _require_options(collective: str, name: str) -> None:
    if base_name(name) in algorithms(collective):
        try:
            find(collective, name)
        except ValueError as error:
            raise click.UsageError(f"--algorithms {name}: {error}") from error


def require_served(names: tuple[str, ...], wanted: tuple[str, ...], ranks: int) -> None:
    """Raise ``click.UsageError`` where a named algorithm cannot run on so many ranks at all."""
    for collective in wanted:
        for name in (one for one in names if base_name(one) in algorithms(collective)):
            try:
                require(find(collective, name), ranks)
            except Unserved as error:
                raise click.UsageError(str(error)) from error


collective_argument = click.argument("wanted", metavar="[COLLECTIVE]...", nargs=-1, type=COLLECTIVE)
"""The collectives that a command is about; none means all."""

_number_option = click.option(
    "-n",
    "--ranks",
    type=click.IntRange(min=1),
    metavar="RANKS",
    help="Start so many ranks; left out in a job that mpiexec or srun started. "
    "Otherwise as many as there are cores, and at least 2.",
)


def _keep_hosts(context: click.Context, option: click.Parameter, value: str | None) -> None:
    if value is not None:
        os.environ[launch.HOSTS] = value


_hosts_option = click.option(
    "--hosts",
    metavar="FILE",
    envvar=launch.HOSTS,
    expose_value=False,
    callback=_keep_hosts,
    help="Start them on the hosts of FILE: one a line, HOST or HOST:RANKS.",
)


def ranks_option(command: Command) -> Command:
    """Options for the number of ranks and their hosts; a function gets the number as ``ranks``."""
    return _number_option(_hosts_option(command))


algorithms_option = click.option(
    "--algorithms",
    type=NAMES,
    default="all",
    show_default=True,
    metavar="all|NAME,...",
    help="The algorithms to run: names, with options as in ring:stripes=16; auto is the choice.",
)
