# SPDX-License-Identifier: GPL-2.0-only
"""Groups of commands that import a command when it is called."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

import typer
import typer.main
from typer.core import TyperCommand, TyperGroup

_LONGEST_SUMMARY: Final = 1000


class CommandGroup(TyperGroup):
    """A group whose help prints each command's summary in full."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - typer's own classes are private
        """Write the list of commands."""
        rows = [
            (name, command.get_short_help_str(_LONGEST_SUMMARY))
            for name, command in self.commands.items()
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


@dataclass(frozen=True)
class Source:
    """The place of a command, and the first sentence of its help.

    The docstring of the command continues that sentence: the list of commands needs the sentence
    before the command's module is imported, and the command's help begins with it.
    """

    place: str
    """MODULE:NAME of a function or a typer.Typer"""
    summary: str
    kind: str = "typer.core:TyperCommand"
    """MODULE:NAME of the function's class"""


class LazyGroup(CommandGroup):
    """A group that imports a command's module when the command is called or its help is asked."""

    sources: Mapping[str, Source] = {}

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401 - typer's own
        """List the commands by their summaries."""
        super().__init__(**settings)
        for name, source in self.sources.items():
            self.add_command(TyperCommand(name, short_help=source.summary))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401 - typer's own
        """Import the command that the arguments call."""
        name, command, rest = super().resolve_command(ctx, args)
        if name is not None:
            command = self.imported(name)
        return name, command, rest

    def imported(self, name: str) -> Any:  # noqa: ANN401 - typer's own class is private
        """Return a command of the table."""
        source = self.sources[name]
        found = _named(source.place)
        holder = typer.Typer(rich_markup_mode=self.rich_markup_mode)
        if isinstance(found, typer.Typer):
            holder.add_typer(found, name=name)
        else:
            holder.command(name, cls=_named(source.kind))(found)
        command = typer.main.get_group(holder).commands[name]
        command.help = f"{source.summary}\n\n{command.help or ''}"
        return command


def _named(place: str) -> Any:  # noqa: ANN401 - a function, a class or an application
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
