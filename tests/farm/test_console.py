# SPDX-License-Identifier: GPL-2.0-only
"""The console watcher: faults in whatever pieces they come."""

import queue
import time

from rtscope.farm.console import ConsoleWatcher

SAID = b"""[    0.000000] Linux version 6.12.43-rt (x) #1\r
[   12.345678] random: crng init done\r
[  361.000000] INFO: task kworker/0:1:12 blocked for more than 120 seconds.\r
[  400.000000] watchdog: BUG: soft lockup - CPU#0 stuck for 22s!\r
[  401.000000] Unable to handle kernel NULL pointer dereference at 0000000000000000\r
[  402.000000] \x1b[31mKernel panic - not syncing: Oops: Fatal exception\x1b[0m\r
"""


def _watched(pieces: list[bytes]) -> ConsoleWatcher:
    left: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    for piece in pieces:
        left.put(piece)

    def read() -> bytes:
        if left.empty():
            raise OSError
        return left.get()

    watcher = ConsoleWatcher(read)
    until = time.monotonic() + 60
    while not left.empty():
        assert time.monotonic() < until
    watcher.close()
    return watcher


def test_faults_are_found_in_whatever_pieces_they_come() -> None:
    watcher = _watched([SAID[one : one + 1] for one in range(len(SAID))])
    said = watcher.complaints()
    assert [one.split("] ")[0] for one in said] == [
        f"[  {second}.000000" for second in (361, 400, 401, 402)
    ]
    assert all(one.isprintable() for one in said)
    assert watcher.panicked
    assert watcher.boots == 1
    assert not watcher.complaints()


def test_a_console_without_an_end_of_line_is_bounded() -> None:
    watcher = _watched([b"x" * 100_000] * 20 + [b"\nOops\n" * 500])
    assert len(watcher.complaints()) == 20
    assert not watcher.panicked
    assert watcher.last_lines(1) == ["Oops"]
