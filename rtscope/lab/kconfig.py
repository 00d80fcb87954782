# SPDX-License-Identifier: GPL-2.0-only
"""Fragments of a kernel's configuration, and a check that the kernel accepted them."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from rtscope.model.errors import RtscopeError, SourceError

_SET: Final = re.compile(r"CONFIG_(\w+)=(y|m|n|-?\w+|\"(?:[^\"\\]|\\.)*\")")
_UNSET: Final = re.compile(r"# CONFIG_(\w+) is not set")
_MOST_LISTED: Final = 8


class Asked(msgspec.Struct, frozen=True):
    """One symbol of a fragment."""

    value: str
    """as in .config; "n" if it is not set"""
    where: str
    """file and line"""


def read_fragments(paths: Iterable[Path]) -> dict[str, Asked]:
    """The requested values, by symbol without CONFIG_; later fragments override earlier ones.
    Raises RtscopeError if a file cannot be read or a line is not a setting.
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
                    f"{path}, line {number}: '{line.strip()}' is not a kernel option: write "
                    "CONFIG_NAME=value or # CONFIG_NAME is not set"
                )
    return asked


def fragment_text(asked: Mapping[str, Asked]) -> str:
    """One fragment of all requested values, sorted."""
    return "".join(f"CONFIG_{symbol}={one.value}\n" for symbol, one in sorted(asked.items()))


def check_taken(asked: Mapping[str, Asked], config: str, version: str) -> None:
    """Raise SourceError unless the .config `config` has every requested value."""
    settings = dict(filter(None, map(_setting, config.splitlines())))
    others = [
        f"CONFIG_{symbol}={one.value} ({one.where}) became {settings.get(symbol, 'n')}"
        for symbol, one in asked.items()
        if settings.get(symbol, "n") != one.value
    ]
    if others:
        more = f" and {len(others) - _MOST_LISTED} more" if len(others) > _MOST_LISTED else ""
        raise SourceError(
            f"Linux {version} did not accept its configuration: "
            f"{', '.join(others[:_MOST_LISTED])}{more}; the symbol does not exist, or another "
            "symbol that it depends on or that selects it prevents the value"
        )


def _setting(line: str) -> tuple[str, str] | None:
    if found := _SET.fullmatch(line):
        return found[1], found[2]
    if found := _UNSET.fullmatch(line):
        return found[1], "n"
    return None
