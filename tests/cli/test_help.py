# SPDX-License-Identifier: GPL-2.0-only
"""The help of every command."""

from collections.abc import Iterator
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

from rtscope.cli.main import app

ROOT = typer.main.get_group(app)


def commands(
    command: Any = ROOT,  # noqa: ANN401 - typer's own class is private
    words: tuple[str, ...] = (),
) -> Iterator[Any]:
    """Each command with the words that call it."""
    yield pytest.param(words, command, id=" ".join(words) or "rtscope")
    context = typer.Context(ROOT)
    for name in getattr(command, "commands", ()):
        yield from commands(command.resolve_command(context, [name])[1], (*words, name))


def without_blanks(text: str) -> str:
    return "".join(text.split())


@pytest.mark.parametrize(("words", "command"), list(commands()))
def test_help_shows_every_text_of_the_source(words: tuple[str, ...], command: Any) -> None:  # noqa: ANN401
    """Defaults and metavars too: they stand in brackets, which are markup elsewhere."""
    if words == ("agent",):
        return  # its help is the agent's
    shown = without_blanks(CliRunner().invoke(app, [*words, "--help"]).output)
    assert without_blanks(command.help.replace("\b", "")) in shown
    for parameter in command.params:
        assert without_blanks(parameter.help or "") in shown
        assert without_blanks(parameter.metavar or "") in shown
