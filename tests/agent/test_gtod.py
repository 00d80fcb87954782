# SPDX-License-Identifier: GPL-2.0-only
"""The agent's gtod verb on this machine: each clock's steps, cost, and who answers."""

import os
import statistics
import time
from pathlib import Path

import pytest

from tests.agent.probing import (
    LAST_CPU,
    Lines,
    hog,
    measure,
    measuring,
    needs_quiet,
    needs_root,
    of_type,
    samples,
    threads,
)

CLOCK_MONOTONIC_COARSE = 6
"""of time.h; Python has no name for it"""


@pytest.fixture(scope="module")
def lines() -> Lines:
    """Every clock, 200,000 pairs each."""
    return measure("gtod", "-l", "200000")


def test_every_clock_gives_its_pairs_on_one_cpu(lines: Lines) -> None:
    found = threads(lines)
    assert {
        "gettimeofday", "CLOCK_REALTIME", "CLOCK_REALTIME_COARSE", "CLOCK_MONOTONIC",
        "CLOCK_MONOTONIC_COARSE", "CLOCK_MONOTONIC_RAW", "CLOCK_BOOTTIME", "CLOCK_TAI",
        "CLOCK_MONOTONIC:syscall",
    } <= found.keys()  # fmt: skip
    assert all(thread["count"] == 200_000 for thread in found.values())
    assert {thread["cpu"] for thread in found.values()} == {min(os.sched_getaffinity(0))}
    assert of_type(lines, "end")[0]["status"] == "complete"


def test_no_monotonic_clock_goes_back(lines: Lines) -> None:
    for name, thread in threads(lines).items():
        if name.startswith(("CLOCK_MONOTONIC", "CLOCK_BOOTTIME")):
            assert (thread["facts"]["backwards"], thread["early"]) == (0, 0)


def test_a_coarse_clock_steps_by_the_tick(lines: Lines) -> None:
    tick_ns = time.clock_getres(CLOCK_MONOTONIC_COARSE) * 1e9
    for name in ("CLOCK_MONOTONIC_COARSE", "CLOCK_REALTIME_COARSE"):
        facts = threads(lines)[name]["facts"]
        assert facts["step_ns"] == pytest.approx(tick_ns, rel=0.1)
        assert facts["resolution_ns"] == pytest.approx(tick_ns)


def test_gettimeofday_steps_by_whole_microseconds(lines: Lines) -> None:
    assert threads(lines)["gettimeofday"]["facts"]["step_ns"] == 1000
    assert threads(lines)["gettimeofday"]["facts"]["resolution_ns"] == 1000
    assert all(gap % 1000 == 0 for gap in samples(lines) if gap < 2000)


def test_the_kernel_answers_a_system_call_and_the_vdso_the_rest(lines: Lines) -> None:
    found = threads(lines)
    assert found["CLOCK_MONOTONIC:syscall"]["facts"]["vdso"] == 0
    source = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource").read_text()
    if source.strip() not in {"tsc", "kvm-clock", "arch_sys_counter", "timebase"}:
        pytest.skip(f"whether the vDSO can read the clock source {source.strip()} is not known")
    for name in ("gettimeofday", "CLOCK_MONOTONIC", "CLOCK_REALTIME", "CLOCK_MONOTONIC_COARSE"):
        assert found[name]["facts"]["vdso"] == 1


def test_the_cost_is_what_most_pairs_take(lines: Lines) -> None:
    # For the counter this also tells that its ticks became nanoseconds.
    found = threads(lines)
    counters = [name for name, thread in found.items() if "frequency_hz" in thread["facts"]]
    for name in ("CLOCK_MONOTONIC", "CLOCK_MONOTONIC:syscall", *counters):
        median = statistics.median(samples(lines, thread=found[name]["thread"]))
        assert median / 2 < found[name]["facts"]["cost_ns"] < 2 * median + 5


def test_a_counter_reports_its_frequency_and_no_vdso(lines: Lines) -> None:
    counters = [t for t in threads(lines).values() if "frequency_hz" in t["facts"]]
    assert len(counters) == 1 or os.uname().machine != "x86_64"
    for counter in counters:
        facts = counter["facts"]
        assert facts["frequency_hz"] * facts["resolution_ns"] == pytest.approx(1e9, rel=1e-6)
        assert "vdso" not in facts


@needs_root
@needs_quiet
def test_a_thread_of_higher_priority_is_found_between_two_readings() -> None:
    options = ("-a", str(LAST_CPU), "-p", "50", "--clock", "CLOCK_MONOTONIC:syscall", "-D", "30s")
    bursts, burst_ns = 160, 5_000_000
    with measuring("gtod", *options) as lines:
        hog(LAST_CPU, burst_ns / 1e6, 15, bursts, 90)
    gaps = samples(lines, burst_ns * 9 // 10)
    # The other bursts begin between two pairs, where nothing is measured, or in a rest.
    left_ns = of_type(lines, "end")[0]["time_ns"] - bursts * burst_ns
    reading_ns = of_type(lines, "thread")[0]["count"] * statistics.median(samples(lines))
    assert len(gaps) == pytest.approx(bursts * reading_ns / left_ns, rel=0.6)
    assert statistics.median(gaps) == pytest.approx(burst_ns, rel=0.1)
