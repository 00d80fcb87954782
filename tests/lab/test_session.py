# SPDX-License-Identifier: GPL-2.0-only
"""What a session does with the kernel's tracing, and with a CPU that goes offline under it."""

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rtscope.lab.kernels import Kernel
from rtscope.lab.vm import vm_target
from rtscope.target.local import agent_path
from tests.lab.guest_shell import run_script, sections

MOST_NS = 20_000
"""from the sample's clock to the marker"""

Lines = list[dict[str, Any]]


# On the last CPU; with two of them, CPU 1 goes offline under a run.
SCRIPT = """
tracing=/sys/kernel/tracing; online=/sys/devices/system/cpu/cpu1/online
mount -t tracefs tracefs $tracing
[ -e $online ] && cpu=1 || cpu=0
break_at() {
    echo "@ $1"; probe=$2; shift 2
    agent $probe --json --progress=0 -a$cpu -D5s --break=1us -i10ms "$@"
}
break_traced() {
    echo > $tracing/trace; echo 1 > $tracing/tracing_on
    break_at "$@"
    echo "@ $1 traced"; cat $tracing/tracing_on; echo "@ $1 trace"; cat $tracing/trace
}
echo mono > $tracing/trace_clock; echo 1 > $tracing/events/sched/sched_switch/enable
break_traced break cyclic
break_traced signal signal --method=asynchronous
insmod /rtevent.ko
break_traced event event --via=sigio
echo 0 > $tracing/events/sched/sched_switch/enable; echo 1 > $tracing/tracing_on
break_at untraced cyclic
echo "@ untraced traced"; cat $tracing/tracing_on
if [ -e $online ]; then
    echo "@ unplugged"
    agent cyclic --json --progress=200ms -D60s > /tmp/unplugged &
    until grep -qs '"type":"progress".*"thread":1,"count":[1-9]' /tmp/unplugged; do
        usleep 100000
    done
    echo 0 > $online
    wait $!
    cat /tmp/unplugged
fi
"""


def booted(spec: str, directory: Path) -> dict[str, str]:
    target = vm_target(f"vm:{spec}")
    agent = agent_path(target.kernel.arch)
    came = run_script(target, SCRIPT, agent, directory, limit_s=600, modules=["rtevent"])
    return sections(came.said)


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


class Stop(NamedTuple):
    """What the trace of a run shows that --break ended."""

    after_ns: float
    """from the sample's clock to the marker"""
    thread: str
    """that wrote the marker"""
    before: list[str]
    """the marker's CPU, from its last switch of threads to the marker"""


def stop_of(said: dict[str, str], name: str, cpu: int) -> Stop:
    lines = lines_of(said[name])
    start, thread = last(lines, "start"), last(lines, "thread")
    assert lines[-1]["status"] == "threshold"
    assert "tracing-stopped" in codes(lines)
    assert said[f"{name} traced"].strip() == "0"

    events = [line for line in said[f"{name} trace"].splitlines() if line and line[0] != "#"]
    (at,) = (number for number, line in enumerate(events) if "tracing_mark_write" in line)
    marker = re.match(
        rf"\s*(.*)-\d+\s+\[00{cpu}\].* ([\d.]+): tracing_mark_write: "
        r"hit latency threshold \((\d+) > 1\)",
        events[at],
    )
    assert marker
    (sample,) = (one for one in thread["worst"] if one["latency_ns"] // 1000 == int(marker[3]))
    sampled_ns: int = start["monotonic_ns"] + sample["time_ns"] + sample["latency_ns"]
    switch = max(n for n, line in enumerate(events[:at]) if f"[00{cpu}]" in line)
    return Stop(float(marker[2]) * 1e9 - sampled_ns, marker[1], events[switch:at])


@pytest.mark.parametrize("name", ["break", "signal", "event"])
def test_break_stops_the_trace_within_microseconds(exact: dict[str, str], name: str) -> None:
    assert -1000 <= stop_of(exact, name, 0).after_ns < MOST_NS, "the trace shows whole microseconds"


def test_break_stops_the_trace_on_the_cpu_that_was_measured(two_cpus: dict[str, str]) -> None:
    stop = stop_of(two_cpus, "break", 1)
    assert stop.thread == "cyclic/0"
    assert "next_comm=cyclic/0" in stop.before[0]
    assert not any("next_comm=agent" in line for line in stop.before)


def test_break_leaves_the_tracing_of_a_kernel_that_traces_nothing(exact: dict[str, str]) -> None:
    lines = lines_of(exact["untraced"])
    assert lines[-1]["status"] == "threshold"
    assert "tracing-stopped" not in codes(lines)
    assert exact["untraced traced"].strip() == "1"


def test_a_cpu_that_goes_offline_ends_the_run_with_the_reason(two_cpus: dict[str, str]) -> None:
    lines = lines_of(two_cpus["unplugged"])
    assert lines[-1]["status"] == "failed"
    (moved,) = [line for line in lines if line.get("code") == "thread-moved"]
    assert "CPU 1" in moved["text"]
    assert "offline" in moved["text"]
    assert lines[-1]["time_ns"] < 60e9
    assert all(line["count"] > 0 for line in lines if line["type"] == "thread")
