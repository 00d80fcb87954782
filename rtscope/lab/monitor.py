# SPDX-License-Identifier: GPL-2.0-only
"""QEMU's monitor: commands and events of the QEMU Machine Protocol over a Unix socket.

Reference: QEMU's docs/interop/qmp-spec.rst.
"""

import json
import os
import select
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Self

from rtscope.model.errors import RtscopeError

_ANSWER_S: Final = 60.0
_POLL_S: Final = 0.02


class Monitor:
    """A connection to one QEMU, closed at the end of a with block."""

    def __init__(self, path: Path, has_ended: Callable[[], bool]) -> None:
        """Connect when QEMU listens at `path`. Raises RtscopeError if it ends before."""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._events: list[str] = []
        self._pending = b""
        try:
            self._connect(path, has_ended)
            self._socket.settimeout(_ANSWER_S)
            self._message()
            self.command("qmp_capabilities")
        except BaseException:
            self._socket.close()
            raise

    def _connect(self, path: Path, has_ended: Callable[[], bool]) -> None:
        end = time.monotonic() + _ANSWER_S
        folder = os.open(path.parent, os.O_PATH | os.O_CLOEXEC)
        # A socket's path has at most 107 bytes; a directory in the cache may be longer.
        short = f"/proc/self/fd/{folder}/{path.name}"
        try:
            while not self._is_connected(short):
                if has_ended() or time.monotonic() > end:
                    raise RtscopeError("QEMU's monitor cannot be reached")
                time.sleep(_POLL_S)
        finally:
            os.close(folder)

    def _is_connected(self, path: str) -> bool:
        try:
            self._socket.connect(path)
        except (FileNotFoundError, ConnectionRefusedError):
            return False
        except OSError as error:
            raise RtscopeError(f"QEMU's monitor cannot be reached: {error}") from None
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def command(self, name: str, /, **arguments: object) -> Any:  # noqa: ANN401 - what QEMU says
        """Run a command and return its result. Raises RtscopeError."""
        request = {"execute": name, "arguments": arguments}
        try:
            self._socket.sendall(json.dumps(request).encode() + b"\n")
        except OSError as error:
            raise RtscopeError(f"QEMU's monitor is gone: {error}") from None
        while True:
            message = self._message()
            if "return" in message:
                return message["return"]
            if "error" in message:
                raise RtscopeError(f"QEMU refuses {name}: {message['error'].get('desc')}")

    def wait_for_status(self, status: str, limit_s: float) -> None:
        """Wait until the VM is in this run state. Raises RtscopeError."""
        end = time.monotonic() + limit_s
        while (now := self.command("query-status")["status"]) != status:
            if time.monotonic() > end:
                raise RtscopeError(f"QEMU is still {now} after {limit_s:.0f} s, not {status}")
            time.sleep(_POLL_S)

    def save(self, file: str, limit_s: float) -> bool:
        """Save the stopped VM to a file in its directory, renamed when complete; False if it
        cannot be written. Raises RtscopeError.
        """
        self.command("migrate", uri=f"exec:cat > part && mv part {file}")
        end = time.monotonic() + limit_s
        while (state := self.command("query-migrate").get("status")) != "completed":
            if state == "failed":
                return False
            if time.monotonic() > end:
                raise RtscopeError(f"QEMU has not saved the VM after {limit_s:.0f} s")
            time.sleep(_POLL_S)
        self.wait_for_status("postmigrate", limit_s)
        return True

    def has_seen(self, event: str, wait_s: float) -> bool:
        """Whether the event has come by now or within `wait_s`. Raises RtscopeError."""
        end = time.monotonic() + wait_s
        while event not in self._events:
            if b"\n" not in self._pending:
                left_s = max(0.0, end - time.monotonic())
                ready, _, _ = select.select([self._socket], [], [], left_s)
                if not ready:
                    return False
            self._message()
        return True

    def _message(self) -> dict[str, Any]:
        """The next message; an event is also stored."""
        while b"\n" not in self._pending:
            try:
                data = self._socket.recv(1 << 16)
            except OSError as error:
                raise RtscopeError(f"QEMU's monitor is gone: {error}") from None
            if not data:
                raise RtscopeError("QEMU's monitor is gone")
            self._pending += data
        line, _, self._pending = self._pending.partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        if "event" in message:
            self._events.append(message["event"])
        return message
