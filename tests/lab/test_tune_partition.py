# SPDX-License-Identifier: GPL-2.0-only
"""CPUs that are isolated while the machine runs, and given back, in a machine of four."""

import json
from pathlib import Path

import pytest

from rtscope.lab.kernels import Kernel
from rtscope.lab.vm import vm_target
from tests.agent.probing import Lines, of_type
from tests.lab.guest_shell import run_script, sections

LIMIT_S = 300
UNTOUCHED = {"isolated": "", "controllers": "", "program": "0-3", "cgroup": "none"}

pytestmark = pytest.mark.kernels


# As killed after the cgroup was made, and before it was a partition, it is "torn".
SCRIPT = """
cgroups=/sys/fs/cgroup; ours=$cgroups/rtscope.isolated-p
mount -t cgroup2 cgroup2 $cgroups
state() {
    echo "@ $1"
    echo "isolated: $(cat $cgroups/cpuset.cpus.isolated)"
    echo "controllers: $(cat $cgroups/cgroup.subtree_control)"
    echo "program: $(sed -n 's/Cpus_allowed_list:\\t//p' /proc/$program/status)"
    [ -e $ours ] && echo "cgroup: there" || echo "cgroup: none"
}
tune() { agent tune --json "$@"; echo "status $?"; }
apply() { tune --profile=p apply "partition cpus=2-3" "interrupts away=2-3"; }
sleep 1000 & program=$!
state before
echo "@ apply"; apply; state applied
echo $program > $ours/cgroup.procs; state joined
echo "@ undo"; tune undo; state undone
echo "@ apply again"; apply
echo member > $ours/cpuset.cpus.partition; echo > $ours/cpuset.cpus; state torn
echo "@ undo again"; tune undo; state mended
echo "@ cyclic"
agent cyclic --json --cpus=2-3 --samples=500 --progress=0 --cpu-counts \\
    "--tune=partition cpus=2-3" "--tune=interrupts away=2-3" "--tune=tasks away=2-3"
state measured
"""


@pytest.fixture(scope="module")
def said(
    rt_kernel: Kernel, agent_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    target = vm_target(f"vm:{rt_kernel.name},mode=fast,cpus=4")
    directory = tmp_path_factory.mktemp("tune")
    return sections(run_script(target, SCRIPT, agent_path, directory, limit_s=LIMIT_S).said)


def state(said: dict[str, str], when: str) -> dict[str, str]:
    lines = [line.partition(":") for line in said[when].splitlines() if line]
    return {what: value.strip() for what, _, value in lines}


def lines_of(said: dict[str, str], step: str) -> Lines:
    return [json.loads(line) for line in said[step].splitlines() if line.startswith("{")]


def test_a_partition_that_a_kill_left_unfinished_is_undone(said: dict[str, str]) -> None:
    assert state(said, "torn")["cgroup"] == "there"
    assert said["undo again"].split()[-1] == "0"
    assert state(said, "mended") == UNTOUCHED


def test_measuring_threads_run_in_the_partition_of_their_measurement(said: dict[str, str]) -> None:
    lines = lines_of(said, "cyclic")
    assert "tune-not-held" not in {line["code"] for line in of_type(lines, "warning")}
    assert [line["type"] for line in lines].index("start") > 2
    measured = of_type(lines, "thread")
    assert [thread["cpu"] for thread in measured] == [2, 3]
    assert all(thread["count"] == 500 for thread in measured)
    assert all(thread["facts"]["switches"] >= 500 for thread in measured)
    assert state(said, "measured") == UNTOUCHED
