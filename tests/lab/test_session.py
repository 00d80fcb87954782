# SPDX-License-Identifier: GPL-2.0-only
"""What a session does with the kernel's tracing, and with a CPU that goes offline under it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from rtscope.lab.kernels import Kernel
from rtscope.lab.vm import vm_target
from rtscope.target.local import agent_path
from tests.lab.guest_program import heard
from tests.lab.guest_shell import sections

MOST_NS = 20_000
"""from the sample's clock to the marker"""

Lines = list[dict[str, Any]]


def booted(spec: str, directory: Path) -> dict[str, str]:
    target = vm_target(f"vm:{spec}")
    files = {"agent": agent_path(target.kernel.arch).read_bytes()}
    return sections(heard(target, "session_guest.c", directory, files=files, limit_s=600).said)


@pytest.fixture(scope="module")
def exact(rt_kernel: Kernel, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """On one CPU, for several take turns."""
    return booted(f"{rt_kernel.name},cpus=1", tmp_path_factory.mktemp("exact"))


@pytest.fixture(scope="module")
def two_cpus(rt_kernel: Kernel, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return booted(f"{rt_kernel.name},cpus=2,mode=fast", tmp_path_factory.mktemp("fast"))


def lines_of(text: str) -> Lines:
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def last(lines: Lines, kind: str) -> dict[str, Any]:
    """The start is told anew where the port is slow."""
    return [line for line in lines if line["type"] == kind][-1]


def codes(lines: Lines) -> set[str]:
    return {line["code"] for line in lines if line["type"] == "warning"}


def stopped_after_ns(said: dict[str, str], cpu: int) -> float:
    """From the sample's clock to the marker, which the measuring thread wrote before others ran."""
    lines = lines_of(said["break"])
    start, thread = last(lines, "start"), last(lines, "thread")
    (worst,) = thread["worst"]
    assert lines[-1]["status"] == "threshold"
    assert "tracing-stopped" in codes(lines)
    assert said["traced"].strip() == "0"

    events = [line for line in said["trace"].splitlines() if line and not line.startswith("#")]
    at = next(number for number, line in enumerate(events) if "tracing_mark_write" in line)
    marker = re.match(
        rf"\s*cyclic/0-(\d+)\s+\[00{cpu}\].* ([\d.]+): tracing_mark_write: "
        r"hit latency threshold \((\d+) > 1\)",
        events[at],
    )
    assert marker
    assert int(marker[3]) == worst["latency_ns"] // 1000
    switch = next(line for line in reversed(events[:at]) if f"[00{cpu}]" in line)
    assert f"next_comm=cyclic/0 next_pid={marker[1]}" in switch
    assert not any("next_comm=agent" in line for line in events[events.index(switch) : at])
    sampled_ns: int = start["monotonic_ns"] + worst["time_ns"] + worst["latency_ns"]
    return float(marker[2]) * 1e9 - sampled_ns


def test_break_stops_the_trace_within_microseconds(exact: dict[str, str]) -> None:
    assert -1000 <= stopped_after_ns(exact, 0) < MOST_NS, "the trace shows whole microseconds"


def test_break_stops_the_trace_on_the_cpu_that_was_measured(two_cpus: dict[str, str]) -> None:
    stopped_after_ns(two_cpus, 1)


def test_break_leaves_the_tracing_of_a_kernel_that_traces_nothing(exact: dict[str, str]) -> None:
    lines = lines_of(exact["untraced break"])
    assert lines[-1]["status"] == "threshold"
    assert "tracing-stopped" not in codes(lines)
    assert exact["untraced"].strip() == "1"


def test_a_cpu_that_goes_offline_ends_the_run_with_the_reason(two_cpus: dict[str, str]) -> None:
    lines = lines_of(two_cpus["unplugged"])
    assert lines[-1]["status"] == "failed"
    (moved,) = [line for line in lines if line.get("code") == "thread-moved"]
    assert "CPU 1" in moved["text"]
    assert "offline" in moved["text"]
    assert lines[-1]["time_ns"] < 10e9
    assert all(line["count"] > 0 for line in lines if line["type"] == "thread")
