# SPDX-License-Identifier: GPL-2.0-only
"""--tether: an agent that ends when whoever started it from afar is gone."""

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.agent.probing import AGENT

LONG = ("--duration=60s", "--policy=other", "--load=cpu:1")
WAIT_S = 25.0


@contextmanager
def bound_to_parent(silence: str, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    """An agent on a tether, measuring for longer than any test."""
    words = words or ("cyclic", "--json", *LONG)
    with subprocess.Popen(
        [AGENT, f"--tether={silence}", *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        bound = threading.Timer(WAIT_S, process.kill)
        bound.start()
        try:
            yield process
        finally:
            bound.cancel()
            process.kill()


def measuring(process: subprocess.Popen[bytes]) -> int:
    """The process that measures, once it does."""
    assert process.stdout is not None
    pid = 0
    for line in process.stdout:
        said = json.loads(line)
        pid = int(said.get("pid", pid))
        if said["type"] == "progress":
            return pid
    raise AssertionError(process.stderr and process.stderr.read())


def ending(process: subprocess.Popen[bytes]) -> tuple[str, int]:
    """What the last line says, and the exit status."""
    assert process.stdout is not None
    last = process.stdout.readlines()[-1]
    status: str = json.loads(last)["status"]
    return status, process.wait(WAIT_S)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] not in "ZX"
    except OSError:
        return False


def is_gone(pid: int) -> bool:
    """Whether a process ends within WAIT_S. The first process here need not reap it."""
    until = time.monotonic() + WAIT_S
    while _runs(pid):
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


def test_when_nobody_holds_the_other_end_what_was_measured_is_reported() -> None:
    with bound_to_parent("1h") as process:
        measuring(process)
        assert process.stdin is not None
        process.stdin.close()
        assert ending(process) == ("interrupted", 0)


def test_silence_ends_it_too() -> None:
    with bound_to_parent("1s") as process:
        assert ending(process) == ("interrupted", 0)


def test_a_byte_now_and_then_keeps_it() -> None:
    words = ("cyclic", "--json", "--duration=3s", "--policy=other")
    with bound_to_parent("2s", *words) as process:
        assert process.stdin is not None
        for _ in range(8):
            time.sleep(0.3)
            process.stdin.write(b".")
            process.stdin.flush()
        assert ending(process) == ("complete", 0)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_reaches_what_measures(number: signal.Signals) -> None:
    with bound_to_parent("1h") as process:
        measuring(process)
        process.send_signal(number)
        assert ending(process) == ("interrupted", 0)


def test_nothing_outlives_a_killed_watchdog_connection() -> None:
    with bound_to_parent("1h") as process:
        pid = measuring(process)
        process.kill()
        assert is_gone(pid)


@pytest.mark.kernels
def test_what_does_not_end_when_asked_is_killed() -> None:
    with bound_to_parent("1h") as process:
        pid = measuring(process)
        os.kill(pid, signal.SIGSTOP)
        assert process.stdin is not None
        process.stdin.close()
        try:
            assert is_gone(pid)
        finally:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        assert process.wait(WAIT_S) == 128 + signal.SIGKILL


def test_the_status_is_that_of_what_was_run() -> None:
    with bound_to_parent("1h", "cyclic", "--nonsense") as process:
        assert process.wait(WAIT_S) == 2
        assert process.stderr is not None
        said = process.stderr.read()
    assert said.startswith(b"rtscope-agent cyclic: no option '--nonsense'")
