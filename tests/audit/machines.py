# SPDX-License-Identifier: GPL-2.0-only
"""A machine on which no rule finds anything, and for each rule what is wrong on another."""

from functools import partial
from typing import Final

import msgspec

from rtscope.audit.state import CPU
from rtscope.model.machine import Share, Throttle
from rtscope.target.protocol import THROTTLING

Content = str | bytes
RELEASE: Final = "6.12.57-rt"
CONFIG: Final = f"/boot/config-{RELEASE}"
OPTIONS: Final = (
    "PREEMPT_RT HZ_PERIODIC HIGH_RES_TIMERS CPU_FREQ CPU_FREQ_DEFAULT_GOV_PERFORMANCE "
    "CPU_FREQ_GOV_PERFORMANCE CPU_IDLE TRACING EVENT_TRACING KPROBE_EVENTS RCU_NOCB_CPU EFI "
    "EFI_DISABLE_RUNTIME SWAP KSM LOCKUP_DETECTOR RCU_BOOST IRQ_FORCED_THREADING CGROUPS"
)
CONFIGURATION: Final = {"HZ": "1000", **dict.fromkeys(OPTIONS.split(), "y")}
PARAMETERS: Final = (
    "BOOT_IMAGE=/vmlinuz root=UUID=6f2d ro quiet isolcpus=managed_irq,domain,2-3 rcu_nocbs=2-3 "
    "irqaffinity=0-1 skew_tick=1 nosoftlockup mitigations=auto,nosmt processor.max_cstate=1 "
    "systemd.unit=multi-user.target console=ttyS0,115200 -- isolcpu=1"
)
LIMITS: Final = """\
Limit                     Soft Limit           Hard Limit           Units     
Max locked memory         {}              unlimited            bytes     
Max realtime priority     {}                    {}                    
Max realtime timeout      unlimited            unlimited            us        
"""  # noqa: W291 - as the kernel writes it
CPUINFO: Final = "processor : 0\nvendor_id : GenuineIntel\nmodel name : x\n"
GROUPS: Final = "/sys/fs/cgroup"
KERNEL, BOUND = 0x00200000, 0x04000000


SETTINGS: Final = [
    ("boot-serial-console", "/proc/sys/kernel/printk", "4 4 1 7", "7 4 1 7", "ttyS0,115200"),
    ("boot-irqaffinity-no-effect", "/proc/irq/default_smp_affinity", "3", "7", "CPUs 2,"),
    ("clock-slow-source", "/sys/devices/system/clocksource/clocksource0/current_clocksource",
     "tsc", "hpet", "hpet"),
    ("clock-coarse-timers", "clock:monotonic_resolution_ns",
     "1", "1000000", "at the tick, 1000 times a second"),
    ("sched-rcu-expedited", "/sys/kernel/rcu_normal", "1", "0", "are expedited"),
    ("power-turbo", "/sys/devices/system/cpu/intel_pstate/no_turbo", "1", "0", "no_turbo is 0"),
    ("power-mitigations", "/sys/devices/system/cpu/vulnerabilities/meltdown",
     "Not affected", "Mitigation: PTI", "against meltdown"),
    ("power-smt", "/sys/devices/system/cpu/smt/active", "0", "1", "share each core"),
    ("power-pcie-links", "/sys/module/pcie_aspm/parameters/policy",
     "[default] performance powersave", "default performance [powersave]", "powersave"),
    ("isolation-workqueues", "/sys/devices/virtual/workqueue/cpumask",
     "3", "0000000f", "isolated CPUs 2-3"),
    ("group-no-real-time", "/sys/fs/cgroup/cpu/user/cpu.rt_runtime_us",
     "100000", "0", "1 of 1 groups"),
    ("services-cpu-affinity", "/etc/systemd/system.conf.d/20-cpus.conf",
     "[Manager]\nCPUAffinity = 0-1", "CPUAffinity=1,2 3", "isolated CPUs 2-3"),
    ("memory-huge-pages", "/sys/kernel/mm/transparent_hugepage/enabled",
     "always [madvise] never", "[always] madvise never", "always"),
    ("memory-huge-defrag", "/sys/kernel/mm/transparent_hugepage/defrag",
     "always defer defer+madvise [madvise] never", "[always] defer madvise never", "at any cost"),
    ("memory-swap", "/proc/swaps",
     "Filename Type Size Used Priority", "Filename Type\n/dev/sda2 partition 1 0 -2", "/dev/sda2"),
    ("memory-numa-balancing", "/proc/sys/kernel/numa_balancing", "0", "1", "is on"),
    ("memory-ksm", "/sys/kernel/mm/ksm/run", "0", "1", "equal pages"),
    ("memory-compacts-locked", "/proc/sys/vm/compact_unevictable_allowed",
     "0", "1", "may be moved"),
    ("memory-compacts-ahead", "/proc/sys/vm/compaction_proactiveness", "0", "20", "20 %"),
    ("memory-statistics", "/proc/sys/vm/stat_interval", "10", "1", "every 1 s"),
    ("timers-lockup-detector", "/proc/sys/kernel/watchdog", "0", "1", "lockup detector is on"),
    ("timers-nmi-watchdog", "/proc/sys/kernel/nmi_watchdog", "0", "1", "NMI watchdog is on"),
    ("timers-machine-checks", "/sys/devices/system/machinecheck/machinecheck0/check_interval",
     "0", "300", "every 300 s"),
    ("tracing-tracer", "/sys/kernel/tracing/current_tracer", "nop", "function", "function"),
    ("tracing-events", "/sys/kernel/tracing/set_event", "", "sched:sched_switch", "sched_switch"),
    ("tracing-probes", "/sys/kernel/tracing/kprobe_events", "", "p:k/p vfs_read", "vfs_read"),
    ("tracing-bpf-statistics", "/proc/sys/kernel/bpf_stats_enabled", "0", "1", "is timed"),
    ("tracing-sched-statistics", "/proc/sys/kernel/sched_schedstats", "0", "1", "is timed"),
    ("firmware-smi", "msr:smi_count_later", "1212", "1214", "2 SMIs while the system was read"),
]  # fmt: skip
"""Rules that read one file: its path, sound and faulty content, and a part of the finding."""


def thread(
    tid: int, name: str, fifo: int = 0, *, round_robin: int = 0, cpu: int = 0, flags: int = 0
) -> dict[str, Content]:
    """The file of a thread with such a priority, as /proc has it."""
    before = f"{tid} ({name}) S 2 0 0 0 -1 {flags} " + "0 " * 29
    policy = 1 if fifo else 2 if round_robin else 0
    text = f"{before}{cpu} {fifo or round_robin} {policy} 0 0 0 0 0 0 0 0 0 0 0\n"
    return {f"/proc/{tid}/task/{tid}/stat": text}


kernel_thread = partial(thread, flags=KERNEL)
bound_thread = partial(thread, flags=KERNEL | BOUND)


def throttling(**changed: Throttle) -> dict[str, Content]:
    """What the agent found to stop real-time threads: nothing but what is `changed`."""
    none = Throttle("none", "the kernel lacks it")
    found = {"realtime": none, "fair_server": none, "ext_server": none} | changed
    return {THROTTLING: msgspec.json.encode(found)}


def interrupt(number: int, name: str, cpus: str) -> dict[str, Content]:
    """The files of an interrupt."""
    return {
        f"/proc/irq/{number}/smp_affinity_list": f"{cpus}\n",
        f"/proc/irq/{number}/effective_affinity_list": f"{cpus}\n",
        f"/sys/kernel/irq/{number}/actions": f"{name}\n",
    }


def idle_states(cpu: int) -> dict[str, Content]:
    """The files of a CPU's idle states; the deep one may not be entered."""
    folder = f"{CPU}cpu{cpu}/cpuidle"
    states: dict[str, Content] = {f"{folder}/state2/disable": "1\n"}
    for number, (name, latency_us) in enumerate((("POLL", 0), ("C1E", 2), ("C6", 133))):
        states[f"{folder}/state{number}/name"] = f"{name}\n"
        states[f"{folder}/state{number}/latency"] = f"{latency_us}\n"
    return states


def cpuset(path: str, cpus: str, *, balanced: int, exclusive: int = 1) -> dict[str, Content]:
    """The files of a control group of version 1."""
    folder = f"{GROUPS}/cpuset{path}"
    return {
        f"{folder}/cpuset.cpus": f"{cpus}\n",
        f"{folder}/cpuset.sched_load_balance": f"{balanced}\n",
        f"{folder}/cpuset.cpu_exclusive": f"{exclusive}\n",
    }


def partition(path: str, state: str, cpus: str) -> dict[str, Content]:
    """The files of a control group of version 2."""
    folder = f"{GROUPS}/{path}"
    return {
        f"{folder}/cpuset.cpus.partition": f"{state}\n",
        f"{folder}/cpuset.cpus.effective": f"{cpus}\n",
    }


def cpu(number: int) -> dict[str, Content]:
    """The files of a CPU: one thread of its own core."""
    folder = f"{CPU}cpu{number}"
    return {
        f"{folder}/topology/thread_siblings_list": f"{number}\n",
        f"{folder}/cpufreq/scaling_governor": "performance\n",
        f"{folder}/cpufreq/scaling_min_freq": "800000\n",
        f"{folder}/cpufreq/scaling_max_freq": "4200000\n",
    }


def with_config(**options: str) -> dict[str, Content]:
    """The configuration with these options instead, "n" for one that is not set."""
    known = {name: value for name, value in (CONFIGURATION | options).items() if value != "n"}
    return {CONFIG: "".join(f"CONFIG_{name}={value}\n" for name, value in known.items())}


SOUND: Final[dict[str, Content]] = {
    **{path: sound and f"{sound}\n" for _, path, sound, _, _ in SETTINGS},
    "uname:release": f"{RELEASE}\n",
    "uname:version": "#1 SMP PREEMPT_RT Debian\n",
    "uname:nodename": "shaker\n",
    **with_config(),
    "/proc/cpuinfo": CPUINFO + "flags : tsc constant_tsc nonstop_tsc\n",
    "/proc/cmdline": PARAMETERS,
    "/proc/uptime": "90061.25 351234.00\n",
    "/proc/self/cgroup": "3:cpuset:/\n2:cpu,cpuacct:/\n0::/user.slice\n",
    "/proc/sys/vm/nr_hugepages": "4\n",
    "/etc/systemd/system.conf": "[Manager]\n#LogLevel=info\nCPUAffinity=0 2\n",
    "/usr/lib/systemd/system.conf.d/10-cpus.conf": "[Manager]\nCPUAffinity=\n",
    "msr:smi_count": "1212\n",
    "/proc/self/status": "Name: rtscope-agent\nCapEff:\t000001ffffffffff\n",
    "/proc/self/limits": LIMITS.format("unlimited", 95, 95),
    **throttling(),
    "/proc/sys/kernel/sched_rt_runtime_us": "950000\n",
    "/proc/sys/kernel/sched_rt_period_us": "1000000\n",
    "/sys/class/dmi/id/sys_vendor": "ASUSTeK COMPUTER INC.\n",
    "/sys/firmware/efi/fw_platform_size": "64\n",
    "/sys/kernel/rcu_expedited": "1\n",
    CPU + "online": "0-3\n",
    CPU + "possible": "0-3\n",
    CPU + "present": "0-3\n",
    CPU + "isolated": "2-3\n",
    CPU + "cpuidle/current_driver": "intel_idle\n",
    CPU + "vulnerabilities/spectre_v1": "Mitigation: usercopy/swapgs barriers\n",
    **idle_states(0), **idle_states(1), **idle_states(2), **idle_states(3),
    **cpuset("", "0-3", balanced=0), **cpuset("/system", "0-1", balanced=1),
    **cpuset("/loop", "2-3", balanced=0),
    GROUPS + "/cpu/user/cpu.cfs_quota_us": "-1\n",
    GROUPS + "/user.slice/cpu.max": "max 100000\n",
    **cpu(0), **cpu(1), **cpu(2), **cpu(3),
    **interrupt(24, "eth0", "0-1"),
    **interrupt(25, "nvme0q1", "1"),
    **thread(1, "systemd"),
    **bound_thread(14, "ksoftirqd/0"),
    **bound_thread(13, "ktimers/0", 1),
    **bound_thread(15, "rcuc/0", 1),
    **bound_thread(16, "migration/2", 99, cpu=2),
    **bound_thread(17, "kworker/2:1", cpu=2),
    **kernel_thread(30, "irq/24-eth0", 50),
    **kernel_thread(31, "irq/25-nvme0q1", 60),
    **thread(900, "loop) R 1 (", 80, cpu=2),
}  # fmt: skip
"""Without a finding: four CPUs of which two are isolated, one with a real-time program on it."""


def booted(more: str) -> dict[str, Content]:
    """The command line with more on it."""
    return {"/proc/cmdline": f"{more} {PARAMETERS}"}


def booted_without(word: str, instead: str = "") -> dict[str, Content]:
    """The command line with a word replaced."""
    return {"/proc/cmdline": " ".join(instead if w == word else w for w in PARAMETERS.split())}


ISOLCPUS: Final = "isolcpus=managed_irq,domain,2-3"
USER: Final[dict[str, Content]] = {"/proc/self/status": "CapEff:\t0000000000000000\n"}

DEBUGGING: Final = (
    "IRQSOFF_TRACER PREEMPT_TRACER PROVE_LOCKING LOCK_STAT KASAN KCSAN DEBUG_PAGEALLOC "
    "DEBUG_OBJECTS DEBUG_KMEMLEAK DEBUG_PREEMPT SLUB_DEBUG_ON KCOV"
)
FAULTS: Final[dict[str, tuple[dict[str, Content], str]]] = {
    **{rule: ({path: f"{fault}\n"}, words) for rule, path, _, fault, words in SETTINGS},
    "kernel-preempt-rt": (
     with_config(PREEMPT_RT="n", PREEMPT_VOLUNTARY="y") | {"uname:version": "#1 SMP Debian\n"},
     "preemption model voluntary"),
    "kernel-cpu-freq": (with_config(CPU_FREQ="n"), "CONFIG_CPU_FREQ is not set"),
    "kernel-default-governor": (
     with_config(CPU_FREQ_DEFAULT_GOV_PERFORMANCE="n", CPU_FREQ_DEFAULT_GOV_SCHEDUTIL="y"),
     "the default is schedutil"),
    "kernel-other-governors": (with_config(CPU_FREQ_GOV_ONDEMAND="m"), "ondemand"),
    "kernel-cpu-idle": (with_config(CPU_IDLE="n"), "CONFIG_CPU_IDLE is not set"),
    "kernel-drm": (with_config(DRM="m"), "CONFIG_DRM=m"),
    "kernel-efi-runtime": (booted("efi=runtime"), "runtime services are enabled"),
    "kernel-no-hz": (with_config(NO_HZ_IDLE="y"), "CONFIG_NO_HZ_IDLE=y"),
    "kernel-tracing": (with_config(TRACING="n"), "CONFIG_TRACING is not set"),
    **{
        f"kernel-{name.lower().replace('_', '-')}": (with_config(**{name: "y"}), f"CONFIG_{name}=y")
        for name in DEBUGGING.split()
    },
    "boot-mistyped": (booted("isolcpu=2-3 rcu-nocb=2"), "isolcpu (did you mean isolcpus?)"),
    "boot-bad-value": (booted("preempt=ful"), "preempt=ful"),
    "boot-cpu-list": (booted_without("irqaffinity=0-1", "irqaffinity=0-9"), "irqaffinity=0-9"),
    "boot-isolcpus-no-effect": ({CPU + "isolated": "2\n"}, "requests CPUs 3,"),
    "boot-nohz-full-no-effect": (booted("nohz_full=2-3"), "without CONFIG_NO_HZ_FULL"),
    "boot-rcu-nocbs-no-effect": (with_config(RCU_NOCB_CPU="n"), "without CONFIG_RCU_NOCB_CPU"),
    "boot-preempt-no-effect": (booted("preempt=full"), "without CONFIG_PREEMPT_DYNAMIC"),
    "boot-clocksource-no-effect": (booted("clocksource=hpet"), "the kernel uses tsc"),
    "boot-repeated": (booted("isolcpus=1"), "isolcpus given more than once"),
    "boot-debugging": (booted("slub_debug=FZ"), "slub_debug=FZ"),
    "boot-idle-poll-smt": (booted("idle=poll") | {CPU + "smt/active": "1\n"}, "idle=poll"),
    "boot-threadirqs-no-effect": (booted("threadirqs"), "with CONFIG_PREEMPT_RT"),
    "boot-nosmt-no-effect": (booted("nosmt") | {CPU + "smt/active": "1\n"}, "share each core"),
    "boot-hugepages-no-effect": (booted("hugepages=5"), "hugepages=5, but the kernel has 4"),
    "clock-tsc-stops": ({"/proc/cpuinfo": CPUINFO + "flags : tsc constant_tsc\n"},
     "no nonstop_tsc"),
    "clock-ticks-together": (booted_without("skew_tick=1"), "the ticks of 4 CPUs"),
    "sched-throttling": (
     throttling(realtime=Throttle("on", "", [Share("0-3", 950_000_000, 10**9)])),
     "CPUs 0-3: 950ms of each 1s"),
    "sched-fair-server": (
        throttling(
            fair_server=Throttle("on", "", [Share("0-1", 0, 1), Share("2-3", 5, 10**9)]),
            ext_server=Throttle("on", "", [Share("3", 50_000_000, 10**9)]),
        ),
        "waiting ordinary threads run before real-time threads: CPUs 2-3: 5ns of each 1s; "
        "waiting threads of a BPF scheduler run before real-time threads: CPUs 3: 50ms of each 1s",
    ),
    "sched-group-scheduling": (with_config(RT_GROUP_SCHED="y"), "CONFIG_RT_GROUP_SCHED=y"),
    "sched-priority-99": (thread(77, "multipathd", round_robin=99), "multipathd"),
    "sched-ksoftirqd": (bound_thread(14, "ksoftirqd/0", 2), "priority 2"),
    "sched-rcu-priority": (bound_thread(15, "rcuc/0", 70), "priority 70"),
    "sched-rcu-demoted": (bound_thread(15, "rcuc/0"), "rcuc/0: not real-time"),
    "sched-ktimers": (bound_thread(13, "ktimers/0", 51), "ktimers/0 (priority 51)"),
    "power-governor": ({CPU + "cpu1/cpufreq/scaling_governor": "powersave\n"}, "on 1 of 4 CPUs"),
    "power-deep-idle": ({CPU + f"cpu{n}/cpuidle/state2/disable": "0\n" for n in (1, 3)},
     "CPUs 1,3 may enter C6, which takes 133 us to leave"),
    "irq-balance": (thread(78, "irqbalance"), "irqbalance runs"),
    "irq-default-affinity": ({"/proc/irq/default_smp_affinity": "f\n"}, "CPUs 2-3"),
    "irq-on-isolated": (interrupt(25, "nvme0q1", "1-2"), "25 (nvme0q1) on 2"),
    "irq-not-threaded": (
     with_config(PREEMPT_RT="n", PREEMPT="y") | {"uname:version": "#1 SMP PREEMPT\n"},
     "with interrupts disabled"),
    "irq-thread-demoted": (kernel_thread(30, "irq/24-eth0"), "irq/24-eth0"),
    "irq-equal-priorities": (kernel_thread(31, "irq/25-nvme0q1", 50), "priority 50"),
    "isolation-rcu": (booted_without("rcu_nocbs=2-3", "rcu_nocbs=2"), "isolated CPUs 3"),
    "isolation-nohz-full": ({CPU + "nohz_full": "1-3\n"}, "CPUs 1 have nohz_full"),
    "isolation-nothing-left": ({CPU + "online": "0-15\n", CPU + "isolated": "1-15\n"},
     "15 CPUs are isolated, which leaves 0 for"),
    "isolation-first-cpu": ({CPU + "isolated": "0,2-3\n"}, "CPU 0 is isolated"),
    "isolation-sibling": ({CPU + "cpu2/topology/thread_siblings_list": "1-2\n"},
     "CPUs 1 are not isolated"),
    "isolation-programs": (thread(79, "logger", cpu=3), "logger"),
    "isolation-kernel-threads": (kernel_thread(80, "kswapd0", cpu=3), "kswapd0"),
    "group-partition-invalid": (
     partition("rt.slice", "isolated invalid (Cpu list in cpuset.cpus not exclusive)", "0-3"),
     "rt.slice (isolated): Cpu list in cpuset.cpus not exclusive"),
    "group-set-balanced": (cpuset("", "0-3", balanced=1), "cpuset/loop (CPUs 2-3)"),
    "group-set-shared": (cpuset("/loop", "2-3", balanced=0, exclusive=0), "cpuset/loop"),
    "group-cpu-quota": ({GROUPS + "/a/b/cpu.max": "50000 100000\n"}, "CPU time for a/b"),
    "services-rtkit": (thread(81, "rtkit-daemon"), "priority 20 at most"),
    "services-set-back": (thread(82, "power-profiles-"), "power-profiles-daemon runs and"),
    "virtual-machine": ({"cpuid:hypervisor": "KVMKVMKVM\n"}, "KVM"),
    "limits-priority": (USER | {"/proc/self/limits": LIMITS.format("unlimited", 0, 0)},
     "may not use a real-time priority"),
    "limits-timeout": (
        {"/proc/self/limits": LIMITS.format("unlimited", 95, 95).replace(
            "timeout      unlimited", "timeout      200000   ")}, "200000 us in real time"),
    "limits-memory": (USER | {"/proc/self/limits": LIMITS.format(8388608, 95, 95)},
     "8388608 bytes"),
}  # fmt: skip
"""By rule: the files that are different where it finds something, and a part of what it says."""
