# SPDX-License-Identifier: GPL-2.0-only
"""The pages of the commands: each is what `--help` prints, for another printer."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import typer.main

from rtscope.cli.main import app
from rtscope.cli.probe_command import DEFAULT_PROBE, PROBES, ProbeCommand
from rtscope.manual.roff import Page, bold, escaped, form, italic, marked

_UNFILLED: Final = "\b"
"""first line of a paragraph that typer does not fill"""

Words = tuple[str, ...]


class _Formatter:
    """Writes a page in place of the terminal, with the methods of click's HelpFormatter."""

    def __init__(self, page: Page) -> None:
        """Write to this page."""
        self._page = page

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """Write the synopsis."""
        self._page.heading("SYNOPSIS")
        self._page.text(f"{bold(prog)} {italic(args)}")
        self._page.heading("DESCRIPTION")

    def write_paragraph(self) -> None:
        """Begin a paragraph; write_text does."""

    def write_text(self, text: str) -> None:
        """Write the help of a command."""
        for paragraph in text.strip("\n").split("\n\n"):
            lines = paragraph.splitlines()
            if lines and lines[0].strip() == _UNFILLED:
                self._page.example(lines[1:])
            elif lines:
                self._page.paragraph()
                self._page.text(marked(" ".join(line.strip() for line in lines)))

    def write_dl(self, rows: Sequence[tuple[str, str]]) -> None:
        """Write the options, the arguments or the commands."""
        for name, text in rows:
            self._page.item(form(name) if "-" in name[:2] else bold(name), marked(text))

    @contextmanager
    def section(self, name: str) -> Iterator[None]:
        """Write a heading."""
        self._page.heading(escaped(name if name.startswith("Options of") else name.upper()))
        yield

    @contextmanager
    def indentation(self) -> Iterator[None]:
        """Indent; the headings do."""
        yield


class _ProbeFormatter(_Formatter):
    """Writes only the options of a probe."""

    def __init__(self, page: Page, probe: str) -> None:
        """Write to this page."""
        super().__init__(page)
        self._probe = probe
        self._wanted = False

    def write_dl(self, rows: Sequence[tuple[str, str]]) -> None:
        """Write the rows of the probe's section."""
        if self._wanted:
            super().write_dl(rows)

    @contextmanager
    def section(self, name: str) -> Iterator[None]:
        """Write the heading of the probe's section."""
        self._wanted = name.partition(",")[0] == f"Options of {self._probe}"
        if self._wanted:
            self._page.heading(escaped(name))
        yield
        self._wanted = False


def commands() -> Iterator[tuple[Words, Any]]:
    """Yield each command with the words that call it, and its context."""
    yield from _below((), _context((), [], None))


def summary_of(context: Any) -> str:  # noqa: ANN401 - typer's own class is private
    """Return the first sentence of a command's help, for the line NAME."""
    text: str = " ".join(context.command.help.split("\n\n")[0].split())
    sentence = text.partition(". ")[0].removesuffix(".").replace("`", "")
    return sentence[0].lower() + sentence[1:]


def write_command(page: Page, context: Any) -> None:  # noqa: ANN401 - typer's own class is private
    """Write what --help prints; for a command that measures, the options of each probe."""
    context.command.format_help(context, _Formatter(page))
    if not isinstance(context.command, ProbeCommand):
        return
    for probe in PROBES:
        if probe != DEFAULT_PROBE:
            own = _context((context.info_name,), [probe], context.parent)
            own.command.format_options(own, _ProbeFormatter(page, probe))


def _below(words: Words, context: Any) -> Iterator[tuple[Words, Any]]:  # noqa: ANN401
    yield words, context
    for name in getattr(context.command, "commands", ()):
        yield from _below((*words, name), _context((name,), [], context))


def _context(words: Words, args: list[str], parent: Any) -> Any:  # noqa: ANN401
    """Return the context of a command as its command line would make it."""
    if parent is None:
        command = typer.main.get_command(app)
        return command.make_context("rtscope", args, resilient_parsing=True)
    command = parent.command.resolve_command(parent, list(words))[1]
    return command.make_context(words[0], args, parent=parent, resilient_parsing=True)
