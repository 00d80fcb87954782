# SPDX-License-Identifier: GPL-2.0-only
"""rtscope gate measures a baseline, keeps it under a name, and judges what is measured later."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Rtscope

PLAN = """
title = "wake-ups"
[[measure]]
probes = ["cyclic"]
loads = [{loads}]
intervals = ["1ms"]
{length}
"""


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "wake-ups.toml"
    path.write_text(PLAN.format(loads='"idle", "mixed"', length='duration = "100ms"'))
    return path


def test_a_baseline_is_measured_once_and_each_cell_is_compared_with_it(
    rtscope: Rtscope, plan: Path
) -> None:
    calibrate = ["gate", "--calibrate", "--plan", str(plan), "--baseline", "old", "--runs", "6"]
    done = rtscope(*calibrate, "--json")
    told = json.loads(done.stdout)
    assert (done.returncode, told["runs"]) == (0, 6), done.stderr
    again = rtscope(*calibrate)
    assert (again.returncode, "--force to replace it" in again.stderr) == (2, True)
    assert json.loads(rtscope("gate", "--calibrate", "--baseline", "old", "--json").stdout) == told

    done = rtscope("gate", "--plan", str(plan), "--baseline", "old", "--json")
    verdict = json.loads(done.stdout)
    assert done.returncode == int(verdict["outcome"] != "pass")
    assert {row["cell"] for row in verdict["rows"]} == {
        "cyclic, load idle, every 1ms",
        "cyclic, load mixed, every 1ms",
    }
    assert (len(verdict["baseline"]), len(verdict["candidate"])) == (12, 12)
    assert not {*verdict["baseline"]} & {*verdict["candidate"]}

    removed = verdict["baseline"][0]
    assert rtscope("rm", removed).returncode == 0
    lacking = rtscope("gate", "--plan", str(plan), "--baseline", "old")
    assert (lacking.returncode, removed in lacking.stderr) == (2, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--plan", "gate", "--baseline", "nobody"], "there is no baseline 'nobody'"),
        (["3fa9", "--", "71c0", "--margin", "5%"], "put --margin before"),
        (["--plan", "gate"], "the baseline's runs are missing"),
        (["--baseline", "old"], "the candidate's runs are missing"),
        (["3fa9", "--baseline", "old"], "given twice"),
        (["3fa9", "--plan", "gate", "--", "81c0"], "given twice"),
        (["3fa9", "--runs", "5", "--", "81c0"], "are for --plan"),
        (["--calibrate"], "--calibrate needs runs"),
        (["--calibrate", "--plan", "gate", "--runs", "4"], "at least 5"),
        (["--calibrate", "--plan", "gate", "--baseline", "../x"], "cannot be a baseline's name"),
        (["--calibrate", "--baseline", "old", "--find", "ten"], "is not a part"),
    ],
)
def test_a_gate_that_cannot_be_is_refused_before_anything_is_measured(
    rtscope: Rtscope, words: list[str], said: str
) -> None:
    done = rtscope("gate", *words)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr
