# SPDX-License-Identifier: GPL-2.0-only
"""The agent's sched verb on this machine: a known disturbance in its figures and its verdict."""

import os
import statistics
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
    of_type,
    samples,
)

ON_LAST_CPU = ("-a", str(LAST_CPU), "--busy", "0")


@needs_quiet
@needs_root
def test_a_thread_of_higher_priority_delays_as_long_as_it_runs() -> None:
    options = (*ON_LAST_CPU, "-i", "1ms", "--criterion", "10ms")
    with measuring("sched", *options) as lines:
        hog(LAST_CPU, 20, 80, 20, 95)
    thread = of_type(lines, "thread")[0]
    delays = samples(lines, 18_000_000)
    # Of each burst the first of its twenty periods is late, by 19 to 20 ms, and the rest is missed.
    assert 18 <= len(delays) <= 22
    assert statistics.median(delays) == pytest.approx(20_000_000, rel=0.1)
    assert 18 <= thread["facts"]["failed"] <= 22
    assert thread["missed"] >= 0.9 * 19 * 20
    assert thread["facts"]["pass"] == 0


@needs_quiet
@needs_root
def test_work_longer_than_its_period_misses_periods() -> None:
    # 9 ms of work, stretched past its period of 10 ms each time the other thread comes.
    options = ("-a", str(LAST_CPU), "-i", "10ms", "--busy", "9ms")
    with measuring("sched", *options) as lines:
        hog(LAST_CPU, 8, 100, 15, 95)
    assert of_type(lines, "thread")[0]["missed"] >= 13


@pytest.mark.parametrize(("criterion", "verdict"), [("1ns", "FAIL"), ("1h", "PASS")])
def test_the_criterion_decides_and_is_reported(criterion: str, verdict: str) -> None:
    options = ("-l", "20", "-i", "10ms", "--busy", "0", "--criterion", criterion)
    for thread in of_type(measure("sched", *options), "thread"):
        failed = thread["facts"]["failed"]
        assert thread["facts"]["pass"] == (verdict == "PASS" and not thread["missed"])
        assert failed == (0 if verdict == "PASS" else 20)
    text = subprocess.run(
        [AGENT, "sched", *options], capture_output=True, text=True, check=True
    ).stdout
    cpus = len(os.sched_getaffinity(0))
    for name in ("Start", "Min", "Avg", "Max"):
        said = [line for line in text.splitlines() if line.startswith(f"{name} Latency: ")]
        assert len(said) == cpus
        assert all(line.endswith(f" us: {verdict}") for line in said)
    assert text.count("Failed Iterations: ") == cpus
    assert text.count("no period missed (Start is no iteration)\nResult: ") == cpus
