"""Import of a file, whichever of the known tools wrote it."""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from rtscope.model.errors import RtscopeError
from rtscope.model.run import Run
from rtscope.store import cyclictest, jitterdebugger, oslat, rtla
from rtscope.store.runfile import MOST_BYTES, decode_run
from rtscope.store.sniff import FORMATS, Format, sniff

_PARSERS: Final[dict[Format, Callable[[bytes, str], list[Run]]]] = {
    "rtscope": lambda data, _: [decode_run(data)],
    "cyclictest-json": lambda data, created: [cyclictest.parse_json(data, created)],
    "cyclictest-histogram": lambda data, created: [cyclictest.parse_histogram(data, created)],
    "cyclictest-text": lambda data, created: [cyclictest.parse_text(data, created)],
    "oslat-json": lambda data, created: [oslat.parse(data, created)],
    "rtla-timerlat": rtla.parse,
    "jitterdebugger": lambda data, created: [jitterdebugger.parse(data, created)],
}


def import_file(path: Path, format_name: str | None = None) -> list[Run]:
    """Read the runs of a file; most formats hold one, rtla's one a context.

    `format_name` is one of FORMATS; None finds out. Where the format has no time in it, the run's
    start is the file's time of change. Raises RtscopeError that begins with the path.
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
        return import_bytes(data, changed.strftime("%Y-%m-%dT%H:%M:%SZ"), format_name)
    except RtscopeError as error:
        raise RtscopeError(f"{path}: {error}") from None


def import_bytes(data: bytes, created: str, format_name: str | None = None) -> list[Run]:
    """As import_file, for what was read elsewhere, such as standard input. Raises RtscopeError."""
    known = next((name for name in FORMATS if name == format_name), None)
    if format_name is not None and known is None:
        raise RtscopeError(f"'{format_name}' is no format that rtscope imports. {_formats()}")
    name = known or sniff(data.decode(errors="replace"))
    if name is None:
        raise RtscopeError(
            f"no format that rtscope imports was recognised; nothing was imported. {_formats()}"
        )
    return _PARSERS[name](data, created)


def _formats() -> str:
    return "It reads " + "; ".join(f"{what} ({name})" for name, what in FORMATS.items())
