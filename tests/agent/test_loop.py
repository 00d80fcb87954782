# SPDX-License-Identifier: GPL-2.0-only
"""The agent's loop verb: the period that each way of sleeping has, and what lengthens it."""

import json
import resource
import signal
import subprocess
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
    of_type,
    samples,
    started,
    threads,
    undisturbed,
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


@needs_quiet
def test_each_way_to_sleep_has_the_period_it_is_known_for(agent_path: Path) -> None:
    lines = measure(agent_path, "loop", "-D", "4s", "--work", "4ms", *HIGH)
    assert list(threads(lines)) == METHODS
    assert middle_ns(lines, "relative") == pytest.approx(14e6, rel=0.03)
    for method in METHODS[1:]:
        assert middle_ns(lines, method) == pytest.approx(10e6, rel=0.02)
    assert facts(lines, "relative")["drift_ns_per_s"] > 0.38e9
    for method in ("absolute", "timerfd"):
        assert abs(facts(lines, method)["drift_ns_per_s"]) < 0.01e9


def test_every_period_is_counted_once_for_each_pair_of_thresholds(agent_path: Path) -> None:
    lines = measure(agent_path, "loop", "-D", "2s")
    for method in METHODS:
        thread, told = threads(lines)[method], facts(lines, method)
        assert told["in_range"] + told["over"] + told["under"] == thread["count"] > 5
        wide = told["in_range_20pct"] + told["over_20pct"] + told["under_20pct"]
        assert wide == thread["count"]
        assert told["longest_ns"] == thread["max_ns"]
        assert told["shortest_ns"] == thread["min_ns"]
        expected = thread["count"] * thread["mean_ns"] / 10e6
        assert told["expected"] == pytest.approx(expected, rel=1e-6)


def test_methods_share_the_duration(agent_path: Path) -> None:
    lines = measure(agent_path, "loop", "-D", "2s", "-i", "5ms", "--work", "0", *HIGH)
    assert lines[-1]["status"] == "complete"
    assert lines[-1]["time_ns"] < 2.5e9
    for method in METHODS:
        assert facts(lines, method)["expected"] == pytest.approx(100, abs=3)


def test_one_loop_runs_at_a_time(agent_path: Path, tmp_path: Path) -> None:
    file = tmp_path / "samples.tsv"
    measure(agent_path, "loop", "-D", "1s", "-i", "5ms", "--samples-file", str(file))
    rows = [row.split("\t") for row in file.read_text().splitlines()[1:]]
    turns = [[int(row[2]) for row in rows if row[0] == str(thread)] for thread in range(4)]
    assert all(max(before) < min(after) for before, after in pairwise(turns))


def test_thresholds_are_the_users(agent_path: Path) -> None:
    lines = measure(
        agent_path, "loop", "-D", "2s", "--method", "relative", "--work", "4ms",
        "--low", "13ms", "--high", "16ms", *HIGH,
    )  # fmt: skip
    assert facts(lines, "relative")["in_range"] > 0.8 * threads(lines)["relative"]["count"]
    assert facts(lines, "relative")["over_20pct"] > 0.9 * threads(lines)["relative"]["count"]


@needs_root
@needs_two_cpus
@pytest.mark.parametrize("method", METHODS)
@needs_quiet
def test_a_thread_of_higher_priority_stretches_a_period_by_its_length(
    agent_path: Path, method: str
) -> None:
    # A burst of 50 ms begins within a period, so that period becomes 50 to 61 ms long.
    with measuring(agent_path, "loop", "-a", "0", "--method", method, *HIGH) as lines:
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
def test_an_observer_that_was_kept_from_its_cpu_is_told_and_lengthens_no_period(
    agent_path: Path,
) -> None:
    arguments = ("-a", "0", "--observer", "1", "--method", "absolute", *HIGH)
    with measuring(agent_path, "loop", *arguments) as lines:
        hog(1, 30, 100, 20, 99)
    told, count = facts(lines, "absolute"), threads(lines)["absolute"]["count"]
    assert count >= 195
    assert told["in_range_20pct"] > 0.9 * count
    assert told["observer_gap_max_ns"] >= 25e6, "most of a burst"
    assert told["observer_gaps"] >= 18
    assert told["uncertain"] > 0.2 * count
    assert told["unseen"] == 0


@needs_two_cpus
@needs_quiet
def test_a_stopped_process_is_found_with_the_length_of_its_stop(agent_path: Path) -> None:
    with started(agent_path, "loop", "-D", "3s", "--method", "absolute", *HIGH) as process:
        process.send_signal(signal.SIGSTOP)
        while not is_stopped(process.pid):
            time.sleep(0.001)
        stopped = time.monotonic()
        time.sleep(0.3)
        stop_ns = (time.monotonic() - stopped) * 1e9
        process.send_signal(signal.SIGCONT)
        lines = lines_left(process)
    told = facts(lines, "absolute")
    assert told["longest_ns"] == pytest.approx(stop_ns, rel=0.1)
    assert told["observer_gap_max_ns"] == pytest.approx(stop_ns, rel=0.1), "it was stopped too"
    assert told["under_20pct"] >= 20, "the deadlines of the stop are caught up with"


def test_the_loops_own_clock_says_nothing_of_an_observer(agent_path: Path) -> None:
    lines = measure(agent_path, "loop", "-D", "1s", "--observer", "self", "--work", "0")
    for method in METHODS:
        assert middle_ns(lines, method) == pytest.approx(10e6, rel=0.05)
        assert not {"uncertain", "observer_gaps"} & set(facts(lines, method))
    assert of_type(lines, "start")[0]["options"]["observer"] == "self"


@needs_two_cpus
def test_the_observer_sees_to_a_fraction_of_a_microsecond_when_nothing_hinders_it(
    agent_path: Path,
) -> None:
    lines = measure(agent_path, "loop", "-D", "1s", "--method", "absolute")
    assert 1 <= facts(lines, "absolute")["observer_gap_median_ns"] < 1000


@needs_root
@needs_two_cpus
def test_an_observer_that_never_rests_has_its_cpu_for_itself(agent_path: Path) -> None:
    def used_s(*options: str) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        arguments = ("-a", "0", "--observer", "1", "--method", "absolute", "-D", "1s", *HIGH)
        with undisturbed():
            lines = measure(agent_path, "loop", *arguments, "--work", "0", *options)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert threads(lines)["absolute"]["count"] >= 98, (
            "and the loop and its end are not kept off"
        )
        rests = of_type(lines, "start")[0]["options"]["observer_rests"]
        assert rests == ("no" not in options)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert used_s() < 0.65, "it rests for half of each interval"
    # Real-time throttling leaves it 0.95 of each second.
    assert used_s("--observer-rest", "no") > 0.85


def test_what_the_kernel_would_loop_is_told_without_its_module(agent_path: Path) -> None:
    done = subprocess.run(
        [agent_path, "loop", "--in", "kernel", "--json", "--dry-run", "-D", "10s"],
        capture_output=True,
        timeout=10,
        check=True,
    )
    start = of_type([json.loads(line) for line in done.stdout.splitlines()], "start")[0]
    assert (start["options"]["in"], start["options"]["slack_ns"]) == ("kernel", 100_000)
    assert [thread["name"] for thread in start["threads"]][:4] == [
        "kernel-timer", "kernel-relative", "kernel-absolute", "kernel-deadline",
    ]  # fmt: skip
