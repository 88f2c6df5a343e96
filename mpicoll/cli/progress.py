"""A progress bar on standard error, on a terminal only, that draws between measurements alone."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .launch import TERMINAL


@contextmanager
def progress(total: int, shown: bool = True) -> Iterator[Callable[[str], None]]:
    """A function to call with a description before each of ``total`` parts.

    With '' it takes the bar off the screen, as is needed before results are printed.
    """
    columns = os.environ.get(TERMINAL)
    if not shown or not (columns or sys.stderr.isatty()):
        yield lambda text: None
        return
    from rich.console import Console
    from rich.progress import Progress

    width = int(columns) if columns else None
    console = Console(stderr=True, force_terminal=True, width=width)
    with Progress(console=console, auto_refresh=False, transient=True) as bar:
        task = bar.add_task("", total=total)
        done = iter(range(total + 1))

        def advance(text: str) -> None:
            if not text:
                bar.stop()
                return
            bar.start()
            bar.update(task, description=text, completed=next(done, total), refresh=True)

        yield advance
