# SPDX-License-Identifier: GPL-2.0-only
"""A folder beside what is kept, to make something in that is kept whole or not at all.

It is locked while it is used, so that one that a killed rtscope left is known, and goes.
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
    """An empty folder in `parent`, which is made where it is not; gone afterwards.

    Those of the same prefix that nobody uses go first. Raises OSError.
    """
    parent.mkdir(parents=True, exist_ok=True)
    with _opened(parent) as all_of_them:
        fcntl.flock(all_of_them, fcntl.LOCK_EX)  # nobody sweeps one that is not locked yet
        _sweep(parent, prefix)
        folder = tempfile.TemporaryDirectory(prefix=prefix, dir=parent)
        with folder as name, _opened(Path(name)) as own:
            fcntl.flock(own, fcntl.LOCK_EX)
            fcntl.flock(all_of_them, fcntl.LOCK_UN)
            yield Path(name)


def _sweep(parent: Path, prefix: str) -> None:
    for folder in parent.glob(f"{prefix}*"):
        # One that is in use may end and be gone meanwhile.
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
