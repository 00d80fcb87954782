# SPDX-License-Identifier: GPL-2.0-only
"""The agent's noise verb on this machine: known thefts of CPU time found with their length."""

import statistics

import pytest

from tests.agent.probing import (
    LAST_CPU,
    PREFERRED,
    hog,
    measure,
    measure_stopped,
    measuring,
    needs_quiet,
    needs_root,
    of_type,
    samples,
    undisturbed,
)


@needs_root
@needs_quiet
def test_each_interference_is_found_with_its_length() -> None:
    # As a real-time thread: on a busy machine others would prolong each theft.
    options = ("--policy", "fifo", "-p", "40", "-a", str(LAST_CPU))
    with measuring("noise", *options) as lines:
        hog(LAST_CPU, 20, 60, 50, 98)
    thread = of_type(lines, "thread")[0]
    facts = thread["facts"]
    thefts = samples(lines, 18_000_000)
    # While it rests, for a tenth of the time, nothing can be stolen from it.
    spinning = facts["observed_ns"] / of_type(lines, "end")[0]["time_ns"]
    assert len(thefts) == pytest.approx(50 * spinning, rel=0.1)
    assert statistics.median(thefts) == pytest.approx(20_000_000, rel=0.1)
    assert facts["preempted"] >= 40
    assert facts["longest_gap_ns"] == thread["max_ns"] == thread["worst"][0]["latency_ns"]


@needs_quiet
@pytest.mark.parametrize("policy", ["other", pytest.param("fifo", marks=needs_root)])
def test_a_stop_of_the_whole_program_is_the_longest_gap(policy: str) -> None:
    options = ("-a", str(LAST_CPU), "--policy", policy, "-p", "40")
    with undisturbed():
        lines, stopped_s = measure_stopped("noise", *options)
    (thread,) = of_type(lines, "thread")
    assert thread["facts"]["longest_gap_ns"] == pytest.approx(stopped_s * 1e9, rel=0.1)
    assert thread["worst"][0]["latency_ns"] == thread["facts"]["longest_gap_ns"]


@needs_quiet
@needs_root
def test_what_was_stolen_is_the_sum_of_the_gaps() -> None:
    with measuring("noise", "-a", str(LAST_CPU), prefix=PREFERRED) as lines:
        hog(LAST_CPU, 50, 100, 10, 50)
    thread = of_type(lines, "thread")[0]
    facts = thread["facts"]
    stolen = sum(samples(lines))
    assert facts["gaps"] == thread["count"]
    assert facts["stolen_ns"] == pytest.approx(stolen, rel=0.001)
    assert facts["stolen_ns"] >= 10 * 50_000_000
    assert facts["noise_percent"] == pytest.approx(100 * facts["stolen_ns"] / facts["observed_ns"])
    quiet_ns = facts["observed_ns"] - facts["stolen_ns"]
    assert facts["spins"] * facts["spin_ns"] == pytest.approx(quiet_ns, rel=1e-6)


def test_a_gap_below_the_threshold_is_none() -> None:
    lines = measure("noise", "-D", "300ms", "-a", "0", "--threshold", "1h")
    thread = of_type(lines, "thread")[0]
    assert of_type(lines, "end")[0]["status"] == "complete"
    assert thread["count"] == thread["facts"]["gaps"] == thread["facts"]["noise_percent"] == 0
    assert 0 < thread["facts"]["observed_ns"] <= of_type(lines, "end")[0]["time_ns"]
    lines = measure("noise", "-D", "300ms", "-a", "0", "--threshold", "100us")
    assert all(gap >= 99_900 for gap in samples(lines))


@needs_root
@needs_quiet
def test_a_real_time_thread_leaves_the_machine_a_share() -> None:
    options = ("--policy", "fifo", "-a", str(LAST_CPU), "--runtime", "50ms", "--period", "100ms")
    lines = measure("noise", "-D", "1s", *options)
    facts = of_type(lines, "thread")[0]["facts"]
    assert facts["observed_ns"] == pytest.approx(500_000_000, rel=0.1)
    assert facts["slept"] >= 9
    assert facts["stolen_ns"] < facts["observed_ns"]
