"""Print a tuning file with nothing but the constants of links of one rate, for this host.

python constants.py --link 100mbit
"""

from __future__ import annotations

import json
from argparse import ArgumentParser

from mpicoll.cli.options import parse_rate
from mpicoll.communicator.tuning import NETWORK, NODE, here
from mpicoll.measure.limits import link
from mpicoll.schedule import Machine

ALPHA = 150e-6
"""Seconds a message between two of the hosts, which share two cores."""

TEXT = """\
schema = 1

[run]
date = ""
mpicoll = ""
command = "bench/hosts/run"
nodes = [0]

[machine]
host = {host}
cpu = {cpu}
cores = {cores}

[mpi]
library = {mpi}
version = {version}

[node]
{node}

[network]
{network}
"""


def constants(machine: Machine) -> str:
    """The lines of a link."""
    return "\n".join(f"{name} = {value!r}" for name, value in machine._asdict().items())


def text(rate: float) -> str:
    """The tuning file, for links of so many bits a second."""
    network = link(rate)._replace(alpha=ALPHA, gamma=NODE.gamma, switch=NETWORK.switch)
    place = {name: json.dumps(value) for name, value in vars(here()).items()}
    return TEXT.format(**place, node=constants(NODE), network=constants(network))


if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--link", type=parse_rate, required=True, help="each way, as 100mbit")
    print(text(parser.parse_args().link), end="")
