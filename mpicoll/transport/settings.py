"""Settings that are one of a few words, given as an argument or by an environment variable."""

from __future__ import annotations

import os
from collections.abc import Sequence


def setting(argument: str, given: str | None, words: Sequence[str]) -> str | None:
    """The word given, or that of the variable ``MPICOLL_`` and the argument's name, or None.

    Any other word is a ``ValueError`` that lists them.
    """
    variable = f"MPICOLL_{argument.upper()}"
    word, name = (given, argument) if given is not None else (os.environ.get(variable), variable)
    if word is None or word in words:
        return word
    raise ValueError(f"{name} is {word!r}, expected one of {', '.join(map(repr, words))}")
