# SPDX-License-Identifier: GPL-2.0-only
"""Files in which programs that measure write what they do now, for `rtscope serve`.

Each is $XDG_STATE_HOME/rtscope/activity/NAME.jsonl: a line of the Activity, then a line for each
Board. It is replaced whole, so that a reader never sees half of it and it does not grow. It is not
synced to the disk: a state that a power failure loses is worth nothing.
"""

import os
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import msgspec
import platformdirs

from rtscope.model.errors import StoreError
from rtscope.model.farm import Activity, Board

SILENT: Final = timedelta(seconds=30)
"""after which the program of an activity that has not ended is taken to be gone"""
_MOST_BYTES: Final = 4_000_000
_MOST_FILES: Final = 1000
_OLD_SECONDS: Final = 86_400
_MEASUREMENT: Final = re.compile(r"measure-[0-9]+\.jsonl")
_OUT_OF_NAMES: Final = re.compile(r"[^A-Za-z0-9._-]+")


def activity_folder() -> Path:
    """$XDG_STATE_HOME (or ~/.local/state) /rtscope/activity."""
    return Path(platformdirs.user_state_dir("rtscope", appauthor=False)) / "activity"


def activity_path(name: str) -> Path:
    """The file of the activity of this name, such as farm-lab or measure-4711."""
    return activity_folder() / f"{_OUT_OF_NAMES.sub('-', name)[:100].lstrip('.')}.jsonl"


def write_activity(name: str, activity: Activity, boards: Sequence[Board]) -> None:
    """Replace the state of an activity; from one thread at a time.

    Raises StoreError, which must not end a measurement.
    """
    path = activity_path(name)
    partial = path.with_suffix(f".{os.getpid()}")
    lines = [msgspec.json.encode(one) + b"\n" for one in (activity, *boards)]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(b"".join(lines))
        partial.replace(path)
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror}") from None


def remove_activity(name: str) -> None:
    """Remove the file of an activity, if there is one. Raises StoreError."""
    path = activity_path(name)
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"{path} cannot be removed: {error.strerror}") from None


def remove_old_measurements() -> None:
    """Remove files of single measurements whose programs were killed, after a day."""
    for path, state in _files():
        if _MEASUREMENT.fullmatch(path.name) and time.time() - state.st_mtime > _OLD_SECONDS:
            with suppress(OSError):
                path.unlink()


def activities() -> list[tuple[Activity, list[Board]]]:
    """All activities, the one written last first. Files that cannot be read are left out."""
    found = list(_read_all())
    return sorted(found, key=lambda one: one[0].written, reverse=True)


def is_silent(activity: Activity) -> bool:
    """Whether an activity has neither ended nor written anything for SILENT."""
    try:
        written = datetime.fromisoformat(activity.written)
    except ValueError:
        return True
    written = written if written.tzinfo else written.replace(tzinfo=UTC)
    return not activity.ended and datetime.now(UTC) - written > SILENT


def activity_stamp() -> tuple[tuple[str, int, int], ...]:
    """Compares equal to an earlier one as long as no activity was written since."""
    return tuple((path.name, state.st_mtime_ns, state.st_ino) for path, state in _files())


def _files() -> list[tuple[Path, os.stat_result]]:
    found = []
    for path in sorted(activity_folder().glob("*.jsonl"))[:_MOST_FILES]:
        with suppress(OSError):  # removed meanwhile
            found.append((path, path.stat()))
    return found


def _read_all() -> Iterator[tuple[Activity, list[Board]]]:
    for path, state in _files():
        if state.st_size > _MOST_BYTES:
            continue
        try:
            first, *others = path.read_bytes().splitlines()
            yield (
                msgspec.json.decode(first, type=Activity),
                [msgspec.json.decode(line, type=Board) for line in others],
            )
        except (OSError, ValueError):
            continue
