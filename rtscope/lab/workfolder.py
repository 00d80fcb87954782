# SPDX-License-Identifier: GPL-2.0-only
"""A work directory next to the final place, for results that are stored completely or not at
all. It is locked while in use, so that one left by a killed rtscope is recognised and
removed.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def work_folder(parent: Path, prefix: str) -> Iterator[Path]:
    """A temporary directory in `parent`, which is created if needed. Unused ones with the same
    prefix are removed first. Raises OSError.
    """
    parent.mkdir(parents=True, exist_ok=True)
    with _opened(parent) as all_of_them:
        fcntl.flock(all_of_them, fcntl.LOCK_EX)  # no clean-up before the new one is locked
        _remove_leftovers(parent, prefix)
        folder = tempfile.TemporaryDirectory(prefix=prefix, dir=parent)
        with folder as name, _opened(Path(name)) as own:
            fcntl.flock(own, fcntl.LOCK_EX)
            fcntl.flock(all_of_them, fcntl.LOCK_UN)
            yield Path(name)


def _remove_leftovers(parent: Path, prefix: str) -> None:
    for folder in parent.glob(f"{prefix}*"):
        # A directory in use may disappear at any time.
        with suppress(FileNotFoundError), _opened(folder) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _opened(folder: Path) -> Iterator[int]:
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield file
    finally:
        os.close(file)
