# SPDX-License-Identifier: GPL-2.0-only
"""The agent's commands and their options, as `rtscope-agent describe` prints them."""

from typing import Literal

import msgspec

from rtscope.model.units import LONGEST_NS


class Option(msgspec.Struct, frozen=True):
    """One option."""

    name: str
    """without dashes"""
    kind: Literal["flag", "number", "time", "choice", "text", "words", "parsed", "ignored"]
    help: str
    alias: str | None = None
    letter: str | None = None
    metavar: str | None = None
    default: str | None = None
    computed: str | None = None
    """a default that the agent computes, in words"""
    unit: str | None = None
    """of a number; of a time, that of a number without a unit"""
    min: int = 0
    """of a time, in ns"""
    max: int | None = None
    zero: bool = False
    """0 is accepted below min"""
    step: int = 1
    choices: list[str] = []
    wanted: str | None = None
    """accepted values of a parsed option, in words"""
    internal: bool = False

    @property
    def takes_value(self) -> bool:
        """Whether a value follows."""
        return self.kind not in {"flag", "ignored"}

    def in_range(self, number: int) -> bool:
        """Whether a number, or a time in ns, is accepted."""
        if self.zero and not number:
            return True
        high = LONGEST_NS if self.max is None else self.max
        return number % self.step == 0 and self.min <= number <= high


class Probe(msgspec.Struct, frozen=True):
    """One probe."""

    name: str
    summary: str
    help: str
    takes_command: bool
    options: list[Option]
    """its own"""
    presets: dict[str, str | None]
    """its defaults of session options; None where one does not apply"""
    metrics: list[str]
    """all that its threads may have besides a histogram; N stands for a number"""
    units: dict[str, str] = {}
    """of these metrics; the others are counts"""
    module: str | None = None
    """of ours, which must be loaded"""
    module_if: str | None = None
    """OPTION=CHOICE with which alone the module is needed; None: always"""
    samples: int | None = None
    """default number of samples per thread"""


class Command(msgspec.Struct, frozen=True):
    """A command that is not a probe."""

    name: str
    summary: str
    options: list[Option]


class Load(msgspec.Struct, frozen=True):
    """One load."""

    name: str
    help: str
    strength: str | None = None
    """unit of its strength; None: it has none"""
    strength_default: str | None = None
    """in words"""
    strength_max: int | None = None


class Description(msgspec.Struct, frozen=True, tag="description"):
    """Everything that an agent can be asked to do."""

    agent: str
    """release"""
    version: int
    """of the description: increased when an option, a probe, a load or a metric changes"""
    probes: list[Probe]
    session: list[Option]
    """options of every probe"""
    commands: list[Command]
    loads: list[Load]

    def option(self, name: str, of: str | None = None) -> Option:
        """Return an option of this probe or command, or of every probe. Raises KeyError."""
        options = self.options_of(of) if of else {one.name: one for one in self.session}
        return (options or {})[name]

    def probe(self, name: str) -> Probe | None:
        """Return the probe of this name."""
        return next((probe for probe in self.probes if probe.name == name), None)

    def options_of(self, name: str) -> dict[str, Option] | None:
        """Return all options of a probe or a command, by name; None where there is none of it."""
        if probe := self.probe(name):
            return {option.name: option for option in [*self.session, *probe.options]}
        for command in self.commands:
            if command.name == name:
                return {option.name: option for option in command.options}
        return None
