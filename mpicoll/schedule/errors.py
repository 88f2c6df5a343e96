"""The errors that the schedule layer raises."""

from __future__ import annotations


class ScheduleError(ValueError):
    """A schedule that is not what its collective promises.

    ``rank``, ``round`` and ``block`` tell where, or are ``None`` where they do not apply.
    """

    def __init__(
        self,
        message: str,
        rank: int | None = None,
        round: int | None = None,
        block: int | None = None,
    ) -> None:
        places = (("rank", rank), ("round", round), ("block", block))
        where = ", ".join(f"{name} {value}" for name, value in places if value is not None)
        super().__init__(f"{where}: {message}" if where else message)
        self.rank, self.round, self.block = rank, round, block


class UnknownName(ValueError):
    """A name that is not in a catalogue; the message lists those that are."""

    def __init__(self, kind: str, name: str, choices: tuple[str, ...]) -> None:
        super().__init__(f"unknown {kind} {name!r}; choose from: {', '.join(choices)}")


class Unserved(ValueError):
    """A case that the named algorithm cannot serve; the message says why, and which can."""


class BadOption(ValueError):
    """An option of an algorithm that it does not have, or a value that cannot be."""
