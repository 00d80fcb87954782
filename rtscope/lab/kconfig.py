# SPDX-License-Identifier: GPL-2.0-only
"""Fragments of a kernel's configuration, and whether the kernel took them as they were asked."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from rtscope.model.errors import RtscopeError

_SET: Final = re.compile(r"CONFIG_(\w+)=(y|m|n|-?\w+|\"(?:[^\"\\]|\\.)*\")")
_UNSET: Final = re.compile(r"# CONFIG_(\w+) is not set")
_MOST_TOLD: Final = 8


class Asked(msgspec.Struct, frozen=True):
    """One symbol of a fragment."""

    value: str
    """as in .config; "n" for what is not set"""
    where: str
    """file and line"""


def read_fragments(paths: Iterable[Path]) -> dict[str, Asked]:
    """What fragments ask for, by symbol without CONFIG_; the later over the earlier.

    Raises RtscopeError for a file that cannot be read and a line that is no setting.
    """
    asked: dict[str, Asked] = {}
    for path in paths:
        try:
            lines = path.read_text().splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise RtscopeError(f"the configuration {path} cannot be read: {error}") from None
        for number, line in enumerate(lines, 1):
            where = f"{path.name}:{number}"
            if setting := _setting(line.strip()):
                symbol, value = setting
                asked[symbol] = Asked(value, where)
            elif line.strip() and not line.startswith("#"):
                raise RtscopeError(
                    f"{path}, line {number}: '{line.strip()}' is no setting of a kernel: write "
                    "CONFIG_NAME=value or # CONFIG_NAME is not set"
                )
    return asked


def fragment_text(asked: Mapping[str, Asked]) -> str:
    """One fragment of all that is asked, sorted."""
    return "".join(f"CONFIG_{symbol}={one.value}\n" for symbol, one in sorted(asked.items()))


def check_taken(asked: Mapping[str, Asked], config: str, version: str) -> None:
    """Raise RtscopeError unless the .config `config` has everything as it was asked."""
    settings = dict(filter(None, map(_setting, config.splitlines())))
    others = [
        f"CONFIG_{symbol}={one.value} ({one.where}) became {settings.get(symbol, 'n')}"
        for symbol, one in asked.items()
        if settings.get(symbol, "n") != one.value
    ]
    if others:
        more = f" and {len(others) - _MOST_TOLD} more" if len(others) > _MOST_TOLD else ""
        raise RtscopeError(
            f"Linux {version} did not take its configuration as asked: "
            f"{', '.join(others[:_MOST_TOLD])}{more}; it has no such symbol, or what that depends "
            "on or what selects it says otherwise"
        )


def _setting(line: str) -> tuple[str, str] | None:
    if found := _SET.fullmatch(line):
        return found[1], found[2]
    if found := _UNSET.fullmatch(line):
        return found[1], "n"
    return None
