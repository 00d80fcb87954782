# SPDX-License-Identifier: GPL-2.0-only
"""QEMU's monitor: an event is seen whenever it came."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rtscope.lab.monitor import Monitor

EVENTS = b'{"event": "RESUME"}\n{"event": "WATCHDOG"}\n'


@contextmanager
def qemu_that_sends(data: bytes, path: Path) -> Iterator[None]:
    """What connects to `path` as to QEMU's monitor gets `data` at once after the greeting."""

    def serve() -> None:
        connection, _ = listening.accept()
        with connection:
            connection.sendall(b'{"QMP": {}}\n')
            assert b"qmp_capabilities" in connection.recv(1 << 16)
            connection.sendall(b'{"return": {}}\n' + data)
            connection.recv(1)

    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(str(path))
        listening.listen()
        server = threading.Thread(target=serve)
        server.start()
        yield
        server.join(60)


@pytest.mark.parametrize("event", ["RESUME", "WATCHDOG"])
def test_each_of_two_events_that_come_at_once_is_seen(event: str, tmp_path: Path) -> None:
    with (
        qemu_that_sends(EVENTS, tmp_path / "monitor"),
        Monitor(tmp_path / "monitor", lambda: False) as monitor,
    ):
        assert monitor.has_seen(event, 0.1)
        assert not monitor.has_seen("SHUTDOWN", 0.1)
