# SPDX-License-Identifier: GPL-2.0-only
"""The agent's migrate verb: the right threads on the CPUs, and a wrong one found."""

import os
import statistics
from pathlib import Path

import pytest

from tests.agent.probing import (
    hog,
    lines_left,
    measure,
    measuring,
    middle_ns,
    needs_quiet,
    needs_root,
    needs_two_cpus,
    of_type,
    samples,
    started,
    threads,
)


@needs_root
@needs_two_cpus
def test_the_highest_threads_run_at_once_and_the_lowest_when_a_cpu_is_free() -> None:
    lines = measure("migrate", "-a", "0,1", "-l", "20", "--work", "20ms", "-p", "98")
    assert [thread["priority"] for thread in of_type(lines, "thread")] == [98, 97, 96]
    assert middle_ns(lines, "rank 1") < 2e6
    assert middle_ns(lines, "rank 2") < 2e6
    assert middle_ns(lines, "rank 3") == pytest.approx(20e6, rel=0.1)
    for thread in of_type(lines, "thread"):
        reported = thread["facts"]
        assert reported["rounds"] == thread["count"] == 20
        assert reported["violations"] <= 4
        assert reported["cpu0"] + reported["cpu1"] == 20


@needs_root
@needs_two_cpus
def test_two_threads_kept_on_one_cpu_are_a_violation_as_long_as_the_others_work() -> None:
    options = ("-a", "0,1", "--work", "20ms", "-l", "20", "-p", "98")
    with started("migrate", *options) as process:
        for task in Path(f"/proc/{process.pid}/task").iterdir():
            if (task / "comm").read_text().strip() in ("migrate/0", "migrate/1"):
                os.sched_setaffinity(int(task.name), {0})
        lines = lines_left(process)
    waited = threads(lines)["rank 2"]
    assert 12 <= waited["facts"]["violations"] <= 20
    assert waited["facts"]["cpu0"] >= 12
    assert middle_ns(lines, "rank 2") == pytest.approx(20e6, rel=0.1)
    assert threads(lines)["rank 1"]["facts"]["violations"] <= 4
    assert threads(lines)["rank 3"]["facts"]["violations"] == 0


@needs_quiet
@needs_root
@needs_two_cpus
def test_a_cpu_taken_by_something_higher_delays_threads_but_violates_nothing() -> None:
    with measuring("migrate", "-a", "0,1", "--work", "20ms", "-p", "98") as lines:
        hog(0, 90, 106, 35, 99)
    # Between two bursts there is a CPU for rank 2 at once or soon; else when rank 1 is done.
    waits = samples(lines, 10_000_000, threads(lines)["rank 2"]["thread"])
    assert len(waits) >= 15
    assert statistics.median(waits) == pytest.approx(20e6, rel=0.1)
    assert threads(lines)["rank 2"]["facts"]["cpu1"] >= 15
    assert sum(thread["facts"]["violations"] for thread in of_type(lines, "thread")) <= 8


@needs_root
def test_it_runs_on_one_cpu() -> None:
    lines = measure("migrate", "-a", "0", "-l", "5", "-i", "50ms")
    assert list(threads(lines)) == ["rank 1", "rank 2"]
    assert all(thread["facts"]["cpu0"] == 5 for thread in of_type(lines, "thread"))
    assert middle_ns(lines, "rank 2") > 4.5e6
