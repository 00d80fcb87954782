# SPDX-License-Identifier: GPL-2.0-only
"""What tuning does to a machine of four CPUs is seen: who ran where, before, while and after."""

import re
from pathlib import Path

import msgspec
import pytest

from rtscope.lab.kernels import Kernel
from rtscope.lab.vm import vm_target
from tests.lab.guest_shell import run_script, sections

LIMIT_S = 400

pytestmark = pytest.mark.kernels

# Functions of the guest's scripts.
COMMON = """
tune() { verb=$1; shift; agent tune $verb --json --journal /tmp/journal "$@"; echo "exit $?"; }
spin() { (while :; do :; done) & }
say() { for i in 1 2 3 4 5 6 7 8; do echo; usleep 10000; done; }
where() {
    echo "@ where $1"
    grep ^cpu /proc/schedstat; grep ttyS1 /proc/interrupts
    sleep 1; say
    grep ^cpu /proc/schedstat; grep ttyS1 /proc/interrupts
}
plug() { echo $2 > /sys/devices/system/cpu/cpu$1/online; }
allowed() { grep Cpus_allowed_list /proc/$1/status; }
"""


class Where(msgspec.Struct, frozen=True):
    """What happened on each CPU in a second or more."""

    ran_s: dict[int, float]
    interrupts: dict[int, int]
    """of the port that the guest speaks by"""

    def busy(self) -> set[int]:
        """The CPUs that ran something for a third of the time or more."""
        return {cpu for cpu, ran_s in self.ran_s.items() if ran_s > max(self.ran_s.values()) / 3}

    def interrupted(self) -> set[int]:
        return {cpu for cpu, count in self.interrupts.items() if count}


def where(text: str) -> Where:
    """Of two looks at /proc/schedstat, where the eighth word is ns, and /proc/interrupts."""
    ran: dict[int, list[int]] = {}
    for cpu, ran_ns in re.findall(r"^cpu(\d+)(?: \d+){6} (\d+)", text, re.MULTILINE):
        ran.setdefault(int(cpu), []).append(int(ran_ns))
    before, after = (
        [int(word) for word in line.split()[: len(ran)]]
        for line in re.findall(r"^ *\d+:((?: +\d+)+) .*ttyS1", text, re.MULTILINE)
    )
    return Where(
        ran_s={cpu: (last - first) / 1e9 for cpu, (first, last) in ran.items()},
        interrupts={cpu: after[cpu] - before[cpu] for cpu in ran},
    )


def changes(text: str, state: str) -> list[dict[str, str]]:
    """The `change` lines of a verb's output that tell of this state."""
    lines = [msgspec.json.decode(line) for line in text.splitlines() if line.startswith("{")]
    return [line for line in lines if line["type"] == "change" and line["state"] == state]


def status(text: str) -> int:
    """The exit status of the last verb."""
    return int(re.findall(r"^exit (\d+)", text, re.MULTILINE)[-1])


@pytest.fixture(scope="module")
def steps(
    rt_kernel: Kernel, agent_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    """Sections of what the three steps of the multicore report did, each taken back again."""
    script = """
mkdir -p /sys/fs/cgroup; mount -t cgroup2 cgroup2 /sys/fs/cgroup
for i in 1 2 3 4; do spin; done
echo 2-3 > /proc/irq/3/smp_affinity_list; say
where "as booted"
echo "@ apply tasks"; tune apply --profile tasks "tasks away=2-3"
where "tasks away"
echo "@ apply tasks again"; tune apply --profile tasks "tasks away=2-3"
echo "@ apply interrupts"; tune apply --profile interrupts "interrupts away=2-3"
where "interrupts away"
cat /proc/irq/default_smp_affinity
echo "@ status"; tune status
echo "@ undo tasks and interrupts"; tune undo
where "undone"
cat /proc/irq/default_smp_affinity /proc/irq/3/smp_affinity_list
echo "@ apply partition"; tune apply --profile shielded "partition cpus=2-3"
where "partition"
echo "@ within"
cat /sys/fs/cgroup/cpuset.cpus.isolated
spin; echo $! > /sys/fs/cgroup/rtscope.isolated-shielded/cgroup.procs && allowed $!
where "a program in the partition"
echo "@ undo partition"; tune undo
where "partition undone"
cat /sys/fs/cgroup/cpuset.cpus.isolated; ls /sys/fs/cgroup | grep rtscope; ls -A /tmp/journal
"""
    target = vm_target(f"vm:{rt_kernel.name},cpus=4,mode=fast")
    folder = tmp_path_factory.mktemp("steps")
    return sections(run_script(target, COMMON + script, agent_path, folder, limit_s=LIMIT_S).said)


def test_as_booted_programs_run_and_interrupts_come_everywhere(steps: dict[str, str]) -> None:
    for section in ("where as booted", "where undone", "where partition undone"):
        seen = where(steps[section])
        assert seen.busy() == {0, 1, 2, 3}, section
        assert seen.interrupted() <= {2, 3}, section
        assert seen.interrupted(), section


def test_moved_tasks_leave_the_cpus(steps: dict[str, str]) -> None:
    assert status(steps["apply tasks"]) == 0
    assert where(steps["where tasks away"]).busy() == {0, 1}
    assert where(steps["where tasks away"]).interrupted() <= {2, 3}
    assert {change["kind"] for change in changes(steps["apply tasks"], "applied")} == {
        "thread-cpus"
    }


def test_moved_interrupts_leave_the_cpus(steps: dict[str, str]) -> None:
    assert status(steps["apply interrupts"]) == 0
    seen = where(steps["where interrupts away"])
    assert seen.interrupted() <= {0, 1}
    assert seen.interrupted()
    assert steps["where interrupts away"].split()[-1] == "3"  # default_smp_affinity


def test_an_isolated_partition_has_its_cpus_for_itself(steps: dict[str, str]) -> None:
    assert status(steps["apply partition"]) == 0
    assert where(steps["where partition"]).busy() == {0, 1}
    assert steps["within"].split()[0] == "2-3"
    assert steps["within"].split()[-1] == "2-3"
    assert where(steps["where a program in the partition"]).busy() & {2, 3}


def test_all_of_it_is_undone(steps: dict[str, str]) -> None:
    for section in ("undo tasks and interrupts", "undo partition"):
        assert status(steps[section]) == 0
        assert changes(steps[section], "left") == []
        assert changes(steps[section], "failed") == []
    reported = changes(steps["undo tasks and interrupts"], "restored")
    applied = [
        *changes(steps["apply tasks"], "applied"),
        *changes(steps["apply interrupts"], "applied"),
    ]
    assert {(one["kind"], one["where"]) for one in reported} >= {
        (one["kind"], one["where"]) for one in applied if one["kind"] != "thread-cpus"
    }
    assert steps["where undone"].split()[-2:] == ["f", "2-3"]
    assert steps["where partition undone"].rstrip().endswith("ttyS1"), "nothing is left of it"


@pytest.fixture(scope="module")
def comings(
    rt_kernel: Kernel, agent_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    """Sections of what tuning did while CPUs, threads and an interrupt came and went."""
    script = """
rest() { read -t $1 nothing <&9; }
born() { (printf $1 > /proc/self/comm; while :; do read -t 1 nothing <&9; done) & }
policy() { cut -d" " -f40,41 /proc/$1/stat; }
interrupts() { exec sleep 12 < /dev/ttyS3; }
named() { grep -l "$1" /proc/[0-9]*/comm | cut -d/ -f3; }
mkfifo /tmp/nobody; exec 9<>/tmp/nobody

echo "@ no cgroup"; tune apply "partition cpus=2-3"
mkdir -p /sys/fs/cgroup; mount -t cgroup -o none,name=systemd cgroup /sys/fs/cgroup
echo "@ cgroup version 1"; tune apply "partition cpus=2-3"; ls /sys/fs/cgroup | grep rtscope
umount /sys/fs/cgroup; mount -t cgroup2 cgroup2 /sys/fs/cgroup
echo "@ CPU that is not there"; tune apply "tasks away=9"

born rts-one; one=$!; rest 1; taskset -p 7 $one; echo 0-1 > /proc/irq/4/smp_affinity_list
echo "@ planned"; tune show "thread name=rts-one cpus=3"
plug 3 0
echo "@ unplugged after that"; tune apply "thread name=rts-one cpus=3"
allowed $one; ls -A /tmp/journal
plug 3 1
echo "@ applied"; tune apply "thread name=rts-one cpus=3" "interrupt name=ttyS0 cpus=3"
plug 3 0; rest 3
echo "@ unplugged while applied"; tune status; allowed $one
echo "@ undone without it"; tune undo
allowed $one; cat /proc/irq/4/smp_affinity_list; ls -A /tmp/journal
plug 3 1
echo "@ plugged again"; allowed $one

echo "@ partition"; tune apply "partition cpus=2-3"
plug 3 0; rest 1
echo "@ partition without a CPU"; tune status; tune undo; ls /sys/fs/cgroup | grep rtscope
plug 3 1
echo "@ without the partition"; allowed $one; cat /sys/fs/cgroup/cpuset.cpus.effective

born rts-held; held=$!; rest 1
agent tune hold --json --journal /tmp/journal \\
    "thread name=rts-held cpus=3 policy=fifo priority=5" \\
    "thread name=irq/*-ttyS3 policy=fifo priority=77" "interrupt name=ttyS3 cpus=2" > /tmp/held &
hold=$!; rest 8
echo "@ idle"
for i in 1 2 3; do
    read before < /proc/$hold/schedstat; rest 3; read after < /proc/$hold/schedstat
    echo "$before, $after"
done
plug 3 0; rest 3
echo "@ held without its CPU"; allowed $held; policy $held
plug 3 1; rest 3
echo "@ held with its CPU"; allowed $held
interrupts & port=$!; while [ -z "$(named irq.*ttyS3)" ]; do usleep 20000; done
rest 3
echo "@ a device's interrupt"; grep ttyS3 /proc/interrupts
irq=$(grep ttyS3 /proc/interrupts | tr -d " " | cut -d: -f1); cat /proc/irq/$irq/smp_affinity_list
policy $(named irq.*ttyS3)
echo "@ held"; kill -TERM $hold; wait $hold; echo "exit $?"; cat /tmp/held
echo "@ no longer held"; allowed $held; policy $held; ls -A /tmp/journal
wait $port

away() { echo 0-3 > /proc/irq/4/smp_affinity_list; }
told() { rest 1; echo "$1 $(cat /proc/irq/4/smp_affinity_list)"; }
agent tune hold --json --journal /tmp/journal \\
    "interrupt name=ttyS3 cpus=1" "interrupt name=ttyS0 cpus=1" > /tmp/held &
hold=$!; rest 8
echo "@ interrupts alone"
away; told nobody
ifconfig lo up; told link
away; echo bind > /sys/class/mem/null/uevent; told device
interrupts & rest 3; cat /proc/irq/$irq/smp_affinity_list
kill -TERM $hold; wait $hold; echo "exit $?"
"""
    target = vm_target(f"vm:{rt_kernel.name},cpus=4,mode=fast")
    port = [*target.board.options, "-device", "pci-serial"]
    target = msgspec.structs.replace(
        target, board=msgspec.structs.replace(target.board, options=port)
    )
    folder = tmp_path_factory.mktemp("comings")
    return sections(run_script(target, COMMON + script, agent_path, folder, limit_s=LIMIT_S).said)


def test_without_cgroups_of_version_2_a_partition_is_refused(comings: dict[str, str]) -> None:
    for section in ("no cgroup", "cgroup version 1"):
        assert status(comings[section]) == 1
        (failed,) = changes(comings[section], "failed")
        assert "no cgroups of version 2 are mounted" in failed["why"]
        assert changes(comings[section], "applied") == []
    assert comings["cgroup version 1"].split()[-2:] == ["exit", "1"], "nothing was made"


def test_cpus_that_are_not_there_or_unplugged_are_refused(comings: dict[str, str]) -> None:
    assert status(comings["CPU that is not there"]) == 2
    assert "CPU 9" in comings["CPU that is not there"]
    assert [change["new"] for change in changes(comings["planned"], "planned")] == ["3"]
    assert status(comings["unplugged after that"]) == 2
    assert "CPU 3" in comings["unplugged after that"]
    assert comings["unplugged after that"].split()[-1] == "0-2", "neither changed nor written down"


def test_what_was_on_an_unplugged_cpu_is_undone(comings: dict[str, str]) -> None:
    """The kernel has moved it meanwhile, to any CPU."""
    applied = changes(comings["applied"], "applied")
    assert [(one["kind"], one["new"]) for one in applied] == [
        ("thread-cpus", "3"),
        ("interrupt", "3"),
    ]
    assert len(changes(comings["unplugged while applied"], "set-back")) == 2
    assert len(changes(comings["undone without it"], "restored")) == 2
    assert comings["undone without it"].split()[-2:] == ["0-2", "0-1"]
    assert comings["plugged again"].split()[-1] == "0-2"


def test_a_partition_that_has_lost_a_cpu_is_undone(comings: dict[str, str]) -> None:
    assert status(comings["partition"]) == 0
    assert len(changes(comings["partition without a CPU"], "in-effect")) == 2
    assert len(changes(comings["partition without a CPU"], "restored")) == 2
    assert "isolated-rules" not in comings["partition without a CPU"].splitlines()[-1]
    assert comings["without the partition"].split()[-2:] == ["0-2", "0-3"]


def test_a_held_thread_goes_back_to_its_cpu_when_that_is_back(comings: dict[str, str]) -> None:
    without, policy = comings["held without its CPU"].splitlines()[:2]
    assert without.split()[-1] != "3"
    assert policy == "5 1"
    assert comings["held with its CPU"].split()[-1] == "3"
    assert comings["no longer held"].split()[1:4] == ["0-3", "0", "0"]
    assert comings["no longer held"].split()[4:] == [], "the journal is gone"


def test_a_new_interrupt_and_its_thread_are_held(comings: dict[str, str]) -> None:
    """The interrupt comes with the port's first user, and its thread with another priority."""
    lines = comings["a device's interrupt"].splitlines()
    assert "ttyS3" in lines[0]
    assert lines[1:3] == ["2", "77 1"]
    assert status(comings["held"]) == 0
    assert {
        (one["kind"], one["new"])
        for one in changes(comings["held"], "applied")
        if "ttyS3" in one["what"]
    } == {("thread-policy", "fifo:77"), ("interrupt", "2")}


def test_drivers_and_network_links_are_when_interrupts_are_looked_at(
    comings: dict[str, str],
) -> None:
    """Beside the threads of new ones. That somebody else moves one, nobody tells."""
    assert comings["interrupts alone"].split("exit")[0].split() == [
        *("nobody", "0-3"),
        *("link", "1"),
        *("device", "1"),
        "1",
    ]
    assert status(comings["interrupts alone"]) == 0


@pytest.fixture(scope="module")
def version_1(
    oldest_kernel: Kernel, agent_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    """Sections of what tuning did where cpusets are cgroups of version 1, as on older systems."""
    script = """
mount -t tmpfs none /sys/fs/cgroup; cd /sys/fs/cgroup; mkdir cpuset unified
mount -t cgroup -o cpuset cpuset cpuset
mkdir cpuset/two; echo 2-3 > cpuset/two/cpuset.cpus; echo 0 > cpuset/two/cpuset.mems
spin; free=$!; spin; bound=$!; echo $bound > cpuset/two/tasks
echo "@ cpusets"; cat cpuset/two/tasks; allowed $free; allowed $bound; echo $bound
echo "@ one of its CPUs"; tune apply "tasks away=3"; allowed $free; allowed $bound
echo "@ one of its CPUs undone"; tune undo; allowed $free; allowed $bound
echo "@ all of its CPUs"; tune apply "tasks away=2-3"; allowed $free; allowed $bound
echo "@ all of its CPUs undone"; tune undo; allowed $free; allowed $bound
echo "@ partition"; tune apply "partition cpus=2-3"; ls /tmp/journal
mount -t cgroup2 none unified
echo "@ partition beside version 2"; tune apply "partition cpus=2-3"; ls /tmp/journal unified
"""
    target = vm_target(f"vm:{oldest_kernel.name},cpus=4,mode=fast")
    folder = tmp_path_factory.mktemp("version1")
    return sections(run_script(target, COMMON + script, agent_path, folder, limit_s=LIMIT_S).said)


def allowed(text: str) -> list[str]:
    """The CPUs that the programs may run on, in the order in which they were looked at."""
    return re.findall(r"^Cpus_allowed_list:\s+(\S+)", text, re.MULTILINE)


def test_tasks_in_a_cpuset_of_version_1_are_moved_within_it(version_1: dict[str, str]) -> None:
    assert allowed(version_1["cpusets"]) == ["0-3", "2-3"]
    assert status(version_1["one of its CPUs"]) == 0
    assert allowed(version_1["one of its CPUs"]) == ["0-2", "2"]
    assert status(version_1["one of its CPUs undone"]) == 0
    assert allowed(version_1["one of its CPUs undone"]) == ["0-3", "2-3"]


def test_a_task_whose_cpuset_of_version_1_has_no_other_cpu_is_reported(
    version_1: dict[str, str],
) -> None:
    bound = version_1["cpusets"].split()[-1]
    stays = changes(version_1["all of its CPUs"], "immovable")
    assert [(one["where"], one["new"]) for one in stays] == [(f"tid {bound}", "0-1")]
    assert "its cpuset has none of them" in stays[0]["why"]
    assert allowed(version_1["all of its CPUs"]) == ["0-1", "2-3"]
    assert allowed(version_1["all of its CPUs undone"]) == ["0-3", "2-3"]


def test_a_partition_is_refused_where_version_1_has_the_cpusets(version_1: dict[str, str]) -> None:
    for section, why in (
        ("partition", "no cgroups of version 2 are mounted"),
        ("partition beside version 2", "it is mounted as version 1"),
    ):
        assert status(version_1[section]) == 1
        (failed,) = changes(version_1[section], "failed")
        assert why in failed["why"]
        assert changes(version_1[section], "applied") == []
        assert "rtscope.isolated" not in version_1[section].rpartition("exit 1")[2]


def test_hugepages_turned_off_and_back_on_leave_the_free_memory_as_it_was(
    oldest_kernel: Kernel, agent_path: Path, tmp_path: Path
) -> None:
    """Turning them on again raises vm.min_free_kbytes. PREEMPT_RT excludes them."""
    script = """
pages=/sys/kernel/mm/transparent_hugepage/enabled; free=/proc/sys/vm/min_free_kbytes
echo always > $pages; echo 3000 > $free
echo "@ before"; cat $pages $free
echo "@ apply"; tune apply "file path=$pages value=never"; echo "@ applied"; cat $pages
echo "@ undo"; tune undo; echo "@ undone"; cat $pages $free
echo never > $pages; echo always > $pages; echo "@ by hand"; cat $free
"""
    target = vm_target(f"vm:{oldest_kernel.name},mode=fast")
    output = run_script(target, COMMON + script, agent_path, tmp_path, limit_s=LIMIT_S)
    seen = sections(output.said)
    assert seen["before"].split() == ["[always]", "madvise", "never", "3000"]
    assert (status(seen["apply"]), status(seen["undo"])) == (0, 0)
    assert seen["applied"].split() == ["always", "madvise", "[never]"]
    assert seen["undone"] == seen["before"]
    assert int(seen["by hand"]) > 3000, "this kernel raises it"
