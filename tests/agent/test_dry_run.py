# SPDX-License-Identifier: GPL-2.0-only
"""--dry-run says what would be measured, refuses what could not be, and starts nothing."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.agent.probing import AGENT, NOBODY, needs_root


def dry_run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [AGENT, *arguments, "--dry-run"], capture_output=True, text=True, timeout=20, check=False
    )


def test_what_would_be_measured_is_reported_and_nothing_is(tmp_path: Path) -> None:
    samples = tmp_path / "samples.tsv"
    marker = tmp_path / "load-ran"
    samples.write_text("mine")
    done = dry_run("cyclic", "--json", "-i", "500us", "-D", "1h", "-a", "0",
        "--load", f"cmd:touch {marker}", "--samples-file", str(samples),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["type"] for line in lines if line["type"] != "warning"] == [
        "hello",
        "start",
        "end",
    ]
    start = next(line for line in lines if line["type"] == "start")
    assert (start["interval_ns"], start["duration_ns"]) == (500_000, 3600 * 10**9)
    assert [thread["cpu"] for thread in start["threads"]] == [0]
    assert [load["name"] for load in start["loads"]] == [f"cmd:touch {marker}"]
    assert lines[-1] == {
        "type": "end",
        "status": "planned",
        "time_ns": 0,
        "progress_dropped": 0,
        "high_resolution": start["high_resolution"],
    }
    assert samples.read_text() == "mine"
    assert not marker.exists()


@pytest.mark.parametrize(
    "probe",
    [
        *("cyclic", "gtod", "sched", "async", "signal", "loop", "noise", "topology", "scaling"),
        *(pytest.param(probe, marks=needs_root) for probe in ("pi", "migrate")),
    ],
)
def test_every_metric_that_a_probe_gives_is_reported_before_it_begins(probe: str) -> None:
    reported = dry_run(probe, "--json").stdout.splitlines()
    start = next(line for line in map(json.loads, reported) if line["type"] == "start")
    patterns = [fact.replace("N", "[0-9]+") for fact in start["facts"]]
    done = subprocess.run(
        [AGENT, probe, "--json", "-D", "200ms"],
        capture_output=True, text=True, timeout=20, check=True,
    )  # fmt: skip
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    facts = {key for line in lines if line["type"] == "thread" for key in line["facts"]}
    assert bool(facts) == bool(patterns)
    assert [fact for fact in facts if not any(re.fullmatch(one, fact) for one in patterns)] == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become nobody")
@pytest.mark.parametrize("probe", ["pi", "migrate"])
def test_rights_that_a_target_may_give_are_not_asked_for(public_agent: Path, probe: str) -> None:
    command = [*NOBODY, str(public_agent), probe, "-D", "100ms"]
    planned = subprocess.run([*command, "--dry-run"], timeout=20, check=False)
    assert planned.returncode == 0
    assert subprocess.run(command, timeout=20, check=False).returncode == 2
