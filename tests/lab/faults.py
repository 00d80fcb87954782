# SPDX-License-Identifier: GPL-2.0-only
"""Machines of the lab that are wrong on purpose: which rule of rtscope check sees what on a real
kernel, and why some faults are seen in files only.

In each look at a booted machine the findings are exactly those that are expected of it, so every
other rule that can look there has been seen to be silent on a real kernel, too.
"""

from typing import Final

from tests.lab.booted import (
    BOOTED,
    DEBIAN,
    EMULATED,
    LAB,
    REAL_TIME,
    STANDARD,
    TRACEFS,
    Booted,
    Look,
    Told,
)

WRONG: Final = Booted(
    name="wrong",
    kernel="rt_kernel",
    options="isolcpu=1 isolcpus=0,2-3 irqaffinity=0-7 idle=pol preempt=none loglevel=7 nohz=on "
    "trace_event=sched:sched_switch mce=dont_log_ce threadirqs clocksource=tsc highres=off "
    "default_hugepagesz=1G hugepages=1 transparent_hugepage=never transparent_hugepage=always "
    "rcutree.kthread_prio=60 rcupdate.rcu_expedited=1 watchdog_thresh=20 schedstats=enable",
    looks=[
        Look(
            "booted",
            adds=EMULATED
            | BOOTED
            | DEBIAN
            | REAL_TIME
            | {
                "boot-mistyped": "isolcpu (did you mean isolcpus?)",
                "boot-bad-value": "idle=pol",
                "boot-cpu-list": "irqaffinity=0-7",
                "boot-debugging": "trace_event=sched:sched_switch",
                "boot-repeated": "transparent_hugepage",
                "boot-serial-console": "up to level 7",
                "boot-preempt-no-effect": "a kernel with CONFIG_PREEMPT_RT",
                "boot-clocksource-no-effect": "clocksource=tsc",
                "boot-hugepages-no-effect": "hugepages=1, but the kernel has 0",
                "boot-threadirqs-no-effect": "a kernel with CONFIG_PREEMPT_RT",
                "clock-coarse-timers": "at the tick, 250 times a second",
                "clock-ticks-together": "of 4 CPUs",
                "tracing-events": "sched:sched_switch",
                "tracing-sched-statistics": "is timed",
                "sched-rcu-priority": "priority 60",
                "isolation-rcu": "isolated CPUs 0,2-3",
                "isolation-first-cpu": "CPU 0 is isolated",
                "irq-default-affinity": "CPUs 0",
            },
        ),
        Look(
            "settings",
            r"""
write 1 /proc/sys/kernel/bpf_stats_enabled
write 1 /proc/sys/vm/compact_unevictable_allowed
taskset -p 4 $(pidof ksmd)
write 1 /sys/kernel/mm/ksm/run
write 'p:rtscope/p vfs_fsync' /sys/kernel/tracing/kprobe_events
write blk /sys/kernel/tracing/current_tracer
write f /sys/devices/virtual/workqueue/cpumask
write 3 /proc/irq/default_smp_affinity
write 8 /proc/irq/3/smp_affinity
schedule ksoftirqd/0 5
schedule ktimers/1 60
schedule rcuc/2 0
schedule irq/4- 0
write 0 /sys/kernel/rcu_normal
program irqbalance
program thermald
program rtkit-daemon
program multipathd
mkdir -p /etc/systemd
echo CPUAffinity=1-3 > /etc/systemd/system.conf
program systemd
taskset 8 sleep 1000 &
sleep 0.2
schedule multipathd 99
""",
            adds={
                "irq-on-isolated": "3 (ttyS1) on 3",
                "irq-thread-demoted": "irq/4-ttyS0",
                "irq-balance": "irqbalance runs",
                "tracing-tracer": "the tracer blk is on",
                "tracing-probes": "p:rtscope/p vfs_fsync",
                "tracing-bpf-statistics": "is timed",
                "sched-priority-99": "multipathd",
                "sched-ksoftirqd": "priority 5",
                "sched-ktimers": "ktimers/1 (priority 60)",
                "sched-rcu-demoted": "rcuc/2: not real-time",
                "sched-rcu-expedited": "are expedited",
                "services-cpu-affinity": "isolated CPUs 2-3",
                "services-rtkit": "priority 20 at most",
                "services-set-back": "thermald runs",
                "isolation-workqueues": "isolated CPUs 0,2-3",
                "isolation-programs": "sleep",
                "isolation-kernel-threads": "ksmd",
                "memory-ksm": "ksmd merges equal pages",
                "memory-compacts-locked": "may be moved",
            },
            ends=frozenset({"irq-equal-priorities"}),
        ),
        Look(
            "groups of version 2",
            r"""
mount -t cgroup2 cgroup /sys/fs/cgroup
write +cpuset /sys/fs/cgroup/cgroup.subtree_control
mkdir /sys/fs/cgroup/loop
write 1-3 /sys/fs/cgroup/loop/cpuset.cpus
echo isolated > /sys/fs/cgroup/loop/cpuset.cpus.partition
""",
            adds={"group-partition-invalid": "loop (isolated): "},
        ),
        Look(
            "groups of version 1",
            r"""
rmdir /sys/fs/cgroup/loop
umount /sys/fs/cgroup
mount -t tmpfs cgroup /sys/fs/cgroup
mkdir /sys/fs/cgroup/cpu
mount -t cgroup -o cpu cpu /sys/fs/cgroup/cpu
mkdir /sys/fs/cgroup/cpu/slow
write 50000 /sys/fs/cgroup/cpu/slow/cpu.cfs_quota_us
""",
            adds={"group-cpu-quota": "CPU time for cpu/slow"},
            ends=frozenset({"group-partition-invalid"}),
        ),
        Look(
            "user",
            adds={
                "limits-priority": "may not use a real-time priority",
                "limits-memory": "65536 bytes",
                "limits-timeout": "200000 us",
            },
            ends=TRACEFS | {"sched-fair-server"},
            blind=TRACEFS | {"sched-fair-server"},
            seen_by="as_user",
        ),
    ],
    may=frozenset({"irq-on-isolated", "isolation-programs", "isolation-kernel-threads"}),
)
UNHEARD: Final = Booted(
    name="unheard",
    kernel="rt_kernel",
    options="nohz_full=0-3 isolcpus=nohz,domain,2 irqaffinity=0-1 skew_tick=1 nowatchdog "
    "mce=ignore_ce cpufreq.default_governor=performance mitigations=off",
    looks=[
        Look(
            "booted",
            adds=EMULATED
            | BOOTED
            | DEBIAN
            | REAL_TIME
            | {
                "boot-nohz-full-no-effect": "requests CPUs 0,",
                "boot-isolcpus-no-effect": "requests CPUs 2,",
                "isolation-nohz-full": "CPUs 1-3 have nohz_full",
                "irq-default-affinity": "isolated CPUs 1",
            },
            ends=frozenset(
                {
                    "timers-lockup-detector",
                    "timers-machine-checks",
                    "power-mitigations",
                    "kernel-default-governor",
                }
            ),
        ),
        Look(
            "settings",
            r"""
write f /proc/irq/default_smp_affinity
write 4 /proc/irq/3/smp_affinity
write -1 /proc/sys/kernel/sched_rt_runtime_us
for file in /sys/kernel/debug/sched/fair_server/cpu*/runtime; do write 0 $file; done
write 10 /proc/sys/vm/stat_interval
write 0 /proc/sys/vm/compaction_proactiveness
write acpi_pm /sys/devices/system/clocksource/clocksource0/current_clocksource
sleep 0.3
echo
sleep 0.2
""",
            adds={
                "boot-irqaffinity-no-effect": "CPUs 2-3, which irqaffinity= excludes",
                "irq-on-isolated": "3 (ttyS1) on 2",
                "clock-slow-source": "acpi_pm",
            },
            ends=frozenset({"sched-fair-server", "memory-statistics", "memory-compacts-ahead"}),
        ),
        Look(
            "partition",
            r"""
mount -t cgroup2 cgroup /sys/fs/cgroup
write '+cpuset +cpu' /sys/fs/cgroup/cgroup.subtree_control
mkdir /sys/fs/cgroup/loop
write 3 /sys/fs/cgroup/loop/cpuset.cpus
write isolated /sys/fs/cgroup/loop/cpuset.cpus.partition
write '50000 100000' /sys/fs/cgroup/loop/cpu.max
""",
            adds={
                "isolation-nohz-full": "CPUs 1-2 have nohz_full",
                "group-cpu-quota": "CPU time for loop",
            },
        ),
    ],
    may=frozenset({"irq-on-isolated", "isolation-programs", "isolation-kernel-threads"}),
)
RIGHT: Final = Booted(
    name="right",
    kernel="rt_kernel",
    machine="cpus=2",
    options="isolcpus=managed_irq,domain,1 rcu_nocbs=1 irqaffinity=0 preempt=full nowatchdog "
    "nohz=off mce=ignore_ce cpufreq.default_governor=performance mitigations=off",
    looks=[
        Look(
            "booted",
            adds=EMULATED | BOOTED | DEBIAN | REAL_TIME,
            ends=frozenset(
                {
                    "timers-lockup-detector",
                    "timers-machine-checks",
                    "power-mitigations",
                    "kernel-default-governor",
                    "kernel-no-hz",
                }
            ),
        ),
    ],
    scripted=False,
    may=frozenset({"irq-on-isolated", "isolation-kernel-threads"}),
)
SIBLINGS: Final = Booted(
    name="siblings",
    kernel="audited_kernel",
    hardware="-machine pc,smm=on -cpu max,vendor=GenuineIntel,-hypervisor,-rdrand,-rdseed "
    "-smp threads=2",
    options="nosmt idle=poll numa_balancing=enable isolcpus=1 pcie_aspm=force",
    looks=[
        Look(
            "booted",
            adds=BOOTED
            | DEBIAN
            | STANDARD
            | {
                "clock-tsc-stops": "no nonstop_tsc",
                "clock-ticks-together": "of 4 CPUs",
                "sched-fair-server": "50ms of each 1s",
                "irq-default-affinity": "isolated CPUs 1",
                "isolation-rcu": "isolated CPUs 1",
                "memory-numa-balancing": "is on",
                "power-mitigations": "against meltdown",
            },
            blind=frozenset({"firmware-smi"}),
        ),
        Look(
            "settings",
            r"""
write on /sys/devices/system/cpu/smt/control
write always /sys/kernel/mm/transparent_hugepage/defrag
write powersave /sys/module/pcie_aspm/parameters/policy
write always /sys/kernel/mm/transparent_hugepage/enabled
write 16M /sys/block/zram0/disksize
mkswap /dev/zram0
swapon /dev/zram0
(while :; do printf '\0' | dd of=/dev/port bs=1 seek=178 2>/dev/null; done) &
sleep 0.2
""",
            adds={
                "isolation-sibling": "CPUs 0 are not isolated",
                "firmware-smi": "SMIs while the system was read",
                "boot-idle-poll-smt": "share each core",
                "boot-nosmt-no-effect": "share each core",
                "power-smt": "share each core",
                "power-pcie-links": "powersave",
                "memory-huge-pages": "always",
                "memory-huge-defrag": "at any cost",
                "memory-swap": "/dev/zram0",
            },
        ),
    ],
    ring="kernels",
    blind=frozenset({"power-governor", "power-turbo"}),
    may=frozenset({"irq-on-isolated", "isolation-programs", "isolation-kernel-threads"}),
)
BUILT: Final = Booted(
    name="built",
    kernel="x86_64-rt",
    machine="mode=fast",
    options="nohz=off",
    looks=[Look("booted", adds=EMULATED | LAB | {"memory-statistics": "every 1 s"})],
    ring="kernels",
    scripted=False,
)
CHECKING: Final = Booted(
    name="checking",
    kernel="x86_64-rt-debug",
    machine="mode=fast",
    options="nohz=off",
    looks=[
        Look(
            "booted",
            adds=EMULATED
            | LAB
            | {
                "memory-statistics": "every 1 s",
                "boot-serial-console": "up to level 8",
                "kernel-prove-locking": "CONFIG_PROVE_LOCKING=y",
                "kernel-kasan": "CONFIG_KASAN=y",
                "kernel-debug-objects": "CONFIG_DEBUG_OBJECTS=y",
                "kernel-debug-kmemleak": "CONFIG_DEBUG_KMEMLEAK=y",
                "kernel-debug-preempt": "CONFIG_DEBUG_PREEMPT=y",
            },
        )
    ],
    ring="long",
    scripted=False,
)
MIPS: Final = Booted(
    name="mips",
    kernel="loongson2e-rt",
    machine="mode=fast",
    options="rcu_nocbs=0",
    looks=[
        Look(
            "booted",
            adds=LAB
            | {
                "boot-rcu-nocbs-no-effect": "without CONFIG_RCU_NOCB_CPU",
                "kernel-no-hz": "CONFIG_NO_HZ_IDLE=y",
            },
        )
    ],
    ring="long",
    scripted=False,
    blind=frozenset({"power-governor", "power-turbo", "virtual-machine"}),
)
OLDER: Final = Booted(
    name="older",
    kernel="oldest_kernel",
    machine="mode=fast,cpus=2",
    options="",
    looks=[
        Look(
            "booted",
            adds=EMULATED
            | BOOTED
            | DEBIAN
            | STANDARD
            | {
                "clock-slow-source": "hpet",
                "sched-throttling": "950ms of each 1s",
            },
        ),
        Look(
            "a set in a balanced root",
            r"""
write -1 /proc/sys/kernel/sched_rt_runtime_us
mount -t tmpfs cgroup /sys/fs/cgroup
mkdir /sys/fs/cgroup/cpuset
mount -t cgroup -o cpuset cpuset /sys/fs/cgroup/cpuset
mkdir /sys/fs/cgroup/cpuset/loop
write 1 /sys/fs/cgroup/cpuset/loop/cpuset.cpus
write 0 /sys/fs/cgroup/cpuset/loop/cpuset.sched_load_balance
""",
            adds={
                "group-set-balanced": "cpuset/loop (CPUs 1)",
                "group-set-shared": "cpuset/loop",
            },
            ends=frozenset({"sched-throttling"}),
        ),
        Look(
            "nothing balanced",
            r"""
write 0 /sys/fs/cgroup/cpuset/cpuset.sched_load_balance
""",
            adds={
                "isolation-nothing-left": "2 CPUs are isolated, and none left",
                "isolation-first-cpu": "CPU 0 is isolated",
                "isolation-rcu": "isolated CPUs 0-1",
                "isolation-workqueues": "isolated CPUs 0-1",
                "irq-default-affinity": "isolated CPUs 0-1",
                "irq-on-isolated": "(ttyS1) on ",
                "isolation-programs": "init",
                "isolation-kernel-threads": "ksmd",
            },
            ends=frozenset({"group-set-balanced"}),
        ),
        Look(
            "a shield",
            r"""
mkdir /sys/fs/cgroup/cpuset/rest
write 0 /sys/fs/cgroup/cpuset/rest/cpuset.cpus
write 1 /sys/fs/cgroup/cpuset/cpuset.cpu_exclusive
write 1 /sys/fs/cgroup/cpuset/loop/cpuset.cpu_exclusive
""",
            adds={
                "isolation-rcu": "isolated CPUs 1",
                "isolation-workqueues": "isolated CPUs 1",
                "irq-default-affinity": "isolated CPUs 1",
            },
            ends=frozenset(
                {
                    "group-set-shared",
                    "isolation-nothing-left",
                    "isolation-first-cpu",
                    "irq-on-isolated",
                    "isolation-programs",
                    "isolation-kernel-threads",
                }
            ),
        ),
    ],
    ring="long",
    may=frozenset({"irq-on-isolated", "isolation-programs", "isolation-kernel-threads"}),
)
MACHINES: Final = [WRONG, UNHEARD, RIGHT, SIBLINGS, BUILT, OLDER, CHECKING, MIPS]

_UNBUILT: Final = "no kernel of the lab's or of Debian's is built so"
IN_FILES: Final[Told] = {
    "kernel-cpu-idle": _UNBUILT,
    "kernel-tracing": _UNBUILT,
    "kernel-lock-stat": _UNBUILT,
    "kernel-kcsan": _UNBUILT,
    "kernel-debug-pagealloc": _UNBUILT,
    "kernel-slub-debug-on": _UNBUILT,
    "kernel-kcov": _UNBUILT,
    "sched-group-scheduling": _UNBUILT,
    "group-no-real-time": _UNBUILT,
    "kernel-efi-runtime": "no machine of the lab has EFI firmware",
    "power-governor": "QEMU's CPUs have no frequency to choose",
    "power-turbo": "QEMU's CPUs have no frequency to choose",
    "power-deep-idle": "QEMU's CPUs have no idle states but halt",
    "timers-nmi-watchdog": "QEMU's CPUs have no performance counter without KVM",
}
"""The rules whose fault no machine of the lab has, and why; tests/audit has it in files."""
