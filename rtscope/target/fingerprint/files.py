# SPDX-License-Identifier: GPL-2.0-only
"""Kernel files as the agent sent them, read without trust: what is garbled reads as absent."""

import re
import zlib
from collections.abc import Mapping
from typing import Final

from rtscope.model.cpulist import parse_cpu_list
from rtscope.model.errors import RtscopeError

Files = Mapping[str, str | bytes]
"""Content by the path that the agent reported."""

_LONGEST_CONFIG: Final = 4 << 20
_LONGEST_TEXT: Final = 1 << 20
_NUMBER: Final = re.compile(r"-?[0-9]{1,15}")
_OPTION: Final = re.compile(r"^(CONFIG_\w{1,80})=(.{0,200})$", re.MULTILINE | re.ASCII)
_CONFIG_PATH: Final = re.compile(r"/boot/config-.*|/lib/modules/[^/]*/(?:build/\.)?config")


def clean(text: str, limit: int = 256) -> str | None:
    """`text` on one line, without control characters, at most `limit` long; None when empty."""
    printable = "".join(c if c.isprintable() else " " for c in text[:limit])
    return " ".join(printable.split()) or None


def text_of(files: Files, path: str) -> str:
    """The content of a file as it is, at most 1 MiB; empty where it is absent."""
    content = files.get(path, "")[:_LONGEST_TEXT]
    return content if isinstance(content, str) else content.decode("utf-8", "replace")


def line_of(files: Files, path: str, limit: int = 256) -> str | None:
    """The content of a file that holds one short text."""
    return clean(text_of(files, path), limit)


def number_of(files: Files, path: str) -> int | None:
    """The content of a file that holds one integer of at most 15 digits."""
    text = text_of(files, path).strip()
    return int(text) if _NUMBER.fullmatch(text) else None


def cpu_list_of(files: Files, path: str) -> list[int] | None:
    """The content of a file that holds a CPU list."""
    if path not in files:
        return None
    try:
        return parse_cpu_list(text_of(files, path))
    except RtscopeError:
        return None


def config_of(files: Files) -> dict[str, str]:
    """The kernel's configuration: {"CONFIG_HZ": "250"}; empty where none can be read."""
    packed = files.get("/proc/config.gz")
    if isinstance(packed, bytes):
        try:
            unpacked = zlib.decompressobj(wbits=31).decompress(packed, _LONGEST_CONFIG)
        except zlib.error:
            return {}
        return dict(_OPTION.findall(unpacked.decode("utf-8", "replace")))
    for path in files:
        if _CONFIG_PATH.fullmatch(path):
            return dict(_OPTION.findall(text_of(files, path)))
    return {}
