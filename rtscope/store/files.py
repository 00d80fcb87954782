# SPDX-License-Identifier: GPL-2.0-only
"""Write a file whole or not at all."""

import errno
import os
import secrets
import stat
from collections.abc import Sequence
from pathlib import Path

from rtscope.model.errors import RtscopeError


def check_files(files: Sequence[Path | None], *, force: bool) -> None:
    """Refuse, before the work for them begins, files that exist or whose directory does not.

    Raises RtscopeError.
    """
    for path in files:
        if path and path.exists() and not force:
            raise RtscopeError(f"{path} exists: give another name, or --force to overwrite it")
        if path and not path.parent.is_dir():
            raise RtscopeError(f"{path} cannot be written: there is no directory {path.parent}")


def write_file(data: bytes, path: Path, what: str, *, overwrite: bool = False) -> None:
    """Write `what`, such as "run 3fa9"; afterwards `path` holds all of it, or what it held before.

    A device or pipe is written to directly. Raises RtscopeError.
    """
    try:
        path = Path(os.path.realpath(path))
        if path.is_dir():
            raise RtscopeError(f"{path} is a directory: name a file in it")
        if path.exists() and not stat.S_ISREG(path.stat().st_mode):
            with path.open("wb", buffering=0) as device:
                _write_all(device.fileno(), data)
            return
        _write_beside(data, path, overwrite)
    except FileExistsError:
        raise RtscopeError(
            f"{path} exists already and was left as it is: name another file or --force it"
        ) from None
    except OSError as error:
        raise RtscopeError(
            f"{what} was not written to {path}: {error.strerror}; nothing there was changed: "
            "free some space or name another place"
        ) from None


def _write_beside(data: bytes, path: Path, overwrite: bool) -> None:
    partial = path.with_name(f".{path.name[:200]}.{secrets.token_hex(4)}.part")
    if not overwrite and path.exists():
        raise FileExistsError(errno.EEXIST, "exists", str(path))
    file = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        try:
            _write_all(file, data)
            os.fsync(file)
        finally:
            os.close(file)
        _put(partial, path, overwrite)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    _sync_directory(path.parent)


def _put(partial: Path, path: Path, overwrite: bool) -> None:
    """Give the finished file its name; a hard link refuses an existing one without a race."""
    if not overwrite:
        try:
            path.hardlink_to(partial)
        except FileExistsError:
            raise
        except OSError:  # a file system without hard links, such as vfat
            if path.exists():
                raise FileExistsError(errno.EEXIST, "exists", str(path)) from None
        else:
            partial.unlink()
            return
    partial.replace(path)


def _write_all(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]


def _sync_directory(directory: Path) -> None:
    file = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    except OSError:  # some network file systems cannot; the file itself is safe
        return
    finally:
        os.close(file)
