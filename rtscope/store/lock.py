# SPDX-License-Identifier: GPL-2.0-only
"""One process at a time, by a lock that ends with its process, whatever becomes of that."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rtscope.model.errors import RtscopeError
from rtscope.store.database import default_path


@contextmanager
def locked(plan: str, store: Path | None = None) -> Iterator[None]:
    """Measure the plan of this hash alone: one byte for each plan of a file beside the store.

    Raises RtscopeError where another process does, or where the file cannot be made.
    """
    path = (store or default_path()).with_name("plans.lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise RtscopeError(f"{path} cannot be made: {error.strerror}") from None
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, int(plan, 16))
        yield
    except BlockingIOError:
        raise RtscopeError(
            "another rtscope run measures this plan already, and would share its experiment: wait "
            "until it has ended (pgrep -af 'rtscope run' shows it)"
        ) from None
    finally:
        os.close(file)
