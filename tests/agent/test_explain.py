# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's trace is kept around the worst samples, and nothing of it is left in the kernel."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from rtscope.engine.traced import Windows, explained_by_trace
from rtscope.target.protocol import decode_line
from tests.agent.probing import (
    AGENT,
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
from tests.places import TRACEFS, needs_tracefs

INSTANCES = (
    *("unshare", "--mount", "sh", "-c"),
    f"({TRACEFS}) && ls /sys/kernel/tracing/instances",
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


def settings() -> dict[str, str]:
    """The global settings of tracing, which are not ours."""
    names = "tracing_on current_tracer trace_clock set_event buffer_size_kb"
    script = f"({TRACEFS}) && cd /sys/kernel/tracing && head -c 4096 {names}"
    done = subprocess.run(["unshare", "--mount", "sh", "-c", script],
                          capture_output=True, text=True, check=True)  # fmt: skip
    return dict(part.split(" <==\n", 1) for part in done.stdout.split("==> ") if part)


@needs_tracefs
@pytest.mark.parametrize("seed", range(6))
def test_a_kill_at_any_moment_leaves_no_instance_and_no_setting(seed: int) -> None:
    before, chance = settings(), random.Random(seed)
    command: list[str | Path] = [AGENT, "cyclic", "--json", "-D", "1h", "--above", "1us"]
    with subprocess.Popen(
        [*command, "--explain-stream", "--league"], stdout=subprocess.DEVNULL
    ) as agent:
        time.sleep(chance.uniform(0.0, 0.4))
        victims = [agent.pid, *children(agent.pid)]
        chance.shuffle(victims)  # of odd seeds one is killed and then the agent, else all
        for pid in victims[: 1 if seed % 2 else None]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        agent.kill()
    if not gone(agent.pid):  # the supervisor was killed, too: the kernel has stopped the recording
        assert left_in(agent.pid, "tracing_on") == "0"
        measure("cyclic", "-l", "10", "--explain", "1")
    assert not instances(agent.pid)
    assert settings() == before


def left_in(pid: int, name: str) -> str:
    """A file of the instance that a killed agent left."""
    script = f"({TRACEFS}) && cat /sys/kernel/tracing/instances/rtscope-{pid}-*/{name}"
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@needs_tracefs
def test_only_samples_above_the_limit_are_traced_and_each_as_it_comes() -> None:
    with hogged(LAST_CPU, burst_ms=4, period_ms=100, priority=95):
        options = ("-a", str(LAST_CPU), "-l", "900", "--above", "2ms")
        lines = measure("cyclic", *options, "--explain-stream", "--league", "--progress", "100ms")
    windows = of_type(lines, "trace-window")
    kinds = [line["type"] for line in lines]
    [end] = of_type(lines, "trace-end")

    assert kinds.index("trace") < kinds.index("start")
    assert len(windows) >= 4
    assert all(window["latency_ns"] >= 2_000_000 for window in windows)
    assert kinds.index("trace-window") < len(kinds) - kinds[::-1].index("progress")
    above = sum(
        count
        for line in of_type(lines, "histogram")
        for low, count in zip(line["lower_ns"], line["count"], strict=True)
        if low >= 2_100_000
    )
    assert above <= len(windows) + end["skipped"]


@needs_tracefs
def test_the_league_counts_who_took_the_measured_cpu() -> None:
    with hogged(LAST_CPU, burst_ms=5, period_ms=20, priority=95):
        lines = measure("cyclic", "-a", str(LAST_CPU), "-D", "1s", "--league")
    [league] = of_type(lines, "league")
    took = {program["name"]: program for program in league["programs"]}
    hog = took[Path(sys.executable).name[:15]]

    assert 0.1e9 < hog["total_ns"] < league["known_ns"] < 1.5e9
    assert 4e6 < hog["longest_ns"] <= hog["total_ns"]
    assert not any(name.startswith("cyclic/") for name in took)


@needs_tracefs
@pytest.mark.parametrize("deep", ["preemptirq", "function", "irqsoff", "preemptoff"])
def test_a_tracer_that_the_kernel_lacks_or_refuses_is_reported_and_the_rest_explained(
    deep: str,
) -> None:
    lines = measure("cyclic", "-l", "300", "--explain", "2", "--explain-deep", deep)
    [trace] = of_type(lines, "trace")
    refused = any(line["code"] == "no-deep-trace" for line in of_type(lines, "warning"))

    assert (trace["deep"] == "none") == refused
    if deep == "preemptirq":
        known = {event["name"].partition("/")[0] for event in trace["events"]}
        assert ("preemptirq" in known) != ("preemptirq/*" in trace["missing"])
    assert len(of_type(lines, "trace-window")) == 2
    assert all(part["complete"] for one in of_type(lines, "trace-window") for part in one["parts"])


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
