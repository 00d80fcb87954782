# SPDX-License-Identifier: GPL-2.0-only
"""One process at a time, by a lock that ends with its process, whatever becomes of that."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rtscope.model.errors import RtscopeError
from rtscope.store.address import default_path


@contextmanager
def locked(plan: str, store: Path | None = None) -> Iterator[None]:
    """Lock the plan of this hash: one byte for each plan in a file next to the store.

    Where the file cannot be made there is no store to share either. Raises RtscopeError where
    another process measures the plan.
    """
    path = (store or default_path()).with_name("plans.lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError:
        yield
        return
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, int(plan, 16))
        yield
    except BlockingIOError:
        raise RtscopeError(
            "another rtscope measures the same already, and would share its experiment: wait "
            "until it has ended (pgrep -af rtscope shows it)"
        ) from None
    finally:
        os.close(file)
