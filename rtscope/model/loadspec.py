# SPDX-License-Identifier: GPL-2.0-only
"""What --load takes: "files:50+network:1", or one command for all of the text."""

from typing import Final

COMMANDS: Final = ("cmd", "stress-ng")
"""loads that run a command, which may hold any sign"""


def load_parts(spec: str) -> list[tuple[str, str]]:
    """Return each load with the text behind its colon: a strength, a command or nothing."""
    name, _, command = spec.partition(":")
    if name in COMMANDS:
        return [(name, command)]
    first, plus, rest = spec.partition("+")
    name, _, strength = first.partition(":")
    return [(name, strength), *(load_parts(rest) if plus else [])]
