# SPDX-License-Identifier: GPL-2.0-only
"""Rules about isolated CPUs: complete isolation, and tasks that still run there.

They find nothing on a system without isolated CPUs.
"""

from typing import Final

from rtscope.audit.commandline import cpus_of
from rtscope.audit.rule import PARAMETERS, PARTITION, TASKS_AWAY, Rule, boot_line, file_line
from rtscope.audit.state import CPU, NotSeen, State
from rtscope.model.cpulist import format_cpu_list

_WORKQUEUES: Final = "/sys/devices/virtual/workqueue/cpumask"


def _callbacks_stay(state: State) -> str | None:
    if not state.isolated:
        return None
    asked = state.parameter("rcu_nocbs") or ""
    last = max(state.present, default=0)
    free = (cpus_of(asked, last) or set()) if asked else set()
    if state.built("CONFIG_RCU_NOCB_CPU_DEFAULT_ALL") or state.parameter("rcu_nocbs") == "":
        return None
    left = state.isolated - free - state.nohz_full
    return f"RCU's callbacks run on the isolated CPUs {format_cpu_list(left)}" if left else None


def _tickless_not_isolated(state: State) -> str | None:
    left = state.nohz_full - state.isolated
    if not left:
        return None
    return (
        f"CPUs {format_cpu_list(left)} have nohz_full, but the scheduler may place any thread there"
    )


def _nothing_left(state: State) -> str | None:
    left = state.cpus(CPU + "online") - state.isolated
    if not state.isolated or len(left) * 8 >= len(state.isolated):
        return None
    left_over = format_cpu_list(left) or "none"
    return f"{len(state.isolated)} CPUs are isolated, which leaves {left_over} for everything else"


def _first_cpu(state: State) -> str | None:
    return "CPU 0 is isolated" if 0 in state.isolated else None


def _sibling_busy(state: State) -> str | None:
    cpus = [cpu for cpu in state.machine.cpus if cpu.number in state.isolated]
    if any(cpu.online and not cpu.smt_siblings for cpu in cpus):
        raise NotSeen(f"{CPU}cpuN/topology/thread_siblings_list is not there for isolated CPUs")
    busy = {sibling for cpu in cpus for sibling in cpu.smt_siblings} - state.isolated
    if not busy:
        return None
    return f"CPUs {format_cpu_list(busy)} are not isolated, but are siblings of isolated CPUs"


def _programs_there(state: State) -> str | None:
    if not state.isolated:
        return None
    found = sorted({
        task.name
        for task in state.tasks
        if task.cpu in state.isolated and not task.kernel and task.policy == 0
    })  # fmt: skip
    more = f" and {len(found) - 8} more" if len(found) > 8 else ""
    return f"{', '.join(found[:8])}{more}, without a real-time priority" if found else None


def _kernel_threads_there(state: State) -> str | None:
    if not state.isolated:
        return None
    found = sorted({
        task.name
        for task in state.tasks
        if task.cpu in state.isolated and task.kernel and not task.bound
        if "/" not in task.name
    })  # fmt: skip
    more = f" and {len(found) - 8} more" if len(found) > 8 else ""
    return f"{', '.join(found[:8])}{more}" if found else None


def _work_there(state: State) -> str | None:
    if not state.isolated:
        return None
    shared = state.mask(_WORKQUEUES) & state.isolated
    if not shared:
        return None
    return f"workqueues may use the isolated CPUs {format_cpu_list(shared)}"


RULES: Final = [
    Rule(
        id="isolation-rcu",
        severity="medium",
        wanted="the same CPUs in rcu_nocbs= as in isolcpus=; nohz_full= implies it",
        why="RCU runs deferred work, mostly freeing memory, in a soft interrupt of that CPU: "
        "tens of microseconds.",
        how="boot with rcu_nocbs= and the isolated CPUs",
        link=PARAMETERS,
        check=_callbacks_stay,
        profile=boot_line("rcu_nocbs={cpus}"),
    ),
    Rule(
        id="isolation-nohz-full",
        severity="medium",
        wanted="each CPU of nohz_full= in isolcpus= or in an isolated cpuset",
        why="The tick returns as soon as a second thread is there, and the scheduler may "
        "place one there.",
        how="boot with isolcpus= and the same CPUs, or create an isolated cpuset partition",
        link="https://docs.kernel.org/timers/no_hz.html",
        check=_tickless_not_isolated,
        profile=PARTITION,
    ),
    Rule(
        id="isolation-nothing-left",
        severity="high",
        wanted="at least one CPU in eight for everything else",
        why="All interrupts, workers and ordinary programs share the remaining CPUs; a "
        "real-time program that depends on them waits longer.",
        how="isolate fewer CPUs",
        link=PARAMETERS,
        check=_nothing_left,
    ),
    Rule(
        id="isolation-first-cpu",
        severity="medium",
        wanted="CPU 0 for housekeeping",
        why="Much of the kernel's own work is bound to the CPU that it booted on.",
        how="isolate other CPUs",
        link=PARAMETERS,
        check=_first_cpu,
    ),
    Rule(
        id="isolation-sibling",
        severity="high",
        wanted="both threads of a core isolated, or neither",
        why="Work on the sibling uses caches and execution units of the core: paths become up "
        "to twice as long.",
        how="isolate the siblings too (lscpu -e), or boot with nosmt",
        link="https://docs.kernel.org/admin-guide/hw-vuln/core-scheduling.html",
        check=_sibling_busy,
    ),
    Rule(
        id="isolation-programs",
        severity="info",
        wanted="only the programs for which the CPUs are isolated",
        why="Other programs share caches with them, and cause ticks and kernel work.",
        how="taskset -cp HOUSEKEEPING PID, or CPUAffinity= in /etc/systemd/system.conf",
        link="https://docs.kernel.org/admin-guide/cgroup-v2.html#cpuset",
        check=_programs_there,
        profile=TASKS_AWAY,
    ),
    Rule(
        id="isolation-kernel-threads",
        severity="info",
        wanted="movable kernel threads on housekeeping CPUs",
        why="Each uses the CPU for some microseconds whenever it has work, unless the program "
        "has a real-time priority.",
        how="taskset -cp HOUSEKEEPING PID",
        link="https://docs.kernel.org/admin-guide/kernel-per-CPU-kthreads.html",
        check=_kernel_threads_there,
        profile=TASKS_AWAY,
    ),
    Rule(
        id="isolation-workqueues",
        severity="medium",
        wanted="only housekeeping CPUs in " + _WORKQUEUES,
        why="Unbound work, for example of file systems, also runs on the isolated CPUs: 10 us "
        "to 1 ms at a time.",
        how=f"write the housekeeping CPUs' mask to {_WORKQUEUES}",
        link="https://docs.kernel.org/core-api/workqueue.html",
        check=_work_there,
        profile=file_line(_WORKQUEUES, "{others_mask}"),
    ),
]
