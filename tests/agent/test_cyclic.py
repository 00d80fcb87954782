# SPDX-License-Identifier: GPL-2.0-only
"""The agent's cyclic verb on this machine: the protocol kept, known disturbances found."""

import os
import re
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.agent.probing import (
    AGENT,
    NOBODY,
    Lines,
    hogged,
    lines_left,
    measure,
    needs_quiet,
    needs_root,
    needs_two_cpus,
    of_type,
    started,
)


def end(lines: Lines) -> dict[str, Any]:
    assert lines[-1]["type"] == "end"
    return lines[-1]


def test_lines_come_in_the_order_of_the_protocol() -> None:
    lines = measure("cyclic", "-D", "600ms", "--progress", "100ms")
    kinds = [line["type"] for line in lines if line["type"] != "warning"]
    cpus = len(os.sched_getaffinity(0))
    assert kinds[:2] == ["hello", "start"]
    assert kinds.count("progress") >= 2
    assert kinds[-1 - 2 * cpus :] == ["thread", "histogram"] * cpus + ["end"]
    assert lines[0]["protocol"] == 1
    assert end(lines)["status"] == "complete"


def test_metrics_agree_with_the_histogram() -> None:
    lines = measure("cyclic", "-l", "2000", "-i", "200us")
    for thread, histogram in zip(
        of_type(lines, "thread"), of_type(lines, "histogram"), strict=True
    ):
        buckets = list(
            zip(histogram["lower_ns"], histogram["width_ns"], histogram["count"], strict=True)
        )
        assert sum(count for _, _, count in buckets) == thread["count"] == 2000
        assert buckets[0][0] <= thread["min_ns"] < buckets[0][0] + buckets[0][1]
        assert buckets[-1][0] <= thread["max_ns"] < buckets[-1][0] + buckets[-1][1]
        assert thread["worst"][0]["latency_ns"] == thread["max_ns"]
        mean = sum((low + (width - 1) / 2) * count for low, width, count in buckets) / 2000
        assert mean == pytest.approx(thread["mean_ns"], rel=0.001)
        square = sum((low + (width - 1) / 2 - mean) ** 2 * count for low, width, count in buckets)
        assert (square / 1999) ** 0.5 == pytest.approx(thread["stddev_ns"], rel=0.002)


def test_the_samples_file_has_every_sample(tmp_path: Path) -> None:
    file = tmp_path / "samples.tsv"
    lines = measure("cyclic", "-l", "1000", "-i", "500us", "--samples-file", str(file))
    rows = [row.split("\t") for row in file.read_text().splitlines()[1:]]
    for thread in of_type(lines, "thread"):
        latencies = [int(row[3]) for row in rows if int(row[0]) == thread["thread"]]
        assert len(latencies) == thread["count"]
        assert (min(latencies), max(latencies)) == (thread["min_ns"], thread["max_ns"])
        assert sum(latencies) / len(latencies) == pytest.approx(thread["mean_ns"])


@pytest.mark.timing("a stall leaves few samples in half a second")
def test_a_full_disk_costs_the_samples_file_and_not_the_run() -> None:
    lines = measure("cyclic", "-D", "500ms", "-i", "100us", "--samples-file", "/dev/full")
    assert "samples-file-failed" in {line["code"] for line in of_type(lines, "warning")}
    assert all(thread["count"] > 1000 for thread in of_type(lines, "thread"))


@needs_quiet
@needs_root
@pytest.mark.parametrize("method", ["nanosleep", "timerfd"])
def test_a_thread_of_higher_priority_is_found_with_its_length(method: str) -> None:
    # 20 ms of every 100: a fifth of the deadlines fall into it, spread evenly over it.
    with hogged(0, 20, 100, 90):
        lines = measure("cyclic", "-a", "0", "-D", "3s", "--method", method)
    thread = of_type(lines, "thread")[0]
    histogram = of_type(lines, "histogram")[0]
    counts = Counter(dict(zip(histogram["lower_ns"], histogram["count"], strict=True)))
    bursts = sum(count for low, count in counts.items() if low > 15_000_000)
    assert bursts >= 20, "a latency near 20 ms for most of 30 bursts"
    assert thread["missed"] >= 15 * bursts


@needs_quiet
@needs_root
def test_the_phase_sweep_finds_what_a_fixed_phase_can_never_meet() -> None:
    # Bursts and deadlines share their period: a fixed phase meets all of them or none.
    with hogged(0, 4, 20, 90):
        lines = measure("cyclic", "-a", "0", "-D", "4s", "-i", "20ms")
    thread = of_type(lines, "thread")[0]
    assert thread["worst"][0]["latency_ns"] > 2_000_000
    histogram = of_type(lines, "histogram")[0]
    undisturbed = sum(
        count
        for low, count in zip(histogram["lower_ns"], histogram["count"], strict=True)
        if low < 500_000
    )
    assert undisturbed > thread["count"] / 4


def test_a_load_that_ends_late_in_the_run_is_reported() -> None:
    lines = measure("cyclic", "-D", "3s", "--load", "cmd:timeout 2 yes > /dev/null")
    (reported,) = [line for line in of_type(lines, "warning") if line["code"] == "load-ended"]
    assert reported["text"].startswith("load cmd: it ended by itself")


def test_ctrl_c_while_loads_start_ends_it() -> None:
    with subprocess.Popen(
        [AGENT, "cyclic", "--json", "--load", "memory:1000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    assert process.returncode in {0, 1}


@needs_quiet
def test_a_stopped_and_continued_agent_counts_what_it_missed_and_goes_on() -> None:
    with started("cyclic", "-D", "3s", "--watchdog", "500ms") as process:
        process.send_signal(signal.SIGSTOP)
        time.sleep(1.2)
        process.send_signal(signal.SIGCONT)
        lines = lines_left(process)
    assert end(lines)["status"] == "complete"
    for thread in of_type(lines, "thread"):
        assert thread["missed"] >= 1000
        assert abs(thread["count"] + thread["missed"] - 3000) <= 2
        assert 1_000_000_000 < thread["max_ns"] < 2_500_000_000


@needs_two_cpus
def test_a_thread_that_is_moved_off_its_cpu_ends_the_run_with_the_reason() -> None:
    with started("cyclic", "-a", "0,1", "-D", "20s") as process:
        tids = {int(path.name) for path in Path(f"/proc/{process.pid}/task").iterdir()}
        pinned = [tid for tid in tids - {process.pid} if os.sched_getaffinity(tid) == {1}]
        os.sched_setaffinity(pinned[0], {0})
        lines = lines_left(process, status=1)
    assert end(lines)["status"] == "failed"
    assert end(lines)["time_ns"] < 10e9
    (moved,) = [line for line in of_type(lines, "warning") if line["code"] == "thread-moved"]
    assert "CPU 1" in moved["text"]
    assert sum(thread["count"] for thread in of_type(lines, "thread")) > 0


def test_what_the_progress_lines_add_to_the_histogram_is_all_of_it_to_3_percent() -> None:
    lines = measure("cyclic", "-D", "700ms", "--progress", "50ms")
    for index, histogram in enumerate(of_type(lines, "histogram")):
        reported: Counter[int] = Counter()
        for line in of_type(lines, "progress"):
            reported.update(dict(line["threads"][index]["gained"]))
        whole: Counter[int] = Counter()
        for lower, count in zip(histogram["lower_ns"], histogram["count"], strict=True):
            cut = max(0, lower.bit_length() - 6)
            whole[lower >> cut << cut] += count
        assert reported == whole


@needs_root
def test_memory_that_cannot_be_locked_is_reported(public_agent: Path) -> None:
    limited = ("prlimit", "--memlock=4096:4096", *NOBODY)
    lines = measure("cyclic", "-D", "200ms", prefix=limited, agent=public_agent)
    assert "no-memlock" in {line["code"] for line in of_type(lines, "warning")}


@needs_root
def test_deadline_threads_are_measured_and_not_pinned() -> None:
    lines = measure("cyclic", "-D", "300ms", "--policy", "deadline")
    for thread in of_type(lines, "thread"):
        assert (thread["policy"], thread["cpu"]) == ("deadline", None)
        assert thread["count"] > 100
    assert "not-pinned" in {line["code"] for line in of_type(lines, "warning")}


def test_threads_sit_on_the_cpus_asked_for_whatever_the_callers_affinity() -> None:
    last = max(os.sched_getaffinity(0))
    elsewhere = ("taskset", "-c", str(min(os.sched_getaffinity(0))))
    lines = measure("cyclic", "-D", "100ms", "-a", str(last), prefix=elsewhere)
    assert [thread["cpu"] for thread in of_type(lines, "thread")] == [last]


def test_a_person_gets_cyclictests_lines() -> None:
    done = subprocess.run(
        [AGENT, "cyclic", "-D", "200ms", "-q"], capture_output=True, text=True, check=True
    )
    cpus = len(os.sched_getaffinity(0))
    lines = done.stdout.splitlines()
    assert len([line for line in lines if line.startswith("T: ")]) == cpus
    named = [re.search(r" Max: +\d+( Missed:\d+)? CPU:(\d+)$", line) for line in lines[:cpus]]
    assert [int(match[2]) for match in named if match] == sorted(os.sched_getaffinity(0))
    priority = "P:80" if os.geteuid() == 0 else "P: 0"
    assert all(word in lines[0] for word in (priority, "I:1000", "Min:", "Act:", "Avg:", "Max:"))


def test_memory_does_not_grow_with_samples() -> None:
    def resident_kb(process: subprocess.Popen[bytes]) -> int:
        status = Path(f"/proc/{process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0])

    sizes: list[int] = []
    with subprocess.Popen(
        [AGENT, "cyclic", "--json", "-i", "50us"], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if b'"progress"' in line:
                sizes.append(resident_kb(process))
            if len(sizes) == 12:
                break
        process.kill()
    # Some kernels count a process's pages CPU by CPU and add them up a little late.
    assert abs(sizes[-1] - sizes[1]) <= 256
    assert sizes[-1] < 8192
