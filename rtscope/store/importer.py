# SPDX-License-Identifier: GPL-2.0-only
"""Import of a file, whichever of the known tools wrote it."""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from rtscope.model.errors import RtscopeError
from rtscope.model.run import Run
from rtscope.model.units import Unit
from rtscope.store import cyclictest, jitterdebugger, latmus, oslat, rteval, rtla, rtla_analysis
from rtscope.store.runfile import MOST_BYTES, decode_run
from rtscope.store.sniff import FORMATS, Format, sniff

_WITHOUT_UNIT: Final[dict[Format, Callable[[bytes, str, Unit | None], Run]]] = {
    "cyclictest-histogram": cyclictest.parse_histogram,
    "cyclictest-text": cyclictest.parse_text,
}
"""formats that do not state the unit of their times"""
_PARSERS: Final[dict[Format, Callable[[bytes, str], list[Run]]]] = {
    "rtscope": lambda data, _: [decode_run(data)],
    "cyclictest-json": lambda data, created: [cyclictest.parse_json(data, created)],
    "oslat-json": lambda data, created: [oslat.parse(data, created)],
    "rtla-timerlat": rtla.parse,
    "rtla-analysis": rtla_analysis.parse,
    "jitterdebugger": lambda data, created: [jitterdebugger.parse(data, created)],
    "latmus": lambda data, created: [latmus.parse(data, created)],
    "rteval": lambda data, created: [rteval.parse(data, created)],
}


def import_file(path: Path, format_name: str | None = None, unit: Unit | None = None) -> list[Run]:
    """Read the runs of a file; most formats hold one run, rtla's one per context.

    `format_name` is one of FORMATS; None detects it. `unit` is that of a text which does not state
    its own; None assumes us. A format without a start time gets the file's time of change. Raises
    RtscopeError that begins with the path.
    """
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            data = file.read(MOST_BYTES + 1) if status.st_size <= MOST_BYTES else None
    except OSError as error:
        raise RtscopeError(f"{path} cannot be read: {error.strerror}") from None
    if data is None or len(data) > MOST_BYTES:
        raise RtscopeError(f"{path} is larger than {MOST_BYTES // 1024**2} MiB: not imported")
    changed = datetime.fromtimestamp(status.st_mtime, UTC)
    try:
        return import_bytes(data, changed.strftime("%Y-%m-%dT%H:%M:%SZ"), format_name, unit)
    except RtscopeError as error:
        raise RtscopeError(f"{path}: {error}") from None


def import_bytes(
    data: bytes, created: str, format_name: str | None = None, unit: Unit | None = None
) -> list[Run]:
    """As import_file, for bytes read elsewhere, such as standard input. Raises RtscopeError."""
    known = next((name for name in FORMATS if name == format_name), None)
    if format_name is not None and known is None:
        raise RtscopeError(f"unknown format '{format_name}'. {_formats()}")
    name = known or sniff(data.decode(errors="replace"))
    if name is None:
        raise RtscopeError(f"the format was not recognised; nothing was imported. {_formats()}")
    if name in _WITHOUT_UNIT:
        return [_WITHOUT_UNIT[name](data, created, unit)]
    if unit:
        raise RtscopeError(f"this is {FORMATS[name]}, which states its own unit: leave out --unit")
    return _PARSERS[name](data, created)


def _formats() -> str:
    return "Formats: " + "; ".join(f"{what} ({name})" for name, what in FORMATS.items())
