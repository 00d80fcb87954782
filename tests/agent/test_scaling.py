# SPDX-License-Identifier: GPL-2.0-only
"""The agent's scaling verb: the same work on more CPUs takes less, on one CPU it does not."""

from typing import Any

import pytest

from tests.agent.probing import (
    measure,
    needs_quiet,
    needs_root,
    needs_two_cpus,
    of_type,
    undisturbed,
)

SHORT = ("-D", "600ms", "-i", "4000", "--policy", "other")


def reported(lines: list[dict[str, Any]]) -> dict[str, float]:
    [thread] = of_type(lines, "thread")
    facts: dict[str, float] = thread["facts"]
    return facts


def test_the_parts_of_a_period_add_up_to_its_time() -> None:
    lines = measure("scaling", "-a", "0", *SHORT)
    [thread] = of_type(lines, "thread")
    assert thread["count"] > 0
    facts = reported(lines)
    assert sum(facts.values()) == pytest.approx(thread["mean_ns"], rel=1e-6)
    assert facts["share_ns"] > facts["serial_ns"] > 0


@needs_quiet
@needs_root
@needs_two_cpus
def test_two_cpus_share_what_two_threads_on_one_cpu_do_in_turns() -> None:
    with undisturbed():
        one, two, turns = (
            measure("scaling", *options, "-D", "600ms", "-i", "4000")
            for options in (["-a", "0"], ["-a", "0,1"], ["-a", "0", "--threads", "2"])
        )
    least = [of_type(lines, "thread")[0]["min_ns"] for lines in (one, two, turns)]
    assert least[1] < 0.8 * least[0]
    assert least[2] > 0.9 * least[0]
    assert reported(turns)["wait_ns"] > 0.5 * reported(turns)["share_ns"]


def test_what_is_not_parallel_is_computed_by_one_thread() -> None:
    serial = reported(measure("scaling", "-a", "0", "--parallel", "0", *SHORT))
    parallel = reported(measure("scaling", "-a", "0", "--parallel", "100", *SHORT))
    assert serial["share_ns"] < 0.1 * serial["serial_ns"]
    assert parallel["serial_ns"] < 0.1 * parallel["share_ns"]


def test_periods_that_the_work_does_not_fit_into_are_missed() -> None:
    lines = measure("scaling", "-a", "0", "--items", "50000", "-i", "1000", "-l", "10",
        "--policy", "other",
    )  # fmt: skip
    [thread] = of_type(lines, "thread")
    assert thread["count"] == 10
    assert thread["missed"] >= 20
