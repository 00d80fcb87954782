# SPDX-License-Identifier: GPL-2.0-only
"""What the tests of tune share: threads of their own to tune, and the agent that tunes them."""

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.agent.probing import AGENT, run

MARK = secrets.token_hex(2) + secrets.choice("ghijklmnop")
"""Begins the name of each thread that is tuned, so that no other test process tunes it too. A name
has 15 characters."""

# Threads with the names given in hexadecimal, which all wait; the first is the process itself.
_CHILD = """
import sys, threading, time

def begin(name):
    open(f"/proc/self/task/{threading.get_native_id()}/comm", "wb").write(bytes.fromhex(name))
    ready.release()
    time.sleep(300)

ready = threading.Semaphore(0)
for name in sys.argv[2:]:
    threading.Thread(target=begin, args=(name,), daemon=True).start()
for _ in sys.argv[2:]:
    ready.acquire()
open("/proc/self/comm", "wb").write(bytes.fromhex(sys.argv[1]))
print("ready", flush=True)
time.sleep(300)
"""


class Tuned(NamedTuple):
    """What the agent did when it was asked to tune."""

    status: int
    changes: list[dict[str, Any]]
    warnings: dict[str, str]
    complaint: str

    def states(self) -> list[str]:
        return [change["state"] for change in self.changes]


class Given(NamedTuple):
    """What a thread has been given of the machine."""

    policy: int
    priority: int
    nice: int
    cpus: set[int]


def tune(journal: Path, *words: str, before: tuple[str, ...] = (), agent: Path = AGENT) -> Tuned:
    """`tune WORDS` to its end."""
    done = run("tune", "--json", "--journal", journal, *words, prefix=before, agent=agent)
    return read(done.returncode, done.stdout, done.stderr)


def read(status: int, output: str, complaint: str) -> Tuned:
    """The lines that `tune --json` wrote, the hello first."""
    lines = [json.loads(line) for line in output.splitlines()]
    assert not lines or lines[0]["type"] == "hello"
    return Tuned(
        status,
        [line for line in lines if line["type"] == "change"],
        {line["code"]: line["text"] for line in lines if line["type"] == "warning"},
        complaint,
    )


@contextmanager
def waiting_threads(*names: str, before: tuple[str, ...] = ()) -> Iterator[list[int]]:
    """Threads of these names, the first being their process; their numbers in that order."""
    command = [*before, sys.executable, "-c", _CHILD, *(name.encode().hex() for name in names)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == b"ready\n"
            tids = sorted(int(task.name) for task in Path(f"/proc/{child.pid}/task").iterdir())
            assert len(tids) == len(names)
            for tid in tids:  # whatever the tests are run with
                os.setpriority(os.PRIO_PROCESS, tid, 0)
            yield tids
        finally:
            child.kill()


def given(tid: int) -> Given:
    """Of the kernel, not of the agent."""
    return Given(
        os.sched_getscheduler(tid),
        os.sched_getparam(tid).sched_priority,
        os.getpriority(os.PRIO_PROCESS, tid),
        os.sched_getaffinity(tid),
    )
