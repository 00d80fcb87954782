# SPDX-License-Identifier: GPL-2.0-only
"""rtscope tune as a user has it, on programs that the tests start and nothing else."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agent.probing import NOBODY
from tests.cli.conftest import COMMAND, Rtscope, started
from tests.places import needs_process_events
from tests.terminal import on_terminal

PROFILE = """description = "Ours"

[[step]]
name = "in batches"
[[step.thread]]
name = "{name}"
policy = "batch"

[[step]]
name = "nicer"
[[step.thread]]
name = "{name}"
nice = 19
{more}
"""
BOOT = '[step.boot]\nadd = "quiet"'


@pytest.fixture
def own(tmp_path: Path) -> Iterator[int]:
    """A program of a name that no other has."""
    name = f"own{os.getpid()}"
    program = subprocess.Popen([shutil.copy("/bin/sleep", tmp_path / name), "300"])
    (tmp_path / "ours.toml").write_text(PROFILE.format(name=name, more=""))
    (tmp_path / "boot.toml").write_text(PROFILE.format(name=name, more=BOOT))
    yield program.pid
    program.kill()
    program.wait()


def state(pid: int) -> tuple[int, int]:
    """Policy and nice value."""
    return os.sched_getscheduler(pid), os.getpriority(os.PRIO_PROCESS, pid)


def until(holds: Callable[[], bool]) -> bool:
    """Whether it comes to hold within half a minute."""
    limit = time.monotonic() + 30
    while not holds() and time.monotonic() < limit:
        time.sleep(0.01)
    return holds()


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root lowers nice values again")
BEFORE = (os.SCHED_OTHER, os.getpriority(os.PRIO_PROCESS, 0))
AFTER = (os.SCHED_BATCH, 19)
JOURNAL = "--journal={}/journal"


@pytest.fixture
def tune(rtscope: Rtscope, tmp_path: Path) -> Rtscope:
    def run(verb: str, *words: str) -> subprocess.CompletedProcess[str]:
        return rtscope("tune", verb, *words, JOURNAL.format(tmp_path))

    return run


def changes(printed: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in printed.splitlines()]


def test_the_profiles_are_listed_and_completed(rtscope: Rtscope) -> None:
    printed = rtscope("tune", "list").stdout
    assert re.search(r"^isolated-cores +--cpus +\w", printed, re.MULTILINE)
    reported = changes(rtscope("tune", "list", "--json").stdout)
    assert "isolated-cores" in [one["name"] for one in reported]
    words = {"COMP_WORDS": "rtscope tune show i", "COMP_CWORD": "3"}
    completed = rtscope(_RTSCOPE_COMPLETE="complete_bash", **words)
    assert "isolated-cores" in completed.stdout.split()


def test_show_reports_each_change_and_nothing_is_changed_unasked(tune: Rtscope, own: int) -> None:
    steps = tune("show", "./ours.toml")
    assert steps.returncode == 0, steps.stderr
    for name in ("in batches", "nicer"):
        assert re.search(rf"^{name} +1 +1 planned", steps.stdout, re.MULTILINE)
    assert str(own) not in steps.stdout
    done = tune("show", "./ours.toml", "--all")
    assert done.returncode == 0, done.stderr
    assert re.search(rf"own\d+ \(tid {own}\) +other +batch +planned", done.stdout)
    assert re.search(rf"own\d+ \(tid {own}\) +{BEFORE[1]} +19 +planned", done.stdout)
    for words in ([], ["--json"]):
        refused = tune("apply", "./ours.toml", *words)
        assert refused.returncode == 2
        assert "nobody can be asked here" in refused.stderr
        assert "--yes" in refused.stderr
    assert state(own) == BEFORE


@needs_root
def test_a_profile_is_applied_reported_and_undone(tune: Rtscope, own: int) -> None:
    done = tune("apply", "./ours.toml", "--yes")
    assert done.returncode == 0, done.stderr
    assert "2 applied" in done.stdout
    assert "rtscope tune undo ours" in done.stderr
    assert state(own) == AFTER
    assert "all is as the profile wants it" in tune("apply", "./ours.toml", "--yes").stdout

    reported = tune("status", "--json")
    assert {line["state"] for line in changes(reported.stdout)} == {"in-effect"}
    os.sched_setscheduler(own, os.SCHED_OTHER, os.sched_param(0))
    reported = tune("status")
    assert "set-back" in reported.stdout
    assert reported.returncode == 1
    os.sched_setscheduler(own, os.SCHED_BATCH, os.sched_param(0))

    done = tune("undo", "ours", "--json")
    assert done.returncode == 0, done.stderr
    assert {line["state"] for line in changes(done.stdout)} == {"restored"}
    assert state(own) == BEFORE
    assert "there is nothing to undo" in tune("undo").stdout
    assert "no profile is applied" in tune("status").stdout


@needs_root
@pytest.mark.parametrize(("answer", "after"), [("n", BEFORE), ("y", AFTER)])
def test_on_a_terminal_it_asks_first(
    environment: dict[str, str], tmp_path: Path, own: int, answer: str, after: tuple[int, int]
) -> None:
    command = [*COMMAND, "tune", "apply", "./ours.toml", JOURNAL.format(tmp_path)]
    with on_terminal(command, environment, cwd=tmp_path) as asked:
        asked.wait_for("[y/N]")
        assert state(own) == BEFORE
        asked.type(f"{answer}\n")
        assert asked.end() == (0 if answer == "y" else 1)
    assert "planned" in asked.text
    assert state(own) == after


@needs_root
def test_ctrl_c_undoes_what_was_made(environment: dict[str, str], tmp_path: Path, own: int) -> None:
    words = ("tune", "apply", "./ours.toml", "--yes", JOURNAL.format(tmp_path))
    applying = started(environment, *words, cwd=tmp_path)
    assert until(lambda: state(own) != BEFORE)
    applying.send_signal(signal.SIGINT)
    out, err = applying.communicate(timeout=60)
    assert applying.returncode == 130, (out, err)
    assert state(own) == BEFORE


@needs_process_events
@pytest.mark.skipif(os.geteuid() != 0, reason="the kernel reports new threads to root only")
def test_held_for_those_who_come_later_until_ctrl_c(
    environment: dict[str, str], tmp_path: Path, own: int
) -> None:
    words = ("tune", "hold", "./ours.toml", JOURNAL.format(tmp_path))
    holding = started(environment, *words, cwd=tmp_path)
    try:
        assert until(lambda: state(own) == AFTER)
        with subprocess.Popen([tmp_path / f"own{os.getpid()}", "300"]) as later:
            assert until(lambda: state(later.pid) == AFTER)
            holding.send_signal(signal.SIGINT)
            out, err = holding.communicate(timeout=60)
            assert holding.returncode == 0, (out, err)
            assert state(own) == state(later.pid) == BEFORE
            later.kill()
        assert f"applied: own{os.getpid()} (tid {later.pid}): other -> batch" in out
        assert f"restored: own{os.getpid()} (tid {later.pid}): batch -> other" in out
        assert "until Ctrl-C" in err
    finally:
        holding.kill()
        holding.communicate()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["show", "isolated-core"], "is it isolated-cores?"),
        (["show", "isolated-cores"], "needs CPUs: give --cpus 1-3"),
        (["show", "isolated-cores", "--cpus", "8000"], "this system has no CPU 8000"),
        (["show", "isolated-cores", "--cpus", "0-N"], "all online CPUs"),
        (["show", "./gone.toml"], "gone.toml cannot be read"),
        (["undo", "--target", "vm:x"], "rtscope lab kernel"),
        (["measure", "minimal", "--steps", "9"], "no step 9: they are 0 (as booted), 1"),
        (["measure", "minimal", "--budget", "max"], "is not a budget"),
    ],
)
def test_what_cannot_be_is_a_sentence(rtscope: Rtscope, words: list[str], said: str) -> None:
    done = rtscope("tune", *words)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_the_unit_runs_the_agent_with_the_rules(rtscope: Rtscope, tmp_path: Path, own: int) -> None:
    done = rtscope("tune", "hold", "./boot.toml", "--unit", "--keep")
    assert done.returncode == 0, done.stderr
    (command,) = re.findall(r"^ExecStart=(.*)$", done.stdout, re.MULTILINE)
    assert '"tune" "hold" "--keep" "--profile=boot"' in command
    assert re.search(r'"thread name=own\d+ policy=batch"', command)
    if shutil.which("systemd-analyze"):
        unit = tmp_path / "rtscope-boot.service"
        unit.write_text(done.stdout)
        checked = subprocess.run(
            ["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False
        )
        assert "rtscope-boot.service:" not in checked.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become nobody")
@pytest.mark.parametrize(
    ("profile", "lacks"), [("ours", "CAP_SYS_NICE"), ("none", "CAP_DAC_OVERRIDE")]
)
def test_missing_rights_to_tune_are_reported_before_anything_is_measured(
    rtscope: Rtscope, tmp_path: Path, public_agent: Path, own: int, profile: str, lacks: str
) -> None:
    """Where the profile needs no more than its journal, that is named."""
    (tmp_path / "none.toml").write_text(PROFILE.format(name="nobody-is-called-so", more=""))
    agent = tmp_path / "agent"
    agent.write_text(f'#!/bin/sh\nexec {shlex.join([*NOBODY, str(public_agent)])} "$@"\n')
    agent.chmod(0o755)
    short = ("-D", "100ms", "--rounds", "1", "--no-report")
    done = rtscope("tune", "measure", f"./{profile}.toml", *short, RTSCOPE_AGENT=str(agent))
    assert done.returncode == 2, done.stderr
    assert f"{lacks}, which this user does not have" in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert rtscope("list", "--json").stdout == ""
    assert state(own) == BEFORE


@needs_root
@pytest.mark.timing("a round of 300 ms that another program stalls does not count")
def test_each_step_is_measured_and_undone(rtscope: Rtscope, tmp_path: Path, own: int) -> None:
    done = rtscope(
        *("tune", "measure", "./boot.toml", "--rounds", "2", "-D", "300ms", "--json", "-q"),
        *("--steps", "0-2", "--measure-cpus", "0", "--report", "steps.html"),
    )
    assert done.returncode == 0, done.stderr
    *runs, steps = changes(done.stdout)
    assert state(own) == BEFORE
    assert len(runs) == 6
    assert {run["tuning"]["step"]: run["tuning"]["held"] for run in runs} == {0: 0, 1: 1, 2: 2}
    assert steps["type"] == "steps"
    results = steps["results"]
    assert [one["name"] for one in results] == ["as booted", "in batches", "nicer"]
    assert [one["rounds"] for one in results] == [2, 2, 2]
    assert "quiet" in results[2]["left_out"][0]
    assert 'id="steps-0"' in (tmp_path / "steps.html").read_text()
