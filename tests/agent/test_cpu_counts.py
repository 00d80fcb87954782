# SPDX-License-Identifier: GPL-2.0-only
"""What the kernel counts on each measured CPU, told with the run."""

from pathlib import Path

import pytest

from tests.agent.probing import LAST_CPU, measure, of_type, threads

OPTIONS = ("--duration", "500ms", "--cpus", str(LAST_CPU), "--progress", "0")


SCHEDSTAT = Path("/proc/schedstat")


def switches() -> int:
    lines = SCHEDSTAT.read_text().splitlines()
    (figures,) = (line.split() for line in lines if line.startswith(f"cpu{LAST_CPU} "))
    return int(figures[9])


def device_interrupts() -> int:
    head, *lines = Path("/proc/interrupts").read_text().splitlines()
    column = head.split().index(f"CPU{LAST_CPU}") + 1
    words = [line.split() for line in lines]
    return sum(int(line[column]) for line in words if line[0][:-1].isdigit())


def test_interrupts_are_the_kernels_and_of_the_measurement_alone() -> None:
    before = device_interrupts()
    lines = measure("cyclic", *OPTIONS, "--cpu-counts")
    most = device_interrupts() - before
    assert of_type(lines, "start")[0]["facts"][-2:] == ["device_interrupts", "switches"]
    (thread,) = threads(lines).values()
    assert 0 <= thread["facts"]["device_interrupts"] <= most


@pytest.mark.skipif(not SCHEDSTAT.exists(), reason="this kernel has no CONFIG_SCHEDSTATS")
def test_switches_are_the_kernels_and_at_least_those_to_the_thread() -> None:
    before = switches()
    lines = measure("cyclic", *OPTIONS, "--cpu-counts")
    (thread,) = threads(lines).values()
    assert thread["count"] <= thread["facts"]["switches"] <= switches() - before


def test_nobody_gets_them_unasked() -> None:
    lines = measure("cyclic", *OPTIONS)
    (thread,) = threads(lines).values()
    assert "switches" not in [*of_type(lines, "start")[0]["facts"], *thread["facts"]]
