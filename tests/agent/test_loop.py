# SPDX-License-Identifier: GPL-2.0-only
"""The agent's loop verb: the period that each way of sleeping has, and what lengthens it."""

import signal
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.agent.probing import (
    Lines,
    hog,
    lines_left,
    measure,
    measuring,
    middle_ns,
    needs_quiet,
    needs_root,
    needs_two_cpus,
    samples,
    started,
    threads,
)

HIGH = ("-p", "98")
"""Above whatever else this machine may be doing, below the bursts of the tests."""

METHODS = ["relative", "compensated", "absolute", "timerfd"]


def facts(lines: Lines, method: str) -> dict[str, Any]:
    found: dict[str, Any] = threads(lines)[method]["facts"]
    return found


def is_stopped(pid: int) -> bool:
    stats = [task.read_text() for task in Path(f"/proc/{pid}/task").glob("*/stat")]
    return all(stat.rpartition(")")[2].split()[0] == "T" for stat in stats)


@needs_root
@needs_quiet
def test_each_way_to_sleep_has_the_period_it_is_known_for() -> None:
    lines = measure("loop", "-D", "4s", "--work", "4ms", *HIGH)
    assert list(threads(lines)) == METHODS
    assert middle_ns(lines, "relative") == pytest.approx(14e6, rel=0.03)
    for method in METHODS[1:]:
        assert middle_ns(lines, method) == pytest.approx(10e6, rel=0.02)
    assert facts(lines, "relative")["drift_ns_per_s"] > 0.38e9
    for method in ("absolute", "timerfd"):
        assert abs(facts(lines, method)["drift_ns_per_s"]) < 0.01e9


def test_every_period_is_counted_once_for_each_pair_of_thresholds() -> None:
    lines = measure("loop", "-D", "2s")
    for method in METHODS:
        thread, reported = threads(lines)[method], facts(lines, method)
        assert reported["in_range"] + reported["over"] + reported["under"] == thread["count"] > 5
        wide = reported["in_range_20pct"] + reported["over_20pct"] + reported["under_20pct"]
        assert wide == thread["count"]
        assert reported["longest_ns"] == thread["max_ns"]
        assert reported["shortest_ns"] == thread["min_ns"]
        expected = thread["count"] * thread["mean_ns"] / 10e6
        assert reported["expected"] == pytest.approx(expected, rel=1e-6)


@needs_quiet
def test_methods_share_the_duration() -> None:
    lines = measure("loop", "-D", "2s", "-i", "5ms", "--work", "0", *HIGH)
    assert lines[-1]["status"] == "complete"
    assert lines[-1]["time_ns"] < 2.5e9
    for method in METHODS:
        assert facts(lines, method)["expected"] == pytest.approx(100, abs=3)


@needs_quiet
def test_one_loop_runs_at_a_time(tmp_path: Path) -> None:
    file = tmp_path / "samples.tsv"
    measure("loop", "-D", "1s", "-i", "5ms", "--samples-file", str(file))
    rows = [row.split("\t") for row in file.read_text().splitlines()[1:]]
    turns = [[int(row[2]) for row in rows if row[0] == str(thread)] for thread in range(4)]
    assert all(max(before) < min(after) for before, after in pairwise(turns))


@needs_root
@needs_two_cpus
@pytest.mark.parametrize("method", METHODS)
@needs_quiet
def test_a_thread_of_higher_priority_stretches_a_period_by_its_length(method: str) -> None:
    # A burst of 50 ms begins within a period, so that period becomes 50 to 61 ms long.
    with measuring("loop", "-a", "0", "--method", method, *HIGH) as lines:
        hog(0, 50, 257, 10, 99)
    long = samples(lines, 40_000_000)
    assert 8 <= len(long) <= 12
    assert 49.5e6 <= long[len(long) // 2] <= 62e6
    assert facts(lines, method)["over"] >= len(long)
    assert facts(lines, method)["over_20pct"] >= len(long)
    assert facts(lines, method)["longest_ns"] >= long[-1]
    if method == "absolute":
        assert facts(lines, method)["under_20pct"] >= 3 * len(long), "it catches up"
        assert threads(lines)[method]["missed"] == 0
    if method == "timerfd":
        assert threads(lines)[method]["missed"] >= 3 * len(long), "it runs once for all"


@needs_quiet
@needs_root
@needs_two_cpus
def test_a_preempted_observer_is_reported_and_lengthens_no_period() -> None:
    arguments = ("-a", "0", "--observer", "1", "--method", "absolute", *HIGH)
    with measuring("loop", *arguments) as lines:
        hog(1, 30, 100, 20, 99)
    reported, count = facts(lines, "absolute"), threads(lines)["absolute"]["count"]
    assert count >= 195
    assert reported["in_range_20pct"] > 0.9 * count
    assert reported["observer_gap_max_ns"] >= 25e6, "most of a burst"
    assert reported["observer_gaps"] >= 18
    assert reported["uncertain"] > 0.2 * count
    assert reported["unseen"] == 0


@needs_two_cpus
@needs_quiet
def test_a_stopped_process_is_found_with_the_length_of_its_stop() -> None:
    with started("loop", "-D", "3s", "--method", "absolute", *HIGH) as process:
        process.send_signal(signal.SIGSTOP)
        while not is_stopped(process.pid):
            time.sleep(0.001)
        stopped = time.monotonic()
        time.sleep(0.3)
        stop_ns = (time.monotonic() - stopped) * 1e9
        process.send_signal(signal.SIGCONT)
        lines = lines_left(process)
    reported = facts(lines, "absolute")
    assert reported["longest_ns"] == pytest.approx(stop_ns, rel=0.1)
    assert reported["observer_gap_max_ns"] == pytest.approx(stop_ns, rel=0.1), "it was stopped too"
    assert reported["under_20pct"] >= 20, "the deadlines of the stop are caught up with"
