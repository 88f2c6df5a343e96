"""The command ``mpicoll``: finds its subcommands, and turns errors into messages."""

from __future__ import annotations

import ast
import importlib
from functools import cache
from pathlib import Path
from typing import Any

import click

from .. import __version__
from ..schedule import BadOption, UnknownName, Unserved

FOLDER = Path(__file__).parent


@cache
def commands() -> dict[str, str]:
    """Each subcommand, with the first line of its help.

    They are the modules beside this one that define ``command``; none is imported for this, so
    that the help comes at once and touches no MPI.
    """
    sources = {path.stem: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.py"))}
    found = {name: _help_of_command(ast.parse(source)) for name, source in sources.items()}
    return {name: text for name, text in found.items() if text is not None}


def _help_of_command(module: ast.Module) -> str | None:
    for node in module.body:
        if isinstance(node, ast.FunctionDef) and node.name == "command":
            text = ast.get_docstring(node) or ast.get_docstring(module) or ""
            return text.partition("\n")[0]
    return None


class Commands(click.Group):
    """A group whose commands are modules, each imported only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands."""
        return list(commands())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The ``command`` of the module of that name."""
        if cmd_name not in commands():
            return None
        command = importlib.import_module(f".{cmd_name}", __package__).command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click's, but an unknown command gets the list of those that are."""
        if args and args[0] not in commands() and not args[0].startswith("-"):
            raise click.UsageError(str(UnknownName("command", args[0], tuple(commands()))), ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands with the first line of each module."""
        with formatter.section("Commands"):
            formatter.write_dl([*commands().items()])

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a name or a case that cannot be served is an error of usage."""
        try:
            return super().invoke(ctx)
        except (BadOption, UnknownName, Unserved) as error:
            raise click.UsageError(str(error)) from None


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="mpicoll")
def main() -> None:
    """MPI collectives built from sends and receives, beside the vendor's own."""
