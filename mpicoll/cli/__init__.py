"""The command line: one module a command, found by listing the folder."""

from .main import main

__all__ = ["main"]
