# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's trace is kept around the worst samples, and nothing of it is left in the kernel."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec

from rtscope.engine.traced import Windows, explained_by_trace
from rtscope.target.protocol import decode_line
from tests.agent.probing import (
    LAST_CPU,
    NOBODY,
    children,
    hogged,
    measure,
    needs_quiet,
    of_type,
    started,
)
from tests.measured import run_of
from tests.places import needs_tracefs

INSTANCES = (
    *("unshare", "--mount", "sh", "-c"),
    "mount -t tracefs tracefs /sys/kernel/tracing && ls /sys/kernel/tracing/instances",
)


def instances(pid: int) -> list[str]:
    """The trace instances that this agent made."""
    listed = subprocess.run(INSTANCES, capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.split() if name.startswith(f"rtscope-{pid}-")]


def gone(pid: int) -> bool:
    """Whether they are removed, soon."""
    until = time.monotonic() + 20
    while instances(pid) and time.monotonic() < until:
        time.sleep(0.05)
    return not instances(pid)


@needs_quiet
@needs_tracefs
def test_a_thread_of_higher_priority_is_named_as_the_cause() -> None:
    with hogged(LAST_CPU, burst_ms=4, period_ms=50, priority=95):
        lines = measure("cyclic", "-a", str(LAST_CPU), "-l", "600", "--explain", "3")
    received = Windows()
    for line in lines:
        received.receive(decode_line(msgspec.json.encode(line)))
    reported = explained_by_trace(run_of(), received).explanations

    assert len(reported) == 3
    [thread] = of_type(lines, "thread")
    worst = sorted((one["latency_ns"] for one in thread["worst"]), reverse=True)
    assert [one.latency_ns for one in reported] == worst[:3]
    assert [sum(term.ns for term in one.ledger) for one in reported] == worst[:3]
    # A kernel that does not record each switch leaves samples unexplained.
    name = Path(sys.executable).name[:15]
    named = [one for one in reported if one.ledger[0].name.partition("/")[0] == name]
    assert named
    assert {one.ledger[0].kind for one in named} == {"thread"}
    assert all(one.ledger[0].ns > 0.5 * one.latency_ns for one in named)


@needs_tracefs
def test_whatever_kills_the_agent_nothing_is_left_in_the_kernel() -> None:
    with started("cyclic", "--explain", "2", until="start") as agent:
        assert instances(agent.pid)
        agent.send_signal(signal.SIGINT)
        agent.wait(20)
        assert not instances(agent.pid)
    with started("cyclic", "--explain", "2", until="start") as agent:
        agent.kill()
        assert gone(agent.pid)
    with started("cyclic", "--explain", "2", until="start") as agent:
        [supervisor] = [pid for pid in children(agent.pid) if "rtscope-trace" in name_of(pid)]
        os.kill(supervisor, signal.SIGKILL)
        agent.kill()
        agent.wait(20)
        assert instances(agent.pid)
    measure("cyclic", "-l", "10", "--explain", "1")
    assert not instances(agent.pid)


def name_of(pid: int) -> str:
    """The name of a process."""
    return Path(f"/proc/{pid}/comm").read_text()


def test_without_permission_it_measures_and_says_what_it_cannot_do(public_agent: Path) -> None:
    prefix = NOBODY if os.geteuid() == 0 else ()
    lines = measure("cyclic", "-l", "10", "--explain", "1", prefix=prefix, agent=public_agent)
    [warning] = [line for line in of_type(lines, "warning") if line["code"] == "no-trace"]
    assert "Run as root" in warning["text"]
    assert of_type(lines, "thread")[0]["count"] == 10
    assert not of_type(lines, "trace")
