# SPDX-License-Identifier: GPL-2.0-only
"""What CPUs share is named alike in every run, and what changes during a run is told to."""

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rtscope.model.finding import CpusTakeTurns, Disturbance, Sharing, TooFewRepeats
from rtscope.model.run import Run
from rtscope.statistics.findings import findings_of
from rtscope.store.runfile import decode_run
from tests.agent.probing import (
    LAST_CPU,
    PREFERRED,
    children,
    needs_root,
    needs_two_cpus,
    undisturbed,
)
from tests.cli.conftest import COMMAND, Rtscope

pytestmark = needs_two_cpus

QUIET = ("--json", "--no-report", "--quiet")
TRIES = 4
BOTH = [0, LAST_CPU]


def named(rtscope: Rtscope, probe: str) -> set[str]:
    """What shares or disturbs, without the figures."""
    with undisturbed():
        done = rtscope("measure", probe, *QUIET)
    assert done.returncode == 0, done.stderr
    found = findings_of(decode_run(done.stdout.encode()))
    assert not any(isinstance(one, TooFewRepeats) for one in found)
    named = {f"{o.cpus} {o.work}" for o in found if isinstance(o, Sharing) and o.is_so == "yes"}
    named |= {f"{one.cpus} take turns" for one in found if isinstance(one, CpusTakeTurns)}
    return named | {
        f"{one.work} {[victim.level for victim in one.victims if not victim.changing]}"
        for one in found
        if isinstance(one, Disturbance)
    }


@pytest.mark.long
@pytest.mark.parametrize("probe", ["topology", "memory"])
def test_two_runs_name_the_same(rtscope: Rtscope, probe: str) -> None:
    """One after the other; the host of a virtual machine may have changed it between them."""
    last = named(rtscope, probe)
    for _ in range(TRIES):
        before, last = last, named(rtscope, probe)
        if before == last:
            return
    pytest.fail(f"{TRIES} times the next run named something else: {before} and {last}")


def takes_turns_or_changes(run: Run) -> str:
    """Whether the first finding is that both CPUs take turns: yes, changing, or an empty text."""
    match findings_of(run)[0]:
        case CpusTakeTurns(cpus=cpus) if cpus == BOTH:
            return "yes"
        case Sharing(cpus=cpus, work="awake", is_so=is_so) if cpus == BOTH:
            return is_so
    return ""


@needs_root
@pytest.mark.parametrize(
    ("moved_after_s", "found"),
    [(0, "yes"), pytest.param(3, "changing", marks=pytest.mark.long)],
)
def test_two_cpus_that_are_or_become_one_are_named(
    environment: dict[str, str], tmp_path: Path, moved_after_s: int, found: str
) -> None:
    options = ("--policy", "other", "-O", "slot=12ms", "-l", "19", "--cpus", f"0,{LAST_CPU}")
    with undisturbed(), subprocess.Popen(
        [*PREFERRED, *COMMAND, "measure", "topology", *options, *QUIET],
        stdout=subprocess.PIPE, cwd=tmp_path, env=environment,
    ) as process:  # fmt: skip
        try:
            tid = next(pinned_threads(process.pid))
            time.sleep(moved_after_s)
            os.sched_setaffinity(tid, {0})
            output, _ = process.communicate(timeout=60)
        finally:
            process.kill()
    assert takes_turns_or_changes(decode_run(output)) == found


def pinned_threads(rtscope_pid: int) -> Iterator[int]:
    """The agent's threads that may run on the last CPU alone, as soon as there are any."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        for agent in children(rtscope_pid):
            for task in Path(f"/proc/{agent}/task").iterdir():
                if os.sched_getaffinity(int(task.name)) == {LAST_CPU}:
                    yield int(task.name)
        time.sleep(0.05)
