# SPDX-License-Identifier: GPL-2.0-only
"""ftrace works on the lab's real-time kernels, with a clock that is fine and never turns back."""

import functools
import re
from collections.abc import Callable

import pytest

from rtscope.lab.kernels import Kernel
from rtscope.lab.vm import vm_target
from tests.lab.guest_program import run_guest

Built = Callable[[str], Kernel]
Traced = Callable[[str], dict[str, list[str]]]

LIMIT_S = 300

KERNELS = [
    pytest.param("loongson2e-rt", marks=pytest.mark.kernels),
    pytest.param("e6500-rt", marks=pytest.mark.kernels),
    pytest.param("malta-rt", marks=pytest.mark.long),
    pytest.param("pseries-rt", marks=pytest.mark.long),
]


@pytest.fixture(scope="module")
def traced(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Traced:
    """What each tracer wrote on a kernel, which is booted once; the clock's marks under "clock"."""

    @functools.cache
    def trace(name: str) -> dict[str, list[str]]:
        built(name)
        target = vm_target(f"vm:{name},mode=fast")
        directory = tmp_path_factory.mktemp(name)
        said = run_guest(target, "trace_guest.c", directory, limit_s=LIMIT_S).said
        parts = said.split("@ ")[1:]
        return {part.split()[0]: part.splitlines()[1:] for part in parts}

    return trace


@pytest.mark.parametrize("name", KERNELS)
def test_the_function_tracer_reports_who_called_whom(name: str, traced: Traced) -> None:
    lines = [line for line in traced(name)["function"] if not line.startswith("#")]
    calls = [re.search(r"\[\d+\] \S+ +\d+\.\d{6}: ([\w.]+) <-([\w.]+)", line) for line in lines]

    assert len(lines) > 100
    assert all(calls)
    assert len({call[1] for call in calls if call}) > 20


@pytest.mark.parametrize("name", KERNELS)
def test_the_function_graph_reports_what_each_call_took_finer_than_a_microsecond(
    name: str, traced: Traced
) -> None:
    text = "\n".join(traced(name)["function_graph"])
    took_us = [float(us) for us in re.findall(r"(\d+\.\d{3}) us +\|", text)]

    assert len(took_us) > 50
    assert len({us % 1 for us in took_us}) > 10
    assert sorted(took_us)[len(took_us) // 2] < 1000
    assert re.search(r"\w+\(\) \{", text)


@pytest.mark.parametrize("tracer", ["irqsoff", "preemptoff", "wakeup_rt"])
@pytest.mark.parametrize("name", KERNELS)
def test_a_latency_tracer_keeps_the_longest_with_its_trace(
    name: str, tracer: str, traced: Traced
) -> None:
    lines = traced(name)[tracer]
    text = "\n".join(lines)
    latency = re.search(r"^# latency: (\d+) us", text, re.MULTILINE)

    assert lines[0] == f"# tracer: {tracer}"
    assert latency
    assert 0 < int(latency[1]) < 1_000_000
    assert sum(not line.startswith("#") for line in lines) > 2
    if tracer == "wakeup_rt":
        assert re.search(r"policy:1 rt_prio:[1-9]", text)  # ours or one of the kernel's own
    else:
        assert "=> started at:" in text


@pytest.mark.parametrize("name", KERNELS)
def test_the_traces_clock_goes_on_as_the_time_does_while_the_counter_begins_anew(
    name: str, traced: Traced
) -> None:
    marks = re.findall(
        r"(\d+\.\d{6}): tracing_mark_write: monotonic (\d+\.\d{9})",
        "\n".join(traced(name)["clock"]),
    )
    traced_s = [float(trace) for trace, _ in marks]
    apart_s = [float(trace) - float(now) for trace, now in marks]

    assert len(marks) == 150
    assert traced_s == sorted(traced_s)
    assert traced_s[-1] - traced_s[0] > 29
    assert max(apart_s) - min(apart_s) < 1  # the counter's period is several times that
    assert len({round(s * 1e6) % 1000 for s in traced_s}) > 50
