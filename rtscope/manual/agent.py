# SPDX-License-Identifier: GPL-2.0-only
"""The page of rtscope-agent, from the description that the agent prints of itself."""

from collections.abc import Iterable

from rtscope.manual.roff import Page, bold, escaped, form, italic, marked
from rtscope.model.description import Description, Option, Probe
from rtscope.wording.options import default_of, help_words, load_help

SUMMARY = "measure on the system under test, and read and change its settings"


def write_agent(page: Page, description: Description) -> None:
    """Write the commands and all of their options."""
    page.heading("SYNOPSIS")
    page.text(f"{bold('rtscope-agent')} {italic('PROBE')} [{italic('OPTIONS')}]")
    page.line_break()
    page.text(f"{bold('rtscope-agent')} {italic('COMMAND')} [{italic('OPTIONS')}]")
    page.line_break()
    page.text(f"{bold('rtscope-agent --tether=')}{italic('TIME')} {italic('COMMAND')} ...")
    page.heading("DESCRIPTION")
    page.text(
        marked(
            "`rtscope-agent` is one static executable that needs nothing but a Linux kernel. "
            "`rtscope` starts it on this computer, on a board over ssh, or as the first process "
            "of a VM. `rtscope agent` runs the one that is installed with rtscope."
        )
    )
    page.paragraph()
    page.text(
        marked(
            "With `--tether=TIME` a command ends as by Ctrl-C when standard input ends or stays "
            "silent for TIME."
        )
    )
    page.heading("PROBES")
    for probe in description.probes:
        page.item(bold(probe.name), escaped(probe.summary))
    page.heading("COMMANDS")
    for command in description.commands:
        page.item(bold(command.name), escaped(command.summary))
    page.heading("OPTIONS OF EVERY PROBE")
    page.text("A probe may have other defaults; its section names them.")
    _write_options(page, description.session, None)
    for probe in description.probes:
        page.heading(f"Options of {probe.name}")
        _write_probe(page, probe, description.session)
    for command in description.commands:
        if command.options:
            page.heading(f"Options of {command.name}")
            _write_options(page, command.options, None)
    page.heading("LOADS")
    page.text(marked("Loads of `--load`; `+` joins several, such as `files:50+network:1`."))
    for load in description.loads:
        written, words = load_help(load)
        page.item(bold(written), escaped(words))
    page.heading("EXIT STATUS")
    for status, meaning in (
        (0, "The run ended as requested, or a signal interrupted it."),
        (
            1,
            "Measuring was not possible, a measuring thread failed, or the result was not written.",
        ),
        (2, "Bad options: nothing was measured."),
        (3, "The watchdog aborted the run. The result so far was written."),
    ):
        page.item(bold(str(status)), escaped(meaning))


def _write_probe(page: Page, probe: Probe, session: Iterable[Option]) -> None:
    for paragraph in probe.help.strip().split("\n\n"):
        page.paragraph()
        page.text(escaped(" ".join(paragraph.split())))
    _write_options(page, probe.options, probe)
    others = [
        f"`--{option.name} {own}`"
        for option in session
        if (own := default_of(option, probe)) and own != default_of(option)
    ]
    absent = [f"`--{name}`" for name, preset in probe.presets.items() if preset is None]
    for words, options in (("Other defaults: ", others), ("Not for this probe: ", absent)):
        if options:
            page.paragraph()
            page.text(marked(f"{words}{', '.join(options)}."))


def _write_options(page: Page, options: Iterable[Option], probe: Probe | None) -> None:
    for option in options:
        if not option.internal:
            words = help_words(option, default_of(option, probe))
            page.item(_form(option), marked(words))


def _form(option: Option) -> str:
    value = f" {option.metavar}" if option.takes_value else ""
    names = [f"-{option.letter}"] if option.letter else []
    names.append(f"--{option.name}")
    if option.alias:
        names.append(f"--{option.alias}")
    return form(", ".join(names) + value)
