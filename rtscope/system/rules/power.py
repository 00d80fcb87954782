"""How fast the CPUs run, and how deeply they sleep."""

from collections import Counter
from typing import Final

from rtscope.system.rule import ADMIN, CONFIGURATION, Rule
from rtscope.system.state import CPU, NotSeen, State

_NO_TURBO: Final = CPU + "intel_pstate/no_turbo"
_BOOST: Final = CPU + "cpufreq/boost"
_ASPM: Final = "/sys/module/pcie_aspm/parameters/policy"
_LONG_EXIT_US: Final = 10


def _governor(state: State) -> str | None:
    cpus = [cpu for cpu in state.machine.cpus if cpu.governor]
    if not cpus:
        raise NotSeen(
            f"no CPU has {CPU}cpuN/cpufreq/scaling_governor: the firmware or a hypervisor chooses "
            "the frequency"
        )
    changing = [
        cpu.governor or ""
        for cpu in cpus
        if cpu.governor not in ("performance", "userspace")
        and (cpu.min_khz is None or cpu.min_khz != cpu.max_khz)
    ]
    counted = Counter(changing).most_common(4)
    told = ", ".join(f"{governor} on {count} of {len(cpus)} CPUs" for governor, count in counted)
    return told or None


def _turbo(state: State) -> str | None:
    if _NO_TURBO in state.files:
        return "turbo is on: no_turbo is 0" if state.number(_NO_TURBO) == 0 else None
    if _BOOST in state.files:
        return "turbo is on: boost is 1" if state.number(_BOOST) == 1 else None
    raise NotSeen(f"neither {_NO_TURBO} nor {_BOOST} is there: the driver has no such switch")


def _deep_idle(state: State) -> str | None:
    if not state.offers(CPU + "cpuidle/current_driver", "CONFIG_CPU_IDLE"):
        return None
    driver = state.line(CPU + "cpuidle/current_driver")
    states = state.machine.idle_states
    if driver == "none" and not states:
        return None
    if not states:
        raise NotSeen(f"{CPU}cpu0/cpuidle holds no state")
    deep = [
        one for one in states if not one.disabled and (one.exit_latency_us or 0) >= _LONG_EXIT_US
    ]
    if not deep:
        return None
    worst = max(deep, key=lambda one: one.exit_latency_us or 0)
    return f"{worst.name} may be entered, which takes {worst.exit_latency_us} us to leave"


def _threads_share_cores(state: State) -> str | None:
    if not state.offers(CPU + "smt/active", "CONFIG_HOTPLUG_SMT"):
        return None
    return "two threads or more share each core" if state.number(CPU + "smt/active") else None


def _links_sleep(state: State) -> str | None:
    if not state.offers(_ASPM, "CONFIG_PCIEASPM"):
        return None
    policy = state.line(_ASPM)
    chosen = next((word[1:-1] for word in policy.split() if word.startswith("[")), None)
    if chosen is None:
        raise NotSeen(f"{_ASPM} names no policy")
    off = (state.parameter("pcie_aspm") or "") == "off"
    return (
        f"PCIe links sleep: {chosen}"
        if chosen in ("powersave", "powersupersave") and not off
        else None
    )


RULES: Final = [
    Rule(
        id="power-governor",
        severity="high",
        wanted="the governor performance, or another that keeps one frequency",
        why="The frequency follows the load with a delay: a thread that wakes up from idle runs at "
        "the lowest one, several times slower, and each change stops the CPU for 10 us or more.",
        how="cpupower frequency-set -g performance, or write it to each "
        f"{CPU}cpuN/cpufreq/scaling_governor",
        link=CONFIGURATION + "#cpu-frequency-governors",
        look=_governor,
    ),
    Rule(
        id="power-turbo",
        severity="info",
        wanted="turbo off, where equal times matter more than short ones",
        why="How fast a core runs then depends on what the others do, and on heat.",
        how=f"echo 1 > {_NO_TURBO}, or echo 0 > {_BOOST}",
        link=ADMIN + "pm/cpufreq.html#frequency-boost-support",
        look=_turbo,
    ),
    Rule(
        id="power-deep-idle",
        severity="medium",
        wanted=f"no idle state that takes {_LONG_EXIT_US} us or more to leave, while it matters",
        why="A CPU that sleeps is late by that time at each wake-up, and its caches may be empty.",
        how="hold /dev/cpu_dma_latency open with 0 in it while the program runs, boot with "
        "processor.max_cstate=1 intel_idle.max_cstate=1, or echo 1 > "
        f"{CPU}cpuN/cpuidle/stateM/disable",
        link=ADMIN + "pm/cpuidle.html",
        look=_deep_idle,
    ),
    Rule(
        id="power-smt",
        severity="medium",
        wanted="SMT off, or the siblings of real-time CPUs kept empty",
        why="What the sibling executes takes caches and execution units away: paths become up to "
        "twice as long.",
        how=f"echo off > {CPU}smt/control, or boot with nosmt",
        link=ADMIN + "hw-vuln/core-scheduling.html",
        look=_threads_share_cores,
    ),
    Rule(
        id="power-pcie-links",
        severity="medium",
        wanted="the policy default or performance",
        why="A PCIe link that sleeps takes some 10 us to 100 us to carry a device's data or "
        "interrupt again.",
        how=f"echo performance > {_ASPM}, or boot with pcie_aspm.policy=performance",
        link="https://docs.kernel.org/admin-guide/kernel-parameters.html",
        look=_links_sleep,
    ),
]
