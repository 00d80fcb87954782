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
from rtscope.wording.options import default_of, help_words, load_help, metrics_words

DEFAULT_PROBE: Final = "cyclic"


PROBES: Final = [probe.name for probe in our_description().probes if not probe.takes_command]


def complete_probe(ctx: Any, incomplete: str) -> list[tuple[str, str]]:  # noqa: ANN401
    """Complete a probe's name; after an option of the probe without its value, that value."""
    if pending := getattr(ctx.command, "pending", None):
        return [(word, "") for word in _values(pending, incomplete)]
    probes = [our_description().probe(name) for name in PROBES]
    return [(one.name, one.summary) for one in probes if one and one.name.startswith(incomplete)]


class ProbeCommand(TyperCommand):
    """A command with a probe as its argument and that probe's options."""

    pending: Option | None = None
    """the probe's option that the command line ends with, when the shell completes it"""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - typer's own class is private
        """Take the command line apart; cyclictest's -t N is --threads N."""
        words = _with_threads(args)
        named = self._named_probe(words)
        self._probe = named or _default_probe()
        if named:
            self._show_defaults_of(named)
        if ctx.resilient_parsing and words:
            if words[-1] == "=":  # a word of its own in bash
                words = words[:-1]
            self.pending = self._own_forms().get(words[-1])
            words = words[:-1] if self.pending else words
        try:
            return super().parse_args(ctx, self._with_probe_options(words))
        except Exception as error:
            if hasattr(error, "possibilities"):  # typer's own class of it is private
                vars(error)["message"] += self._owners(getattr(error, "option_name", ""))
            raise

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """Write the options of the probe and the loads below the options of the command."""
        super().format_options(ctx, formatter)
        options = self._probe.options
        rows = [(_names(option), help_words(option, default_of(option))) for option in options]
        if rows:
            with formatter.section(f"Options of {self._probe.name}{_module(self._probe)}"):
                formatter.write_dl(rows)
        if self._probe.metrics:
            with formatter.section(f"Metrics of {self._probe.name}, for budgets"):
                formatter.write_text(metrics_words(self._probe))
        with formatter.section("Loads, joined by '+'"):
            formatter.write_dl([load_help(load) for load in our_description().loads])

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:  # noqa: ANN401
        """Complete the probe's options and their choices, too."""
        items = super().shell_complete(ctx, incomplete)
        item = type(super().shell_complete(ctx, "--")[0])  # typer's own class is private
        if self.pending:
            return [item(word) for word in _values(self.pending, incomplete)]
        if not incomplete.startswith("-"):
            return items
        for form, option in self._own_forms().items():
            if form.startswith("--") and form.startswith(incomplete):
                items.append(item(form, help=option.help))
        return items

    def _show_defaults_of(self, probe: Probe) -> None:
        """Put the defaults of a probe in the place of those of all probes, where they differ."""
        for option in our_description().session:
            for param in self.params:
                if f"--{option.name}" not in param.opts:
                    continue
                general = f"[default: the probe's; {default_of(option)} for cyclic]"
                own = f"[default: {default_of(option, probe)}]"
                if probe.presets.get(option.name, "") is None:
                    own = f"[not for {probe.name}]"
                text = vars(param)["help"] or ""
                if option.name == "samples" and probe.samples:
                    text += f" {own}"
                vars(param)["help"] = text.replace(general, own)

    def _own_forms(self) -> dict[str, Option]:
        """Return the probe's options by their forms, without those that the command has itself."""
        taken = {form for param in self.params for form in param.opts}
        return {form: one for form, one in _forms(self._probe).items() if form not in taken}

    def _named_probe(self, words: list[str]) -> Probe | None:
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
        return None

    def _with_probe_options(self, words: list[str]) -> list[str]:
        """Replace `--via=read`, `--via read` and `-d 10` by `--option NAME=VALUE`."""
        forms = self._own_forms()
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


def _default_probe() -> Probe:
    """Return the probe of a command line that names none. Raises RtscopeError."""
    probe = our_description().probe(DEFAULT_PROBE)
    if probe is None:
        raise RtscopeError(f"this agent has no probe {DEFAULT_PROBE}")
    return probe


def _module(probe: Probe) -> str:
    if probe.module is None:
        return ""
    condition = f" with --{probe.module_if.replace('=', ' ')}" if probe.module_if else ""
    return f", which needs the kernel module {probe.module}{condition}"


def _values(option: Option, incomplete: str) -> list[str]:
    return [choice for choice in option.choices if choice.startswith(incomplete)]


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
