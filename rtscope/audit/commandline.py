# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's command line, read as the kernel reads it (lib/cmdline.c, kernel/params.c)."""

import re
from collections.abc import Sequence
from typing import Final

import msgspec

_WORD: Final = re.compile(r'(?:[^\s"]|"[^"]*"?)+')
_RANGE: Final = re.compile(r"(\d{1,5}|N)(?:-(\d{1,5}|N)(?::(\d{1,5})/(\d{1,5}))?)?", re.ASCII)


class Parameter(msgspec.Struct, frozen=True):
    """One word of the command line."""

    name: str
    """the name as written"""
    value: str | None
    """None without a '='"""

    @property
    def key(self) -> str:
        """The name as the kernel compares it: '-' and '_' are equal."""
        return self.name.replace("-", "_")

    def __str__(self) -> str:
        """The parameter as written."""
        return self.name if self.value is None else f"{self.name}={self.value}"


def parameters_of(text: str) -> list[Parameter]:
    """The words up to "--"; the rest is for the first process."""
    found = []
    for word in _WORD.findall(text):
        if word == "--":
            break
        name, equals, value = word.replace('"', "").partition("=")
        if name:
            found.append(Parameter(name, value if equals else None))
    return found


def value_of(parameters: Sequence[Parameter], name: str) -> str | None:
    """The last value of a parameter; empty if it has none, None if it is absent."""
    values = [parameter.value or "" for parameter in parameters if parameter.key == name]
    return values[-1] if values else None


def cpus_of(text: str, last: int) -> set[int] | None:
    """The CPUs of a list in the syntax of boot parameters: 1-3,8, 0-15:2/4, N for `last`, all.

    None if the kernel refuses it (lib/bitmap-str.c).
    """
    cpus: set[int] = set()
    for part in text.split(","):
        if part == "all":
            cpus.update(range(last + 1))
            continue
        match = _RANGE.fullmatch(part)
        if not match:
            return None
        first = last if match[1] == "N" else int(match[1])
        end = first if match[2] is None else last if match[2] == "N" else int(match[2])
        used, group = (int(match[3]), int(match[4])) if match[3] else (1, 1)
        if first > end or end > last or not 0 < used <= group:
            return None
        cpus.update(cpu for cpu in range(first, end + 1) if (cpu - first) % group < used)
    return cpus


def flags_and_cpus(text: str) -> tuple[list[str], str]:
    """The flags of an isolcpus= value, known or not, and the CPU list after them."""
    parts = text.split(",")
    flags = 0
    while flags < len(parts) and parts[flags][:1].isalpha():
        flags += 1
    return parts[:flags], ",".join(parts[flags:])
