# SPDX-License-Identifier: GPL-2.0-only
"""The end line tells what ran when: the load coming up, alone, beside the samples, and ending."""

from itertools import pairwise

import pytest

from tests.agent.probing import Lines, measure, measuring, of_type

PHASES = ["load coming up", "load alone", "measuring", "load ending"]


def phases(lines: Lines) -> dict[str, tuple[int, int]]:
    """From when to when each phase lasted, in the order in which they are told."""
    end = of_type(lines, "end")[0]
    return {phase["name"]: (phase["from_ns"], phase["to_ns"]) for phase in end["phases"]}


def test_a_load_comes_up_before_the_first_sample_and_ends_after_the_last() -> None:
    lines = measure("cyclic", "--policy", "other", "-D", "300ms", "--load", "cpu:1")
    found = phases(lines)
    assert list(found) == PHASES
    assert all(before[1] == after[0] for before, after in pairwise(found.values()))
    assert all(begin < end for begin, end in found.values())
    assert found["measuring"] == (0, of_type(lines, "end")[0]["time_ns"])
    seconds = of_type(lines, "load")[0]["seconds"]
    alone_s = (found["measuring"][1] - found["load alone"][0]) / 1e9
    assert found["measuring"][1] / 1e9 <= seconds <= alone_s


@pytest.mark.parametrize("load", ["idle", "cpu:1"])
def test_an_interrupted_run_reports_its_phases_too(load: str) -> None:
    with measuring("cyclic", "--policy", "other", "--load", load) as lines:
        pass
    assert list(phases(lines)) == (PHASES if load != "idle" else ["measuring"])
    assert phases(lines)["measuring"][1] > 0


def test_no_sample_is_taken_before_a_command_works() -> None:
    options = ("--policy", "other", "-D", "200ms", "--load", "cmd:sleep 0.7; exec yes")
    lines = measure("cyclic", *options)
    begin_ns, end_ns = phases(lines)["load coming up"]
    assert end_ns - begin_ns > 700_000_000
    assert "load-slow" not in {line["code"] for line in of_type(lines, "warning")}
