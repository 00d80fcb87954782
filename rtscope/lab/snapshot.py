# SPDX-License-Identifier: GPL-2.0-only
"""Snapshots: VMs at the end of their boot, made once and cached, so that a run need not boot.
Each is a directory in $XDG_CACHE_HOME/rtscope/snapshots, stored completely or not at all. If
there are too many, the least recently used one is removed.
"""

import fcntl
import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from rtscope.lab.boot import Boot
from rtscope.lab.emulator import Emulator
from rtscope.lab.kernels import cache_directory
from rtscope.lab.machine import CONSOLE, MONITOR, SNAPSHOT
from rtscope.lab.monitor import Monitor
from rtscope.lab.workfolder import work_folder
from rtscope.model.errors import BootError, RtscopeError

MOST: Final = 20
_RECORD: Final = "snapshot.json"
_BOOT_CONSOLE: Final = "boot.txt"
_POLL_S: Final = 0.2
_END_S: Final = 60.0
_SAVE_S: Final = 120.0
_MB: Final = 1e6
_ADVICE: Final = "add start=booted to the target to avoid snapshots"

Watch = Callable[[Emulator | None], None]


class Snapshot(msgspec.Struct, frozen=True):
    """A stored snapshot."""

    file: Path
    console: str
    """of its boot"""


class _Record(msgspec.Struct, frozen=True):
    sha256: str


def snapshot_of(boot: Boot, watch: Watch, limit_s: float) -> Snapshot:
    """The snapshot of this boot, made if it is missing or damaged. `watch` is called with each
    emulator started for it, so that it can be ended, and with None from time to time while
    another rtscope makes it; it may raise. Raises RtscopeError.
    """
    try:
        _snapshots().mkdir(parents=True, exist_ok=True)
        with _locked(boot.key, watch):
            place = _snapshots() / boot.key
            if not _is_whole(place):
                shutil.rmtree(place, ignore_errors=True)
                _make(boot, place, watch, limit_s)
            os.utime(place)
            _drop_oldest()
            console = (place / _BOOT_CONSOLE).read_text(errors="replace")
            return Snapshot(place / SNAPSHOT, console)
    except OSError as error:
        where = error.filename or _snapshots()
        raise RtscopeError(
            f"{where} cannot be used: {error.strerror}; free some space, or {_ADVICE}"
        ) from None


def _snapshots() -> Path:
    return cache_directory() / "snapshots"


@contextmanager
def _locked(key: str, watch: Watch) -> Iterator[None]:
    """Make each snapshot once, even if several callers want it at the same time."""
    with _lock(key).open("w") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                watch(None)
                time.sleep(_POLL_S)
        yield


def _lock(key: str) -> Path:
    return _snapshots() / f".{key}.lock"


def _is_whole(place: Path) -> bool:
    try:
        record = msgspec.json.decode((place / _RECORD).read_bytes(), type=_Record)
        with (place / SNAPSHOT).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == record.sha256
    except (OSError, msgspec.MsgspecError):
        return False


def _make(boot: Boot, place: Path, watch: Watch, limit_s: float) -> None:
    with work_folder(_snapshots(), ".making-") as directory:
        emulator = boot.started(directory, limit_s)
        try:
            watch(emulator)
            why = _save(emulator, directory, limit_s)
        finally:
            emulator.close()
        if why:
            raise RtscopeError(f"no snapshot could be made: {why}; {_ADVICE}")
        _keep(directory, place)


def _save(emulator: Emulator, directory: Path, limit_s: float) -> str:
    """Wait for the end of the boot and save the VM; return the reason of a failure, or ""."""
    try:
        with Monitor(directory / MONITOR, emulator.has_ended) as monitor:
            while not monitor.has_seen("WATCHDOG", _POLL_S):
                emulator.give_up_after(limit_s)
            if not (monitor.save(SNAPSHOT, _SAVE_S) and (directory / SNAPSHOT).exists()):
                free_mb = shutil.disk_usage(directory).free / _MB
                return f"{directory.parent} could not take it, its disk has {free_mb:.0f} MB left"
            shutil.copyfile(directory / CONSOLE, directory / _BOOT_CONSOLE)
            booted = len(emulator.console())
            monitor.command("cont")
    except RtscopeError as error:
        raise BootError(emulator.why(error)) from None
    if not emulator.has_ended(_END_S):
        return "the VM did not end after it"
    return emulator.agent_said(booted)


def _keep(directory: Path, place: Path) -> None:
    new = directory / "new"
    new.mkdir()
    for name in (SNAPSHOT, _BOOT_CONSOLE):
        (directory / name).rename(new / name)
    with (new / SNAPSHOT).open("rb") as file:
        record = _Record(hashlib.file_digest(file, "sha256").hexdigest())
    (new / _RECORD).write_bytes(msgspec.json.encode(record))
    new.rename(place)


def _drop_oldest() -> None:
    kept = [path for path in _snapshots().iterdir() if not path.name.startswith(".")]
    kept.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for path in kept[MOST:]:
        shutil.rmtree(path, ignore_errors=True)
        _lock(path.name).unlink(missing_ok=True)
