# SPDX-License-Identifier: GPL-2.0-only
"""rtscope run, from the plan to the experiment's report."""

import json
import os
import pty
import signal
import subprocess
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tests.cli.conftest import COMMAND, Rtscope, started
from tests.terminal import on_terminal

PLAN = """
title = "Two loads"
order = "as written"

[[measure]]
probes = ["cyclic"]
loads = ["idle", "cpu:1", "timers:1", "files:1"]
intervals = ["500us"]
duration = "300ms"
"""


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.toml"
    path.write_text(PLAN)
    return path


def runs(rtscope: Rtscope, *arguments: str) -> list[dict[str, Any]]:
    """What is in the store, the first measured first."""
    listed = rtscope("list", "--json", "-n", "1000", *arguments).stdout.splitlines()
    return [json.loads(line) for line in reversed(listed)]


def test_a_plan_is_measured_judged_shown_kept_and_drawn(rtscope: Rtscope, plan: Path) -> None:
    with plan.open("a") as file:
        file.write('[[budget]]\nlimits = ["max<10s", "mean<1s"]\nloads = ["idle"]\n')
        file.write('[[budget]]\nlimits = ["max<1ns", "p99.999<10s"]\nloads = ["cpu:1"]\n')
    junit = plan.with_name("junit.xml")
    done = rtscope("run", str(plan), "--junit", str(junit))
    assert done.returncode == 1, done.stderr
    assert done.stderr.splitlines()[-1].startswith("cyclic, load files:1, every 500us: ")
    assert "2 of 4 cells done, about 1 s left" in done.stderr
    table = [line for line in done.stdout.splitlines() if line.startswith("cyclic, load idle")]
    assert "pass" in table[0]
    assert "cyclic, load cpu:1, every 500us: max<1ns: fail, max is" in done.stdout
    assert "p99.999<10s: inconclusive, " in done.stdout
    page = Path(done.stdout.partition("report: ")[2].strip())
    held = runs(rtscope)
    assert [run["load"] for run in held] == ["idle", "cpu:1", "timers:1", "files:1"]
    assert all(run["load"] in page.read_text() for run in held)
    assert {run["experiment"] for run in held} == {page.stem}
    assert runs(rtscope, "--experiment", page.stem[:6]) == held
    assert rtscope("list", "--experiment", "none").returncode == 2
    cases = ET.fromstring(junit.read_text()).iter("testcase")
    failures = [(case.attrib["name"], len(case.findall("failure"))) for case in cases]
    assert failures == [(run["cell"], 2 * (run["load"] == "cpu:1")) for run in held]

    run = json.loads(rtscope("show", held[2]["id"], "--json").stdout)
    done = rtscope(*run["asked"]["command"][1:], "--no-report")
    assert done.returncode == 0, done.stderr
    again = json.loads(rtscope("show", "last", "--json").stdout)
    assert again["id"] != run["id"]
    kept = ("interval_ns", "duration_ns", "policy", "priority", "loads", "options")
    assert [again["asked"][key] for key in kept] == [run["asked"][key] for key in kept]


def test_a_dry_run_shows_the_matrix_and_its_time_and_measures_nothing(
    rtscope: Rtscope, plan: Path
) -> None:
    done = rtscope("run", str(plan), "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "cyclic, load timers:1, every 500us" in done.stdout
    assert "4 cells, about 3.1 s; nothing was measured" in done.stdout
    with plan.open("a") as file:
        file.write('[[measure]]\nprobes = ["gtod"]\nsamples = 10\n')
    timed = rtscope("run", str(plan), "--dry-run").stdout
    assert "gtod, load idle its own time 10 samples" in " ".join(timed.split())
    assert "about 3.1 s, and for 1 the time that their probe takes" in timed
    assert runs(rtscope) == []


def test_a_cell_that_cannot_be_measured_does_not_stop_the_others(
    rtscope: Rtscope, plan: Path, agent_path: Path
) -> None:
    broken = plan.with_name("agent")
    broken.write_text(
        '#!/bin/sh\ncase "$*" in *--dry-run*) ;; *cpu:1*) echo no CPU left >&2; exit 1;; esac\n'
        f'exec {agent_path} "$@"\n'
    )
    broken.chmod(0o755)
    junit = plan.with_name("junit.xml")
    done = rtscope("run", str(plan), "--junit", str(junit), RTSCOPE_AGENT=str(broken))
    assert done.returncode == 1
    assert "cyclic, load cpu:1, every 500us: no CPU left" in done.stderr
    assert [run["load"] for run in runs(rtscope)] == ["idle", "timers:1", "files:1"]
    assert ET.fromstring(junit.read_text()).attrib["errors"] == "1"
    assert rtscope("run", str(plan), "--no-report").returncode == 0
    assert [run["load"] for run in runs(rtscope)][3:] == ["cpu:1"]


def test_a_plan_is_measured_elsewhere_than_it_says_at_a_scale(rtscope: Rtscope, plan: Path) -> None:
    plan.write_text(PLAN.replace("[[measure]]", 'targets = ["vm:board"]\n[[measure]]'))
    (unknown,) = rtscope("run", plan.name).stderr.splitlines()
    assert unknown.startswith("rtscope: plan.toml:5: targets: ")
    words = ("run", str(plan), "-t", "local", "-t", "local", "--scale", "0.2", "--json")
    done = rtscope(*words)
    asked = [json.loads(line)["asked"] for line in done.stdout.splitlines()]
    assert [(one["scale"], one["duration_ns"]) for one in asked] == [(0.2, 60_000_000)] * 4
    assert "report: " in done.stderr
    assert rtscope("rm", "last").returncode == 0
    assert len(rtscope(*words, "--fresh").stdout.splitlines()) == 4
    assert len({run["experiment"] for run in runs(rtscope)}) == 2
    assert rtscope("run", str(plan), "--scale", "0").returncode == 2


def test_a_plan_is_not_measured_twice_at_once(
    environment: dict[str, str], rtscope: Rtscope, plan: Path
) -> None:
    plan.write_text(PLAN.replace('"300ms"', '"1s"'))
    other = plan.with_name("other.toml")
    other.write_text(PLAN.replace('"300ms"', '"100ms"'))
    with started(environment, "run", str(plan), "--no-report") as process:
        assert process.stderr is not None
        assert process.stderr.readline()
        time.sleep(0.3)  # the first cell is in the store then, which is not locked any more
        process.send_signal(signal.SIGSTOP)  # so that it is not done before the others are
        try:
            for more in ((), ("--fresh",)):
                second = rtscope("run", str(plan), "--no-report", *more)
                assert second.returncode == 2
                assert "another rtscope measures the same already" in second.stderr
            assert rtscope("run", str(other), "--no-report").returncode == 0
        finally:
            process.send_signal(signal.SIGINT)
            process.send_signal(signal.SIGCONT)
        process.communicate(timeout=30)
    assert rtscope("run", str(plan), "--no-report", "-q").returncode == 0
    complete = [run["load"] for run in runs(rtscope) if run["status"] == "complete"]
    assert sorted(complete) == sorted(["idle", "cpu:1", "timers:1", "files:1"] * 2)


def test_a_killed_run_of_a_plan_is_continued(
    environment: dict[str, str], rtscope: Rtscope, plan: Path
) -> None:
    plan.write_text(PLAN.replace('"300ms"', '"1500ms"'))
    with started(environment, "run", str(plan), "--no-report") as process:
        assert process.stderr is not None
        assert "1 of 4 cells done" in process.stderr.readline()
        time.sleep(0.7)
        process.kill()
    done = rtscope("run", str(plan), "--no-report")
    assert done.returncode == 0, done.stderr
    assert "1 of 4 cells are done; --fresh starts a new experiment" in done.stderr.splitlines()[0]
    held = [(run["load"], run["status"]) for run in runs(rtscope)]
    assert held == [(load, "complete") for load in ("idle", "cpu:1", "timers:1", "files:1")]
    assert len({run["experiment"] for run in runs(rtscope)}) == 1
    assert done.stdout.count("cyclic, load") == 4


def test_a_plan_is_one_display_on_a_terminal_and_measured_whole_when_that_is_closed(
    environment: dict[str, str], rtscope: Rtscope, plan: Path
) -> None:
    command = [*COMMAND, "run", str(plan), "--report"]
    page = plan.with_name("report.html")
    with on_terminal([*command, "shown.html"], environment, cwd=plan.parent) as shown:
        assert shown.end() == 0, shown.text
    expected = ["Two loads", "timers:1", *(f"{done} of 4 cells done" for done in range(4))]
    assert [words for words in expected if words not in shown.text] == []

    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*command, str(page)], env=environment | {"TERM": "xterm-256color"},
        stdout=subprocess.PIPE, stderr=theirs, text=True,
    ) as process:  # fmt: skip
        os.close(theirs)
        assert os.read(ours, 100)
        os.close(ours)
        out, _ = process.communicate(timeout=60)
    assert (process.returncode, out.count("cyclic, load"), len(runs(rtscope))) == (0, 4, 8)
    assert "timers:1" in page.read_text()
