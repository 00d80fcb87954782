# SPDX-License-Identifier: GPL-2.0-only
"""The agent's async verb on this machine: every way, and known disturbances in its figures."""

import os
import subprocess

import pytest

from tests.agent.probing import (
    AGENT,
    LAST_CPU,
    hog,
    measure,
    measuring,
    needs_quiet,
    needs_root,
    needs_two_cpus,
    of_type,
    refusal,
    samples,
    threads,
)

WAYS = ("cond", "futex", "eventfd", "pipe", "semaphore", "mqueue")
FIRST_CPU = min(os.sched_getaffinity(0))
ON_LAST_CPU = ("-a", str(LAST_CPU))


def test_all_ways_are_measured_in_turn() -> None:
    lines = measure("async", "-D", "600ms", "--via", "all", *ON_LAST_CPU)
    assert list(threads(lines)) == [f"{way} from same CPU" for way in WAYS]
    for thread in of_type(lines, "thread"):
        assert thread["cpu"] == thread["facts"]["sender_cpu"] == LAST_CPU
        assert thread["count"] + thread["missed"] == pytest.approx(100, abs=15)
        assert thread["count"] > 0


@needs_two_cpus
def test_each_cpu_hears_from_itself_and_from_another() -> None:
    lines = measure("async", "-D", "200ms", "-a", f"{FIRST_CPU},{LAST_CPU}")
    found = [
        (thread["name"], thread["cpu"], thread["facts"]["sender_cpu"])
        for thread in of_type(lines, "thread")
    ]
    assert found == [
        ("cond from other CPU", FIRST_CPU, LAST_CPU),
        ("cond from other CPU", LAST_CPU, FIRST_CPU),
        ("cond from same CPU", FIRST_CPU, FIRST_CPU),
        ("cond from same CPU", LAST_CPU, LAST_CPU),
    ]


@needs_quiet
@needs_root
@needs_two_cpus
@pytest.mark.parametrize("way", ["cond", "mqueue"])
def test_a_busy_thread_on_the_receivers_cpu_delays_as_long_as_it_runs(way: str) -> None:
    options = ("-a", f"{FIRST_CPU},{LAST_CPU}", "--place", "other", "--via", way)
    with measuring("async", *options) as lines:
        hog(LAST_CPU, 20, 80, 20, 95)
    thread = next(line for line in of_type(lines, "thread") if line["cpu"] == LAST_CPU)
    # The first message of each burst waits for its end, and until then none is sent.
    delays = samples(lines, 18_000_000, thread["thread"])
    as_long = [delay for delay in delays if delay <= 22_000_000]
    assert 16 <= len(as_long) <= 20
    assert thread["facts"]["not_waiting"] >= 0.9 * 18 * 20


@needs_quiet
@needs_root
def test_a_busy_thread_on_the_only_cpu_stops_the_sender_too() -> None:
    with measuring("async", *ON_LAST_CPU) as lines:
        hog(LAST_CPU, 20, 80, 20, 95)
    thread = of_type(lines, "thread")[0]
    assert thread["missed"] >= 0.9 * 19 * 20
    assert thread["facts"]["not_waiting"] <= 0.1 * thread["missed"]
    assert len(samples(lines, 17_000_000, thread["thread"])) <= 5


def test_a_way_that_cannot_be_had_is_left_out_with_a_warning() -> None:
    done = subprocess.run(
        ["prlimit", "--msgqueue=0", AGENT, "async", "-D", "200ms", "--via", "all",
         *ON_LAST_CPU],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "--via mqueue is not possible here" in done.stderr
    assert done.stdout.count("from same CPU not_waiting") == 5


def test_the_only_way_asked_for_that_cannot_be_had_is_refused() -> None:
    sentence = refusal("async", "--via", "mqueue", prefix=("prlimit", "--msgqueue=0"))
    assert "--via mqueue is not possible here" in sentence
    assert "ulimit -q" in sentence
