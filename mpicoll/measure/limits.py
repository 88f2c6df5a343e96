"""The least time of a case, from the constants of a machine or the rate of its links."""

from __future__ import annotations

from ..schedule import Machine
from ..schedule.bounds import bound

HEADERS = 1514 / 1448
"""Bytes on an Ethernet link for each byte of data in TCP: packets of 1500, and their frame."""


def link(rate: float) -> Machine:
    """Links of so many bits a second, each way, that carry TCP packets and take no other time."""
    return Machine(alpha=0.0, beta=HEADERS * 8 / rate, gamma=0.0)


def least_us(collective: str, size: int, nbytes: float, machine: Machine) -> float:
    """The microseconds that no algorithm of a collective of n = ``nbytes`` beats there."""
    return bound(collective, size, nbytes).time(machine) * 1e6
