# SPDX-License-Identifier: GPL-2.0-only
"""The command line of a command that measures: each probe's own options are options of it.

They are read from the agent's description, and given to the command as `--option NAME=VALUE`.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from typer.core import TyperCommand

from rtscope.model.description import Option, Probe
from rtscope.model.errors import RtscopeError
from rtscope.target.description import our_description
from rtscope.wording.options import default_of, help_words

_DEFAULT_PROBE: Final = "cyclic"


class ProbeCommand(TyperCommand):
    """A command with a probe as its argument and that probe's options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - typer's own class is private
        """Take the command line apart; cyclictest's -t N is --threads N."""
        words = _with_threads(args)
        self._probe = self._probe_in(words)
        try:
            return super().parse_args(ctx, self._with_probe_options(words))
        except Exception as error:
            if hasattr(error, "possibilities"):  # typer's own class of it is private
                vars(error)["message"] += self._owners(getattr(error, "option_name", ""))
            raise

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """Write the options of the probe below those of the command."""
        super().format_options(ctx, formatter)
        rows = [
            (_names(option), help_words(option, default_of(option)))
            for option in self._probe.options
        ]
        if rows:
            with formatter.section(f"Options of {self._probe.name}"):
                formatter.write_dl(rows)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:  # noqa: ANN401
        """Complete the probe's options and their choices, too."""
        items = super().shell_complete(ctx, incomplete)
        if not incomplete.startswith("-"):
            return items
        item = type(super().shell_complete(ctx, "--")[0])  # typer's own class is private
        probe = our_description().probe(ctx.params.get("probe") or _DEFAULT_PROBE)
        for option in probe.options if probe else []:
            words = [f"--{option.name}"]
            if "=" in incomplete:
                words = [f"--{option.name}={choice}" for choice in option.choices]
            items += [item(word, help=option.help) for word in words if word.startswith(incomplete)]
        return items

    def _probe_in(self, words: list[str]) -> Probe:
        """Return the probe that the command line names."""
        description = our_description()
        takes_value = {name for probe in description.probes for name in _forms(probe)}
        for param in self.params:
            if not getattr(param, "is_flag", False):
                takes_value.update(param.opts)
        skip = False
        for word in words:
            if skip:
                skip = False
            elif word.startswith("-"):
                skip = word in takes_value
            elif probe := description.probe(word):
                return probe
        found = description.probe(_DEFAULT_PROBE)
        if found is None:
            raise RtscopeError(f"this agent has no probe {_DEFAULT_PROBE}")
        return found

    def _with_probe_options(self, words: list[str]) -> list[str]:
        """Replace `--via=read`, `--via read` and `-d 10` by `--option NAME=VALUE`."""
        taken = {form for param in self.params for form in param.opts}
        forms = {form: one for form, one in _forms(self._probe).items() if form not in taken}
        given: list[str] = []
        rest = iter(words)
        for word in rest:
            name, equals, value = word.partition("=")
            if word == "--":
                return [*given, word, *rest]
            if name in forms and name.startswith("--"):
                value = value if equals else _value(name, rest)
                given += ["--option", f"{forms[name].name}={value}"]
            elif word[:2] in forms and not word.startswith("--"):
                value = word[2:] or _value(word, rest)
                given += ["--option", f"{forms[word[:2]].name}={value}"]
            else:
                given.append(word)
        return given

    def _owners(self, name: str) -> str:
        """Say which probes have an option that this one has not."""
        owners = [probe.name for probe in our_description().probes if name in _forms(probe)]
        if owners:
            return f": {', '.join(owners)} have it, {self._probe.name} does not"
        return f"; rtscope {self.name} {self._probe.name} --help lists the options"


def _forms(probe: Probe) -> dict[str, Option]:
    """Return the probe's options by each form that a command line may have."""
    return {form: option for option in probe.options for form in _option_forms(option)}


def _value(form: str, rest: Iterator[str]) -> str:
    """Return the word after an option. Raises RtscopeError where there is none."""
    value = next(rest, "-")
    if value.startswith("-"):
        raise RtscopeError(f"{form} needs a value: write {form}=VALUE")
    return value


def _option_forms(option: Option) -> Iterator[str]:
    yield f"--{option.name}"
    if option.alias:
        yield f"--{option.alias}"
    if option.letter:
        yield f"-{option.letter}"


def _names(option: Option) -> str:
    letter = f"-{option.letter}, " if option.letter else ""
    return f"{letter}--{option.name} {option.metavar}"


def _with_threads(args: list[str]) -> list[str]:
    """Replace -t N and -tN of cyclictest, perhaps behind flags such as -mS, by --threads N."""
    words: list[str] = []
    for at, word in enumerate(args):
        short = re.fullmatch(r"-([mSqf]*)t([0-9]*)", word, re.ASCII)
        follows = at + 1 < len(args) and re.fullmatch("[0-9]+", args[at + 1], re.ASCII)
        if short and (short[2] or follows):
            words += [f"-{short[1]}"] if short[1] else []
            words += ["--threads", short[2]] if short[2] else ["--threads"]
        else:
            words.append(word)
    return words
