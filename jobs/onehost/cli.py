"""The command line of ``jobs/cluster``."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace, RawDescriptionHelpFormatter

from . import lifecycle, ranks
from .enter import into
from .errors import ClusterError
from .spec import LOGIN, Spec, load

ABOUT = """\
A cluster on this one machine: hosts with links of known bandwidth, and SLURM.

Each host has a network, a host name and an address of its own; nothing of it can reach, or be
reached from, outside.  Needs root, on Debian or Ubuntu; says which packages are missing.
"""


def main() -> None:
    """Run a command; a problem is one message on standard error and exit status 1."""
    options = parser().parse_args()
    try:
        sys.exit(options.command(options))
    except ClusterError as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit(130)


def parser() -> ArgumentParser:
    """The options of all commands."""
    top = ArgumentParser(
        "jobs/cluster", description=ABOUT, formatter_class=RawDescriptionHelpFormatter
    )
    commands = top.add_subparsers(required=True, metavar="up | status | run | down")
    common = ArgumentParser(add_help=False)
    common.add_argument("--name", default=Spec.name, help="which cluster; there can be several")
    add_up(commands.add_parser("up", parents=[common], help="make a cluster"))
    status = commands.add_parser("status", parents=[common], help="say what is up")
    status.set_defaults(command=print_status)
    add_run(commands.add_parser("run", parents=[common], help="run a command in it"))
    down = commands.add_parser("down", parents=[common], help="end it and all that runs in it")
    down.add_argument("--all", action="store_true", help="end all clusters")
    down.set_defaults(command=take_down)
    return top


def add_up(command: ArgumentParser) -> None:
    """The options of ``up``."""
    command.add_argument("--hosts", type=int, default=Spec.hosts, help="how many (%(default)s)")
    command.add_argument("--link", metavar="RATE", help="of each link, each way: 100mbit")
    command.add_argument(
        "--slow", type=slow, action="append", default=[], metavar="HOST:RATE",
        help="another rate for one host: 3:25mbit; may be given again",
    )  # fmt: skip
    command.add_argument("--no-slurm", action="store_true", help="hosts and links only")
    command.set_defaults(command=bring_up)


def slow(text: str) -> tuple[int, str]:
    """The number and the rate out of ``3:25mbit``."""
    number, _, rate = text.partition(":")
    if not number.isdigit() or not rate:
        raise ArgumentTypeError(f"{text!r}: expected HOST:RATE such as 3:25mbit")
    return int(number), rate


def add_run(command: ArgumentParser) -> None:
    """The options of ``run``."""
    place = command.add_mutually_exclusive_group()
    place.add_argument("--on", default=LOGIN, metavar="HOST", help="h0, h1, ... (%(default)s)")
    place.add_argument(
        "-n", "--ranks", type=int, help="start so many MPI ranks on the hosts, without SLURM"
    )
    command.add_argument(
        "--per-host", metavar="RANKS",
        help="with -n: so many on each host, as 2, or 3,2,2,1; those of a host share its memory",
    )  # fmt: skip
    command.add_argument("words", nargs="+", metavar="COMMAND", help="after --")
    command.set_defaults(command=run)


def bring_up(options: Namespace) -> int:
    """Make a cluster and say how it is used."""
    spec = Spec(options.name, options.hosts, options.link, dict(options.slow), not options.no_slurm)
    start = time.monotonic()
    made = lifecycle.up(spec)
    took = f"up after {time.monotonic() - start:.1f} s" if made else "up already"
    print(f"cluster {spec.name!r} is {took}: {describe(spec)}")
    number = f"-- srun --nodes={spec.hosts}" if spec.slurm else f"-n {spec.hosts} --"
    print(f"try: jobs/cluster run{named(spec.name)} {number} hostname")
    return 0


def named(name: str) -> str:
    """The option that names a cluster, where it is needed."""
    return "" if name == Spec.name else f" --name {name}"


def describe(spec: Spec) -> str:
    """A cluster in words."""
    slow_ones = [f"h{number} {rate}" for number, rate in sorted(spec.slow.items())]
    links = ", ".join([f"links of {spec.link}" if spec.link else "links not shaped", *slow_ones])
    return f"{spec.hosts} hosts, {links}, {'SLURM' if spec.slurm else 'no SLURM'}"


def print_status(options: Namespace) -> int:
    """Say which clusters are up, and the state of SLURM in the one named; 1 where that is down."""
    for name in lifecycle.names():
        spec, state = load(name), "up" if lifecycle.machine(name) else "broken, take it down"
        print(f"cluster {name!r} is {state}{f': {describe(spec)}' if spec else ''}")
    if lifecycle.machine(options.name) is None:
        print(f"cluster {options.name!r} is not up")
        return 1
    spec, _ = lifecycle.require_up(options.name)
    print(f"hosts for mpiexec: {spec.files / 'hosts'}; logs: {spec.files / 'log'}")
    return call(options.name, ["sinfo"], {}) if spec.slurm else 0


def run(options: Namespace) -> int:
    """Run a command in the cluster; its exit status."""
    spec, _ = lifecycle.require_up(options.name)
    if options.per_host and options.ranks is None:
        raise ClusterError(f"--per-host {options.per_host}: expected -n RANKS with it")
    if options.ranks is not None:
        variables = ranks.variables(spec, options.ranks, options.per_host)
        return call(spec.name, ["mpiexec", "-n", str(options.ranks), *options.words], variables)
    if options.on == LOGIN:
        return call(spec.name, options.words, {})
    if options.on not in spec.names:
        raise ClusterError(f"--on {options.on}: expected {LOGIN} or {', '.join(spec.names)}")
    holder = (spec.files / "holders" / options.on).read_text()
    return call(spec.name, [*into(holder), "env", "-C", os.getcwd(), *options.words], {})


def call(name: str, command: list[str], extra: dict[str, str]) -> int:
    """Run a command on the login host; its exit status, as a shell gives it."""
    words, variables = lifecycle.inside(name, command, extra)
    status = subprocess.run(words, env=variables).returncode
    return status if status >= 0 else 128 - status


def take_down(options: Namespace) -> int:
    """End one cluster, or all."""
    for name in lifecycle.names() if options.all else [options.name]:
        start = time.monotonic()
        ended = lifecycle.down(name)
        took = f"down after {time.monotonic() - start:.1f} s"
        print(f"cluster {name!r} is {took}" if ended else f"cluster {name!r} was not up")
    return 0
