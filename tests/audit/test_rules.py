# SPDX-License-Identifier: GPL-2.0-only
"""Each rule finds its fault, finds nothing where there is none, and says where it cannot look."""

import re
from pathlib import Path

import pytest

from rtscope.audit.audit import RULES, audit
from rtscope.audit.rule import Rule
from rtscope.audit.state import CPU, NotSeen, State
from rtscope.model.audit import SEVERITIES
from rtscope.model.machine import Share, Throttle
from rtscope.target.protocol import THROTTLING
from rtscope.tuning.profile import parse_profile
from tests.audit.machines import (
    CONFIG,
    FAULTS,
    ISOLCPUS,
    SOUND,
    Content,
    booted,
    booted_without,
    bound_thread,
    cpuset,
    partition,
    thread,
    throttling,
    with_config,
)

REAL = Path(__file__).parents[1] / "target" / "machines"
CHECK = {rule.id: rule.check for rule in RULES}
NAMES = [rule.id for rule in RULES]


def test_the_sound_machine_has_nothing_to_change_and_everything_could_be_seen() -> None:
    found = audit(State(SOUND), "local", [])
    assert [(one.rule, one.found) for one in found.findings] == []
    assert [(one.rule, one.reason) for one in found.unseen] == []
    assert sorted(found.sound) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_rule_finds_its_fault_and_needs_the_files_for_that(name: str) -> None:
    files, words = FAULTS[name]
    assert words in (CHECK[name](State(SOUND | files)) or "")
    with pytest.raises(NotSeen, match=r"\w"):
        CHECK[name](State({}))


def test_each_rule_has_one_name_and_one_fault() -> None:
    assert sorted(FAULTS) == sorted(NAMES)


def test_findings_and_rules_that_could_not_be_checked_come_worst_first() -> None:
    faulty = audit(State(SOUND | {CONFIG: "CONFIG_KCOV=y\n"}), "x", []).findings
    for found in (faulty, audit(State({}), "x", []).unseen):
        ranks = [SEVERITIES.index(one.severity) for one in found]
        assert len(set(ranks)) > 2
        assert ranks == sorted(ranks)


USUAL = (
    "rcu-nocbs=2-3 nosmap foo.bar=1 init=/bin/sh netconsole",
    "mitigations=auto,nosmt amd_iommu=on iommu=pt nomodeset nokaslr crashkernel=256M",
    "nosmp quiet selinux=0 audit=0 nmi_watchdog=0 nosmap noapic nolapic_timer numa=off",
    "nosoftlockup nohz=on tsc=reliable intel_iommu=on acpi_irq_balance watchdog netconsole=@/",
    "cloud-init=disabled net.ifnames=0 biosdevname=0 default_hugepagesz=1G hugepages=4",
    "isolcpus=nohz,domain,managed_irq,1-3 nohz_full=1-3 rcu_nocb_poll idle=poll skew_tick=1",
)


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("kernel-default-governor", with_config(CPU_FREQ_DEFAULT_GOV_PERFORMANCE="n")
         | booted("cpufreq.default_governor=performance")),
        ("kernel-efi-runtime", with_config(EFI_DISABLE_RUNTIME="n") | booted("efi=noruntime")),
        ("kernel-no-hz", with_config(NO_HZ_IDLE="y") | booted("nohz=off")),
        *((name, {"/proc/cmdline": line})
          for name in ("boot-mistyped", "boot-bad-value") for line in USUAL),
        ("boot-preempt-no-effect", with_config(PREEMPT_DYNAMIC="y") | booted("preempt=lazy")),
        ("boot-bad-value", booted("transparent_hugepage=never nosmt=force idle=poll")),
        ("boot-cpu-list", booted_without("irqaffinity=0-1", "irqaffinity=0-N:1/2")),
        ("boot-isolcpus-no-effect", booted_without(ISOLCPUS, "isolcpus=managed_irq,0")),
        ("boot-preempt-no-effect", with_config(PREEMPT_DYNAMIC="y") | booted("preempt=full")),
        ("sched-throttling", throttling(realtime=Throttle("off", "-1"))),
        ("sched-fair-server", throttling(fair_server=Throttle("off", "", [Share("0-3", 0, 1)]))),
        ("sched-fair-server", throttling(ext_server=Throttle("idle", "", [Share("0-3", 5, 9)]))),
        ("sched-group-scheduling", with_config(RT_GROUP_SCHED="y")
         | booted("rt_group_sched=0")),
        ("sched-priority-99", thread(77, "multipathd", round_robin=98)),
        ("irq-not-threaded", FAULTS["irq-not-threaded"][0] | booted("threadirqs")),
        ("isolation-rcu", booted_without("rcu_nocbs=2-3", "rcu_nocbs=all")),
        ("timers-machine-checks", FAULTS["timers-machine-checks"][0] | booted("mce=ignore_ce")),
        ("limits-priority", FAULTS["limits-memory"][0]),
        ("boot-threadirqs-no-effect", FAULTS["irq-not-threaded"][0] | booted("threadirqs")),
        ("boot-irqaffinity-no-effect", {"/proc/irq/default_smp_affinity": "1\n"}),
        ("boot-hugepages-no-effect", booted("hugepagesz=1G hugepages=9")),
        ("boot-nosmt-no-effect", booted("nosmt")),
        ("power-deep-idle", {CPU + "cpu1/cpuidle/state2/latency": "9\n",
         CPU + "cpu1/cpuidle/state2/disable": "0\n"}),
        ("power-mitigations", {CPU + "vulnerabilities/meltdown": "Vulnerable\n"}),
        ("sched-ktimers", bound_thread(13, "ktimers/0", 49)),
        ("sched-rcu-demoted", with_config(RCU_BOOST="n") | FAULTS["sched-rcu-demoted"][0]),
        ("group-partition-invalid", partition("rt.slice", "isolated", "2-3")),
        ("group-set-balanced", cpuset("/loop/inner", "2-3", balanced=1)),
        ("group-cpu-quota", FAULTS["group-cpu-quota"][0] | {"uname:release": "6.18.1-rt"}),
        ("group-cpu-quota", FAULTS["group-cpu-quota"][0] | FAULTS["irq-not-threaded"][0]),
        ("services-cpu-affinity", FAULTS["services-cpu-affinity"][0]
         | thread(1, "init")),
        ("services-rtkit", FAULTS["services-rtkit"][0]
         | {"/usr/lib/systemd/system/rtkit-daemon.service": "ExecStart=/a\n",
            "/etc/systemd/system/rtkit-daemon.service.d/high.conf":
            "[Service]\nExecStart=\nExecStart=/a --max-realtime-priority=90\n"}),
        ("firmware-smi", {"/proc/cpuinfo": "processor : 0\nBogoMIPS : 100.00\n"}),
        ("firmware-smi", {"msr:smi_count": "0\n", "msr:smi_count_later": "0\n",
         "/proc/uptime": "12.00 3.00\n"}),
        ("limits-memory", FAULTS["limits-priority"][0]),
    ],
)  # fmt: skip
def test_a_rule_is_silent(name: str, files: dict[str, Content]) -> None:
    assert CHECK[name](State(SOUND | files)) is None


@pytest.mark.parametrize(
    "name", [name for name in NAMES if name.startswith(("isolation-", "irq-on", "irq-default"))]
)
def test_rules_of_isolation_are_silent_without_isolated_cpus(name: str) -> None:
    everywhere: dict[str, Content] = {
        **booted_without(ISOLCPUS),
        "/sys/devices/system/cpu/isolated": "\n",
        "/sys/devices/virtual/workqueue/cpumask": "f\n",
        "/proc/irq/default_smp_affinity": "f\n",
        **thread(79, "logger", cpu=3),
        **cpuset("", "0-3", balanced=1),
    }
    assert CHECK[name](State(SOUND | everywhere)) is None


@pytest.mark.parametrize(
    ("groups", "isolated"),
    [
        (cpuset("", "0-3", balanced=0), {2, 3}),
        (cpuset("", "0-3", balanced=1), set()),
        (cpuset("", "0-3", balanced=0) | cpuset("/loop", "3", balanced=1), {2}),
        ({"/sys/fs/cgroup/cpuset.cpus.isolated": "1-2\n"}, {1, 2, 3}),
        (partition("rt.slice", "isolated", "1") , {1, 2, 3}),
        (partition("rt.slice", "root", "1"), {2, 3}),
        (partition("rt.slice", "isolated invalid", "1"), {2, 3}),
    ],
)  # fmt: skip
def test_cpus_isolated_by_control_groups(groups: dict[str, Content], isolated: set[int]) -> None:
    state = State(SOUND | {CPU + "isolated": "\n"} | groups)
    assert state.isolated == isolated
    assert state.isolated_at_boot == set()
    found = CHECK["boot-isolcpus-no-effect"](state)
    assert found == "isolcpus= requests CPUs 2-3, which are not isolated"


@pytest.mark.parametrize(
    ("name", "files", "words"),
    [
        ("firmware-smi", {"/proc/cpuinfo": "vendor_id : AuthenticAMD\n"}, "count no SMIs"),
        ("firmware-smi", {"cpuid:hypervisor": "KVMKVMKVM"}, "guest does not see"),
        ("firmware-smi", {"/proc/uptime": "3599.0 1.0"}, "1212 SMIs since power-on, none while"),
        ("group-set-balanced", {"/proc/self/cgroup": "3:cpuset:/\n"}, "not below /sys/fs/cgroup"),
        ("services-cpu-affinity", {"/etc/systemd/system.conf": "CPUAffinity=all"}, "not a list"),
        ("boot-serial-console", {"/proc/sys/kernel/printk": "?\n"}, "holds no level"),
    ],
)
def test_a_rule_says_why_it_was_not_checked(
    name: str, files: dict[str, Content], words: str
) -> None:
    sound = {path: text for path, text in SOUND.items() if not path.startswith("/sys/fs/cgroup")}
    with pytest.raises(NotSeen, match=words):
        CHECK[name](State(sound | files))


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.profile], ids=lambda rule: rule.id)
def test_a_line_of_a_profile_is_one_that_tune_reads(rule: Rule) -> None:
    text = f"description = 'd'\n[[step]]\nname = 'n'\nwhy = 'w'\n{rule.profile}\n"
    assert parse_profile(text, Path("mine.toml")).steps


@pytest.mark.parametrize(
    ("path", "option", "name"),
    [
        ("/sys/kernel/mm/ksm/run", "KSM", "memory-ksm"),
        ("/proc/swaps", "SWAP", "memory-swap"),
        ("/proc/sys/kernel/watchdog", "LOCKUP_DETECTOR", "timers-lockup-detector"),
        ("/sys/kernel/tracing/set_event", "EVENT_TRACING", "tracing-events"),
    ],
)
def test_a_file_that_the_kernel_was_built_without(path: str, option: str, name: str) -> None:
    files = {one: text for one, text in SOUND.items() if one != path}
    unknown = {one: text for one, text in files.items() if one != CONFIG}
    assert CHECK[name](State(files | with_config(**{option: "n"}))) is None
    for lacking in (files, unknown):
        with pytest.raises(NotSeen, match=path):
            CHECK[name](State(lacking))


MISTYPED = (
    "isolcpsu=2", "nohz-ful=2", "rcu_nocb=2", "transparent_hugepages=never", "max_cstate=1",
    "skewtick=1", "no_watchdog", "irq_affinity=0", "mitigation=off", "thread_irqs",
)  # fmt: skip
BAD_VALUES = ("isolcpus=domian,2-3", "nohz=perhaps", "transparent_hugepage=nevr", "tsc=relaible")


@pytest.mark.parametrize(
    ("name", "files", "words"),
    [
        *(("boot-mistyped", booted(word), "the kernel does not know") for word in MISTYPED),
        *(("boot-bad-value", booted_without(ISOLCPUS, word), "does not accept")
          for word in BAD_VALUES),
        ("boot-preempt-no-effect", with_config(PREEMPT_DYNAMIC="y") | booted("preempt=none"),
         "preempt=none was given to a kernel with CONFIG_PREEMPT_RT"),
        ("firmware-smi", {"msr:smi_count": "1600\n", "msr:smi_count_later": "1600\n"},
         "1600 SMIs since power-on, 64 an hour"),
        ("firmware-smi", {"msr:smi_count": "4294967295\n", "msr:smi_count_later": "1\n"},
         "2 SMIs while the system was read"),
    ],
)  # fmt: skip
def test_a_rule_finds_other_faults_too(name: str, files: dict[str, Content], words: str) -> None:
    assert words in (CHECK[name](State(SOUND | files)) or "")


@pytest.mark.parametrize("name", ["sched-throttling", "sched-fair-server"])
def test_what_stops_real_time_threads_is_only_what_the_agent_found(name: str) -> None:
    unknown = Throttle("unknown", "run as root")
    found = throttling(realtime=unknown, fair_server=unknown, ext_server=unknown)
    with pytest.raises(NotSeen, match="run as root"):
        CHECK[name](State(SOUND | found))
    with pytest.raises(NotSeen, match="does not report"):
        CHECK[name](State({path: SOUND[path] for path in SOUND if path != THROTTLING}))


@pytest.mark.parametrize("path", sorted(REAL.glob("*.txt")), ids=lambda path: path.stem)
def test_real_machines_have_no_typing_errors(path: Path) -> None:
    parts = re.split(r"^==> (.*) <==\n", path.read_text(), flags=re.MULTILINE)
    state = State(dict(zip(parts[1::2], parts[2::2], strict=True)))
    assert state.parameters
    assert CHECK["boot-mistyped"](state) is None
    assert CHECK["boot-bad-value"](state) is None
    assert "boot-mistyped" in audit(state, "local", []).sound
