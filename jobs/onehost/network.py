"""Hosts and links: namespaces, the bridge between them, and the shaping of each link."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from .errors import ClusterError
from .spec import LOGIN_ADDRESS, Spec, address

BRIDGE = "br0"

HOST = """
hostname "$1"
mount --bind "$2/etc-hosts" /etc/hosts
mount -t tmpfs -o mode=1777 shm /dev/shm
ip link set lo up
"""
"""What a shell does in a host's new namespaces; called with its name and the cluster's files."""

HOLD = HOST + "echo ready; exec sleep infinity"


def shell(script: str, *arguments: str) -> list[str]:
    """The command that runs a script, and stops at its first failure."""
    return ["sh", "-euc", script, "sh", *arguments]


def hold(name: str, spec: Spec) -> subprocess.Popen[str]:
    """Start the process that a host's namespaces live as long as; raises ``ClusterError``."""
    command = ["unshare", "--net", "--uts", "--mount", *shell(HOLD, name, str(spec.files))]
    holder = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert holder.stdout
    if holder.stdout.readline() != "ready\n":
        raise ClusterError(f"host {name} did not start; see above")
    return holder


def bridge_lines() -> list[str]:
    """The network of the login host, for ``ip -batch``."""
    return [
        f"link add {BRIDGE} type bridge",
        f"address add {LOGIN_ADDRESS}/24 dev {BRIDGE}",
        f"link set {BRIDGE} up",
    ]


def plug_lines(number: int, holder: int) -> list[str]:
    """A host's link, on the side of the bridge, for ``ip -batch``."""
    return [
        f"link add port{number} type veth peer name eth0 netns {holder}",
        f"link set port{number} master {BRIDGE} up",
    ]


def host_lines(number: int) -> list[str]:
    """A host's link, on its own side, for ``ip -batch``."""
    return [f"address add {address(number)}/24 dev eth0", "link set eth0 up"]


def shape_lines(device: str, rate: str | None) -> list[str]:
    """The shaping of what leaves a device, for ``tc -batch``."""
    limit = "burst 64kb latency 200ms"
    return [f"qdisc add dev {device} root tbf rate {rate} {limit}"] if rate else []


def connect(spec: Spec, holders: Sequence[int]) -> None:
    """Make all links; called in the login host's namespaces.  Raises ``ClusterError``."""
    plugs = [line for item in enumerate(holders) for line in plug_lines(*item)]
    batch(["ip"], bridge_lines() + plugs)
    rates = {number: spec.rate(number) for number in range(spec.hosts)}
    batch(["tc"], [line for n, rate in rates.items() for line in shape_lines(f"port{n}", rate)])
    for number, holder in enumerate(holders):
        inside = ["nsenter", "--target", str(holder), "--net"]
        batch([*inside, "ip"], host_lines(number))
        batch([*inside, "tc"], shape_lines("eth0", rates[number]))


def batch(command: Sequence[str], lines: Sequence[str]) -> None:
    """Give lines to ``ip`` or ``tc``; raises ``ClusterError`` with what it says."""
    told = subprocess.run(
        [*command, "-batch", "-"], input="\n".join(lines), text=True, capture_output=True
    )
    if told.returncode:
        raise ClusterError(f"{' '.join(command)}: {told.stderr.strip()}")
