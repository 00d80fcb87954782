# SPDX-License-Identifier: GPL-2.0-only
"""rtscope threads, as a user has it: on this machine, in a terminal, in a pipe."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.agent.probing import LAST_CPU, needs_root
from tests.cli.conftest import COMMAND, Rtscope, started
from tests.places import needs_kernel_threads
from tests.terminal import on_terminal

# A thread of fifo 99 and one of fifo 31, each on one CPU.
CHILD = """
import os, sys, threading, time

def begin(name, priority):
    open(f"/proc/self/task/{threading.get_native_id()}/comm", "wb").write(name)
    os.sched_setaffinity(0, {int(sys.argv[1])})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    ready.release()
    time.sleep(60)

ready = threading.Semaphore(0)
for what in [(b"top", 99), (b"[red]\\x1b[2J", 31)]:
    threading.Thread(target=begin, args=what, daemon=True).start()
    ready.acquire()
print("ready", flush=True)
time.sleep(60)
"""


@contextmanager
def real_time_threads() -> Iterator[int]:
    with subprocess.Popen(
        [sys.executable, "-c", CHILD, str(LAST_CPU)], stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        try:
            assert child.stdout.readline() == b"ready\n"
            yield child.pid
        finally:
            child.kill()


@needs_root
def test_json_has_every_thread_of_each_reading_until_it_is_interrupted(
    environment: dict[str, str],
) -> None:
    words = ("threads", "--json", "--live", "-i", "200ms")
    with real_time_threads() as pid, started(environment, *words) as watcher:
        assert watcher.stdout is not None
        try:
            readings = [json.loads(watcher.stdout.readline()) for _ in range(3)]
            watcher.send_signal(signal.SIGINT)
            assert watcher.wait(timeout=30) == 0
        finally:
            watcher.kill()
    assert [seen["since_ns"] is None for seen in readings] == [True, False, False]
    assert all(thread["since"] for thread in readings[-1]["threads"])
    own = {one["name"]: one for one in readings[0]["threads"] if one["pid"] == pid}
    assert (own["top"]["policy"], own["top"]["priority"], own["top"]["rank"]) == ("fifo", 99, -100)
    assert "[red]\x1b[2J" in own
    assert "user-at-99" in {remark["code"] for remark in readings[0]["remarks"]}


@needs_kernel_threads
def test_a_pipe_gets_one_table_of_all_threads(rtscope: Rtscope) -> None:
    done = rtscope("threads", "--live", "--all", COLUMNS="300")
    assert done.returncode == 0, done.stderr
    count, _, total, *_ = done.stdout.split()
    assert count == total
    assert done.stdout.count("Policy") == 1
    assert "since" not in done.stdout
    assert "kthreadd" in done.stdout
    assert "rtscope-agent" in done.stdout


def test_the_table_is_live_and_its_last_state_stays_after_ctrl_c(
    environment: dict[str, str],
) -> None:
    command = [*COMMAND, "threads", "--live", "--all", "-i", "0.2"]
    with on_terminal(command, environment) as watcher:
        watcher.wait_for("switches in the last", times=3)
        watcher.process.send_signal(signal.SIGINT)
        assert watcher.end() == 0
    after = watcher.text.rpartition("\x1b[2K")[2]
    assert "Policy" in after
    assert "rtscope-agent" in after
    assert "Traceback" not in watcher.text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--live", "--target", "vm:6.12-rt-amd64"], "--live is for real machines"),
        (["--interval", "5s"], "--interval is the refresh interval of --live"),
        (["--live", "--json", "--interval", "1ms"], "is not a time of at least 100ms"),
        (["--target", "elsewhere"], "'elsewhere' cannot be reached"),
    ],
)
def test_what_cannot_be_is_a_sentence(rtscope: Rtscope, arguments: list[str], said: str) -> None:
    done = rtscope("threads", *arguments)
    assert done.returncode == 2, arguments
    assert said in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
