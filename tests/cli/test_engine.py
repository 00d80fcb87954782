# SPDX-License-Identifier: GPL-2.0-only
"""What all five commands that measure share: JUnit, JSON, Ctrl-C and going on afterwards."""

import json
import os
import signal
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tests.cli.conftest import Rtscope, started

FIRST_CPU = min(os.sched_getaffinity(0))
MEASURE = ["measure", "-L", "idle", "-L", "cpu:1"]
STEPS = ["tune", "measure", "./steps.toml", "--rounds", "1"]
SCALE = ["scale", "--cpus", f"{FIRST_CPU}", "--form", "scalar"]
INTERFERE = ["interfere", "--load", "cpu:1", "--form", "scalar"]
PLAN = """title = "Two loads"
order = "as written"
[[measure]]
probes = ["cyclic"]
loads = ["idle", "cpu:1"]
duration = "{}"
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "steps.toml").write_text(
        'description = "Ours"\n[[step]]\nname = "in batches"\n'
        '[[step.thread]]\nname = "rtscope-none-such"\npolicy = "batch"\n'
    )
    (tmp_path / "plan.toml").write_text(PLAN.format("200ms"))
    (tmp_path / "long.toml").write_text(PLAN.format("2s"))
    return tmp_path


@pytest.mark.parametrize(
    ("command", "cells"),
    [
        ([*MEASURE, "-D", "200ms"], 2),
        (["run", "plan.toml"], 2),
        ([*STEPS, "-D", "200ms"], 2),
        ([*SCALE, "--rounds", "2", "-D", "50ms"], 1),
        ([*INTERFERE, "--rounds", "2", "-D", "50ms"], 1),
    ],
    ids=["measure", "run", "tune-measure", "scale", "interfere"],
)
def test_each_command_writes_junit_tap_and_lines_of_json(
    rtscope: Rtscope, files: Path, command: list[str], cells: int
) -> None:
    outputs = ("--junit", "j.xml", "--emit", "tap:j.tap", "--json")
    done = rtscope(*command, *outputs, "--no-report", "-q")
    assert (done.returncode, done.stderr) == (0, "")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len([line for line in lines if line.get("status") == "complete"]) == cells
    assert len({line["experiment"] for line in lines if "experiment" in line}) == 1
    assert len(ET.parse(files / "j.xml").findall(".//testcase")) == cells
    assert (files / "j.tap").read_text().splitlines()[1] == f"1..{cells}"


@pytest.mark.parametrize(
    "command",
    [
        [*MEASURE, "-D", "2s"],
        ["run", "long.toml"],
        [*STEPS, "-D", "2s"],
        [*SCALE, "--rounds", "12", "-D", "100ms"],
        [*INTERFERE, "--rounds", "6", "-D", "100ms"],
    ],
    ids=["measure", "run", "tune-measure", "scale", "interfere"],
)
def test_each_command_goes_on_where_ctrl_c_ended_it(
    rtscope: Rtscope, environment: dict[str, str], files: Path, command: list[str]
) -> None:
    def stored() -> list[dict[str, Any]]:
        return [json.loads(line) for line in rtscope("list", "--json").stdout.splitlines()]

    with started(environment, *command, cwd=files) as process:
        deadline = time.monotonic() + 60
        while not stored() and time.monotonic() < deadline:
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGINT
    assert "the same command continues" in said.splitlines()[-1]

    done = rtscope(*command)
    assert done.returncode == 0, done.stderr
    assert "report: " in done.stdout
    assert "continuing experiment" in done.stderr
    runs = stored()
    assert len({run["experiment"] for run in runs}) == 1
    if command[0] in ("scale", "interfere"):
        [run] = runs
        kept = json.loads(rtscope("show", run["id"], "--json").stdout)
        rounds = int(command[command.index("--rounds") + 1])
        assert {len(cell["medians_ns"]) for cell in kept["sweep"]["cells"]} == {rounds}
        assert kept["sweep"]["rounds"] == rounds
    else:
        assert len([run for run in runs if run["status"] == "complete"]) == 2


def test_a_command_measures_on_several_targets(rtscope: Rtscope) -> None:
    here = ["--target", "local", "--target", "local"]
    done = rtscope("measure", "-D", "200ms", *here, "--json", "--no-report")
    assert len(done.stdout.splitlines()) == 1
    refused = rtscope("measure", "-D", "200ms", "--target", "local", "--target", "vm:none-such")
    assert refused.returncode == 2
    assert "there is no kernel 'none-such'" in refused.stderr
    seeds = rtscope(*SCALE, "--seeds", "2")
    assert seeds.returncode == 2
    assert "local has no seeds" in seeds.stderr
