# SPDX-License-Identifier: GPL-2.0-only
"""The agent's cyclic verb on this machine: the protocol kept, known disturbances found."""

import json
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
    NOBODY,
    Lines,
    as_nobody,
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


def test_lines_come_in_the_order_of_the_protocol(agent_path: Path) -> None:
    lines = measure(agent_path, "cyclic", "-D", "600ms", "--progress", "100ms")
    kinds = [line["type"] for line in lines if line["type"] != "warning"]
    cpus = len(os.sched_getaffinity(0))
    assert kinds[:2] == ["hello", "start"]
    assert kinds.count("progress") >= 2
    assert kinds[-1 - 2 * cpus :] == ["thread", "histogram"] * cpus + ["end"]
    assert lines[0]["protocol"] == 1
    assert end(lines)["status"] == "complete"


def test_figures_agree_with_the_histogram(agent_path: Path) -> None:
    lines = measure(agent_path, "cyclic", "-l", "2000", "-i", "200us")
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


def test_the_samples_file_has_every_sample(agent_path: Path, tmp_path: Path) -> None:
    file = tmp_path / "samples.tsv"
    lines = measure(agent_path, "cyclic", "-l", "1000", "-i", "500us", "--samples-file", str(file))
    rows = [row.split("\t") for row in file.read_text().splitlines()[1:]]
    for thread in of_type(lines, "thread"):
        latencies = [int(row[3]) for row in rows if int(row[0]) == thread["thread"]]
        assert len(latencies) == thread["count"]
        assert (min(latencies), max(latencies)) == (thread["min_ns"], thread["max_ns"])
        assert sum(latencies) / len(latencies) == pytest.approx(thread["mean_ns"])


def test_a_full_disk_costs_the_samples_file_and_not_the_run(agent_path: Path) -> None:
    lines = measure(
        agent_path, "cyclic", "-D", "500ms", "-i", "100us", "--samples-file", "/dev/full"
    )
    assert "samples-file-failed" in {line["code"] for line in of_type(lines, "warning")}
    assert all(thread["count"] > 1000 for thread in of_type(lines, "thread"))


@needs_quiet
@needs_root
@pytest.mark.parametrize("method", ["nanosleep", "timerfd"])
def test_a_thread_of_higher_priority_is_found_with_its_length(
    agent_path: Path, method: str
) -> None:
    # 20 ms of every 100: a fifth of the deadlines fall into it, spread evenly over it.
    with hogged(0, 20, 100, 90):
        lines = measure(agent_path, "cyclic", "-a", "0", "-D", "3s", "--method", method)
    thread = of_type(lines, "thread")[0]
    histogram = of_type(lines, "histogram")[0]
    counts = Counter(dict(zip(histogram["lower_ns"], histogram["count"], strict=True)))
    bursts = sum(count for low, count in counts.items() if low > 15_000_000)
    assert bursts >= 20, "a latency near 20 ms for most of 30 bursts"
    assert thread["missed"] >= 15 * bursts


@needs_quiet
@needs_root
def test_the_phase_sweep_finds_what_a_fixed_phase_can_never_meet(agent_path: Path) -> None:
    # Bursts and deadlines share their period: a fixed phase meets all of them or none.
    with hogged(0, 4, 20, 90):
        lines = measure(agent_path, "cyclic", "-a", "0", "-D", "4s", "-i", "20ms")
    thread = of_type(lines, "thread")[0]
    assert thread["worst"][0]["latency_ns"] > 2_000_000
    histogram = of_type(lines, "histogram")[0]
    undisturbed = sum(
        count
        for low, count in zip(histogram["lower_ns"], histogram["count"], strict=True)
        if low < 500_000
    )
    assert undisturbed > thread["count"] / 4


@needs_quiet
@needs_root
def test_it_breaks_at_the_first_latency_over_the_threshold(agent_path: Path) -> None:
    with hogged(0, 20, 100, 90):
        lines = measure(agent_path, "cyclic", "-a", "0", "-D", "10s", "--break", "10ms")
    assert end(lines)["status"] == "threshold"
    assert end(lines)["time_ns"] < 5e9
    thread = of_type(lines, "thread")[0]
    assert thread["max_ns"] >= 10_000_000
    histogram = of_type(lines, "histogram")[0]
    over = [low for low in histogram["lower_ns"] if low >= 10_000_000]
    assert len(over) == 1


@needs_quiet
@needs_root
def test_the_watchdog_ends_a_run_that_leaves_no_time_for_housekeeping(agent_path: Path) -> None:
    # Of the only CPU that housekeeping may use, throttling leaves it 50 ms of each second.
    with hogged(0, 19_000, 19_001, 50):
        lines = measure(
            agent_path,
            "cyclic",
            *("-D", "15s", "--watchdog", "300ms"),
            prefix=("taskset", "-c", "0"),
            status=3,
        )
    assert end(lines)["status"] == "watchdog"
    assert "watchdog" in {line["code"] for line in of_type(lines, "warning")}
    assert end(lines)["time_ns"] < 10e9
    assert sum(thread["count"] for thread in of_type(lines, "thread")) > 0


def test_a_load_that_ends_late_in_the_run_is_told(agent_path: Path) -> None:
    lines = measure(
        agent_path, "cyclic", "-D", "900ms", "--load", "cmd:timeout 0.5 yes > /dev/null"
    )
    (told,) = [line for line in of_type(lines, "warning") if line["code"] == "load-ended"]
    assert told["text"].startswith("load cmd: it ended by itself")


def test_ctrl_c_while_loads_start_is_heard(agent_path: Path) -> None:
    with subprocess.Popen(
        [agent_path, "cyclic", "--json", "--load", "memory:1000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    assert process.returncode in {0, 1}


def test_a_reader_that_pauses_does_not_end_the_run(agent_path: Path) -> None:
    with subprocess.Popen(
        [agent_path, "cyclic", "--json", "-D", "2s", "--progress", "10ms", "--watchdog", "300ms"],
        stdout=subprocess.PIPE,
        pipesize=4096,
    ) as process:
        assert process.stdout is not None
        time.sleep(1.5)
        lines = [json.loads(line) for line in process.stdout]
    assert end(lines)["status"] == "complete"
    assert [line for line in of_type(lines, "warning") if line["code"] == "watchdog"] == []


def test_a_stopped_and_continued_agent_counts_what_it_missed_and_goes_on(agent_path: Path) -> None:
    with started(agent_path, "cyclic", "-D", "3s", "--watchdog", "500ms") as process:
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
def test_a_thread_that_is_moved_off_its_cpu_ends_the_run_with_the_reason(agent_path: Path) -> None:
    with started(agent_path, "cyclic", "-a", "0,1", "-D", "20s") as process:
        tids = {int(path.name) for path in Path(f"/proc/{process.pid}/task").iterdir()}
        pinned = [tid for tid in tids - {process.pid} if os.sched_getaffinity(tid) == {1}]
        os.sched_setaffinity(pinned[0], {0})
        lines = lines_left(process, status=1)
    assert end(lines)["status"] == "failed"
    assert end(lines)["time_ns"] < 10e9
    (moved,) = [line for line in of_type(lines, "warning") if line["code"] == "thread-moved"]
    assert "CPU 1" in moved["text"]
    assert sum(thread["count"] for thread in of_type(lines, "thread")) > 0


def test_the_windows_reach_to_the_end(agent_path: Path) -> None:
    lines = measure(agent_path, "cyclic", "-D", "700ms", "--progress", "200ms")
    for index, thread in enumerate(of_type(lines, "thread")):
        windows = [line["threads"][index]["window"] for line in of_type(lines, "progress")]
        assert sum(window["count"] for window in windows) == thread["count"]
        assert max(window["max_ns"] or 0 for window in windows) == thread["max_ns"]


def test_what_the_progress_lines_add_to_the_histogram_is_all_of_it_to_3_percent(
    agent_path: Path,
) -> None:
    lines = measure(agent_path, "cyclic", "-D", "700ms", "--progress", "50ms")
    for index, histogram in enumerate(of_type(lines, "histogram")):
        told: Counter[int] = Counter()
        for line in of_type(lines, "progress"):
            told.update(dict(line["threads"][index]["gained"]))
        whole: Counter[int] = Counter()
        for lower, count in zip(histogram["lower_ns"], histogram["count"], strict=True):
            cut = max(0, lower.bit_length() - 6)
            whole[lower >> cut << cut] += count
        assert told == whole


def test_it_ends_when_nobody_reads_any_more(agent_path: Path) -> None:
    process = subprocess.Popen(
        [agent_path, "cyclic", "--json", "--progress", "0"], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(timeout=10) is not None


@needs_root
def test_an_ordinary_user_still_measures_and_is_told_what_it_is_worth(public_agent: Path) -> None:
    lines = as_nobody(public_agent, "cyclic", "-D", "300ms")
    codes = {line["code"] for line in of_type(lines, "warning")}
    assert "no-rt-priority" in codes
    assert ("no-cpu-dma-latency" in codes) == (
        not os.path.exists("/dev/cpu_dma_latency")  # noqa: PTH110
        or Path("/dev/cpu_dma_latency").stat().st_mode & 0o002 == 0
    )
    assert all(thread["policy"] == "other" for thread in of_type(lines, "thread"))
    assert all(thread["count"] > 0 for thread in of_type(lines, "thread"))


@needs_root
def test_memory_that_cannot_be_locked_is_told(public_agent: Path) -> None:
    limited = ("prlimit", "--memlock=4096:4096", *NOBODY)
    lines = measure(public_agent, "cyclic", "-D", "200ms", prefix=limited)
    assert "no-memlock" in {line["code"] for line in of_type(lines, "warning")}


@needs_root
def test_deadline_threads_are_measured_and_not_pinned(agent_path: Path) -> None:
    lines = measure(agent_path, "cyclic", "-D", "300ms", "--policy", "deadline")
    for thread in of_type(lines, "thread"):
        assert (thread["policy"], thread["cpu"]) == ("deadline", None)
        assert thread["count"] > 100
    assert "not-pinned" in {line["code"] for line in of_type(lines, "warning")}


def test_threads_sit_on_the_cpus_asked_for_whatever_the_callers_affinity(agent_path: Path) -> None:
    last = max(os.sched_getaffinity(0))
    elsewhere = ("taskset", "-c", str(min(os.sched_getaffinity(0))))
    lines = measure(agent_path, "cyclic", "-D", "100ms", "-a", str(last), prefix=elsewhere)
    assert [thread["cpu"] for thread in of_type(lines, "thread")] == [last]


def test_a_person_gets_cyclictests_lines(agent_path: Path) -> None:
    done = subprocess.run(
        [agent_path, "cyclic", "-D", "200ms", "-q"], capture_output=True, text=True, check=True
    )
    cpus = len(os.sched_getaffinity(0))
    lines = done.stdout.splitlines()
    assert len([line for line in lines if line.startswith("T: ")]) == cpus
    named = [re.search(r" Max: +\d+( Missed:\d+)? CPU:(\d+)$", line) for line in lines[:cpus]]
    assert [int(match[2]) for match in named if match] == sorted(os.sched_getaffinity(0))
    priority = "P:80" if os.geteuid() == 0 else "P: 0"
    assert all(word in lines[0] for word in (priority, "I:1000", "Min:", "Act:", "Avg:", "Max:"))


def test_memory_does_not_grow_with_samples(agent_path: Path) -> None:
    def resident_kb(process: subprocess.Popen[bytes]) -> int:
        status = Path(f"/proc/{process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0])

    sizes: list[int] = []
    with subprocess.Popen(
        [agent_path, "cyclic", "--json", "-i", "50us"], stdout=subprocess.PIPE
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
