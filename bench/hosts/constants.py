"""Print a tuning file with nothing but the constants of links of one rate, for this host.

python constants.py --link 100mbit
"""

from __future__ import annotations

import shlex
import sys
from argparse import ArgumentParser

from mpicoll.cli.options import parse_rate
from mpicoll.communicator import Tuning
from mpicoll.communicator.tuning import NETWORK, NODE, here
from mpicoll.measure.environment import versions
from mpicoll.measure.limits import link
from mpicoll.measure.tune_text import to_toml

ALPHA = 150e-6
"""Seconds a message between two of the hosts, which share two cores."""


def text(rate: float) -> str:
    """The tuning file, for links of so many bits a second."""
    network = link(rate)._replace(alpha=ALPHA, gamma=NODE.gamma, switch=NETWORK.switch)
    made = {"date": "", "mpicoll": versions()["mpicoll"], "command": shlex.join(sys.argv)}
    return to_toml(Tuning(place=here(), made=made, nodes=(0,), node=NODE, network=network))


if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--link", type=parse_rate, required=True, help="each way, as 100mbit")
    print(text(parser.parse_args().link), end="")
