# SPDX-License-Identifier: GPL-2.0-only
"""CPUs that are isolated while the machine runs, and given back, in a machine of four."""

import json
from pathlib import Path

import pytest

from rtscope.lab.kernels import Kernel
from rtscope.lab.vm import vm_target
from tests.agent.probing import Lines, of_type
from tests.lab.guest_program import heard, results

LIMIT_S = 300
UNTOUCHED = {"isolated": "", "controllers": "", "program": "0-3", "cgroup": "none"}

pytestmark = pytest.mark.kernels


@pytest.fixture(scope="module")
def said(rt_kernel: Kernel, agent_path: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    return heard(
        vm_target(f"vm:{rt_kernel.name},mode=fast,cpus=4"),
        "tune_guest.c",
        tmp_path_factory.mktemp("tune"),
        files={"agent": agent_path.read_bytes()},
        limit_s=LIMIT_S,
    ).said


def state(said: str, when: str) -> dict[str, str]:
    told = results(said)
    return {what: told[f"{when} {what}"].strip() for what in UNTOUCHED}


def lines_of(said: str, step: str) -> Lines:
    part = said.replace("\r", "").split(f"@ {step}\n", maxsplit=1)[1].split("@ ", maxsplit=1)[0]
    return [json.loads(line) for line in part.splitlines() if line.startswith("{")]


def test_a_partition_has_its_cpus_alone_and_gives_them_back(said: str) -> None:
    assert results(said)["apply status"].strip() == "0"
    assert state(said, "before") == UNTOUCHED
    isolated = {"isolated": "2-3", "controllers": "cpuset", "program": "0-1", "cgroup": "there"}
    assert state(said, "applied") == isolated
    assert state(said, "joined") == isolated | {"program": "2-3"}
    assert results(said)["undo status"].strip() == "0"
    assert {change["state"] for change in of_type(lines_of(said, "undo"), "change")} == {"restored"}
    assert state(said, "undone") == UNTOUCHED


def test_interrupts_leave_and_come_back(said: str) -> None:
    changes = of_type(lines_of(said, "apply"), "change")
    moved = [change for change in changes if change["kind"] == "interrupt"]
    assert any("(ttyS1)" in change["what"] for change in moved)
    assert {(change["old"], change["new"]) for change in moved} == {("0-3", "0-1")}


def test_a_partition_that_a_kill_left_unfinished_is_taken_back(said: str) -> None:
    assert state(said, "torn")["cgroup"] == "there"
    assert results(said)["undo again status"].strip() == "0"
    assert state(said, "mended") == UNTOUCHED


def test_measuring_threads_run_in_the_partition_of_their_measurement(said: str) -> None:
    lines = lines_of(said, "cyclic")
    assert not of_type(lines, "warning") or "tune-not-held" not in {
        line["code"] for line in of_type(lines, "warning")
    }
    assert [line["type"] for line in lines].index("start") > 2
    measured = of_type(lines, "thread")
    assert [thread["cpu"] for thread in measured] == [2, 3]
    assert all(thread["count"] == 500 for thread in measured)
    assert all(thread["facts"]["switches"] >= 500 for thread in measured)
    assert state(said, "measured") == UNTOUCHED
