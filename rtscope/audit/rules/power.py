# SPDX-License-Identifier: GPL-2.0-only
"""Rules about frequency, idle states, SMT and links that sleep."""

import re
from collections import Counter
from typing import Final

from rtscope.audit.rule import ADMIN, CONFIGURATION, Rule, file_line
from rtscope.audit.state import CPU, NotSeen, State
from rtscope.model.cpulist import format_cpu_list
from rtscope.target.fingerprint.files import line_of, number_of

_NO_TURBO: Final = CPU + "intel_pstate/no_turbo"
_BOOST: Final = CPU + "cpufreq/boost"
_ASPM: Final = "/sys/module/pcie_aspm/parameters/policy"
_IDLE_STATE: Final = re.compile(
    rf"({CPU}cpu([0-9]{{1,5}})/cpuidle/state[0-9]{{1,3}})/latency", re.ASCII
)
_COSTLY: Final = re.compile(
    r"PTI|Clear|flush|IBPB|IBRS|Retpoline|untrained|safe RET", re.IGNORECASE
)
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
    found = ", ".join(f"{governor} on {count} of {len(cpus)} CPUs" for governor, count in counted)
    return found or None


def _turbo(state: State) -> str | None:
    if _NO_TURBO in state.files:
        return "turbo is on: no_turbo is 0" if state.number(_NO_TURBO) == 0 else None
    if _BOOST in state.files:
        return "turbo is on: boost is 1" if state.number(_BOOST) == 1 else None
    raise NotSeen(f"neither {_NO_TURBO} nor {_BOOST} is there: the driver cannot switch it")


def _deep_idle(state: State) -> str | None:
    if not state.offers(CPU + "cpuidle/current_driver", "CONFIG_CPU_IDLE"):
        return None
    driver = state.line(CPU + "cpuidle/current_driver")
    states = [match for match in map(_IDLE_STATE.fullmatch, state.files) if match]
    if driver == "none" and not states:
        return None
    if not states:
        raise NotSeen(f"no {CPU}cpuN/cpuidle has an idle state")
    deep: dict[int, tuple[int, str]] = {}
    for folder, cpu in {(match[1], int(match[2])) for match in states}:
        disabled = number_of(state.files, f"{folder}/disable")
        exit_us = number_of(state.files, f"{folder}/latency") or 0
        if not disabled and exit_us >= _LONG_EXIT_US:
            name = line_of(state.files, f"{folder}/name", 40) or "a state"
            deep[cpu] = max(deep.get(cpu, (0, "")), (exit_us, name))
    if not deep:
        return None
    exit_us, name = max(deep.values())
    cpus = format_cpu_list(deep)
    return f"CPUs {cpus} may enter {name}, which takes {exit_us} us to leave"


def _threads_share_cores(state: State) -> str | None:
    if not state.offers(CPU + "smt/active", "CONFIG_HOTPLUG_SMT"):
        return None
    return "two or more threads share each core" if state.number(CPU + "smt/active") else None


def _mitigated(state: State) -> str | None:
    folder = CPU + "vulnerabilities/"
    paths = sorted(path for path in state.files if path.startswith(folder))
    if not paths and state.offers(folder, "CONFIG_GENERIC_CPU_VULNERABILITIES"):
        raise NotSeen(f"{folder} is not there")
    costly = [
        path.removeprefix(folder)[:40]
        for path in paths
        if (text := state.line(path)).startswith("Mitigation:") and _COSTLY.search(text)
    ]
    return f"against {', '.join(costly[:8])}" if costly else None


def _links_sleep(state: State) -> str | None:
    if not state.offers(_ASPM, "CONFIG_PCIEASPM"):
        return None
    policy = state.line(_ASPM)
    chosen = next((word[1:-1] for word in policy.split() if word.startswith("[")), None)
    if chosen is None:
        raise NotSeen(f"{_ASPM} shows no policy")
    off = (state.parameter("pcie_aspm") or "") == "off"
    return (
        f"PCIe links may sleep: {chosen}"
        if chosen in ("powersave", "powersupersave") and not off
        else None
    )


RULES: Final = [
    Rule(
        id="power-governor",
        severity="high",
        wanted="the governor performance, or another with a constant frequency",
        why="The frequency follows the load with a delay: a thread that wakes from idle runs "
        "at the lowest one, several times slower, and each change stops the CPU for 10 us "
        "or more.",
        how="cpupower frequency-set -g performance, or write it to each "
        f"{CPU}cpuN/cpufreq/scaling_governor",
        link=CONFIGURATION + "#cpu-frequency-governors",
        check=_governor,
        profile=file_line(CPU + "cpu*/cpufreq/scaling_governor", "performance"),
    ),
    Rule(
        id="power-turbo",
        severity="info",
        wanted="turbo off, if equal times matter more than short ones",
        why="The speed of a core then depends on the load of the others, and on heat.",
        how=f"echo 1 > {_NO_TURBO}, or echo 0 > {_BOOST}",
        link=ADMIN + "pm/cpufreq.html#frequency-boost-support",
        check=_turbo,
        profile=file_line(CPU + "intel_pstate/no_turbo", "1"),
    ),
    Rule(
        id="power-deep-idle",
        severity="medium",
        wanted=f"no idle state with an exit latency of {_LONG_EXIT_US} us or more during "
        "real-time work",
        why="The CPU's exit latency delays each wake-up, and its caches may be empty.",
        how="hold /dev/cpu_dma_latency at 0 while the program runs, or boot with "
        "processor.max_cstate=1 intel_idle.max_cstate=1, or echo 1 > "
        f"{CPU}cpuN/cpuidle/stateM/disable",
        link=ADMIN + "pm/cpuidle.html",
        check=_deep_idle,
        profile='latency = { limit = "0us" }',
    ),
    Rule(
        id="power-smt",
        severity="medium",
        wanted="SMT off, or the siblings of real-time CPUs idle",
        why="Work on the sibling uses caches and execution units of the core: paths become up "
        "to twice as long.",
        how=f"echo off > {CPU}smt/control, or boot with nosmt",
        link=ADMIN + "hw-vuln/core-scheduling.html",
        check=_threads_share_cores,
        profile=file_line(CPU + "smt/control", "off"),
    ),
    Rule(
        id="power-mitigations",
        severity="info",
        wanted="mitigations of CPU vulnerabilities; mitigations=off only if all programs on the "
        "system are trusted",
        why="Every kernel entry and exit switches or flushes page tables, predictors or "
        "buffers: 100 ns to some microseconds each time.",
        how="boot with mitigations=off; the kernel is then vulnerable to every program on "
        "this system",
        link=ADMIN + "hw-vuln/index.html",
        check=_mitigated,
    ),
    Rule(
        id="power-pcie-links",
        severity="medium",
        wanted="the policy default or performance",
        why="A PCIe link in a sleep state takes 10 us to 100 us to carry a device's data or "
        "interrupt again.",
        how=f"echo performance > {_ASPM}, or boot with pcie_aspm.policy=performance",
        link="https://docs.kernel.org/admin-guide/kernel-parameters.html",
        check=_links_sleep,
        profile=file_line(_ASPM, "performance"),
    ),
]
