# SPDX-License-Identifier: GPL-2.0-only
"""Rules about systemd, D-Bus, and services that change settings by themselves."""

import re
from typing import Final

from rtscope.audit.rule import ADMIN, Rule
from rtscope.audit.state import NotSeen, State
from rtscope.model.cpulist import format_cpu_list, parse_cpu_list
from rtscope.model.errors import RtscopeError

_MANAGER: Final = "/etc/systemd/system.conf"
_DROP_IN: Final = re.compile(r"/(?:etc|run|usr/lib)/systemd/system\.conf\.d/([^/]+\.conf)")
_RTKIT_UNIT: Final = re.compile(
    r"/(?:usr/lib|etc)/systemd/system/rtkit-daemon\.service(?:\.d/[^/]+\.conf)?"
)
_RTKIT_PRIORITY: Final = re.compile(r"^ExecStart=.*--max-realtime-priority=([0-9]{1,2})", re.M)
_RTKIT_USUAL: Final = 20
_SET_BACK: Final = {
    "power-profiles-": ("power-profiles-daemon", "CPU governors and energy preferences"),
    "auto-cpufreq": ("auto-cpufreq", "CPU governors and frequencies"),
    "cpufreqd": ("cpufreqd", "CPU governors and frequencies"),
    "thermald": ("thermald", "CPU frequencies and idle injection"),
    "tlp": ("tlp", "CPU governors and devices' power"),
    "tuned": ("tuned", "sysctls, CPU governors, thread priorities and CPUs of interrupts"),
    "tuna": ("tuna", "thread priorities and CPUs of threads and interrupts"),
    "stalld": ("stalld", "the policy of starving threads, which then run before real-time ones"),
    "numad": ("numad", "CPUs and memory of processes"),
    "ksmtuned": ("ksmtuned", "merging of equal pages"),
}
"""by the name of its thread, which the kernel cuts to 15 letters: the program, what it changes"""
_SYSTEMD: Final = "https://docs.kernel.org/scheduler/index.html"


def _running(state: State) -> set[str]:
    return {task.name for task in state.tasks if not task.kernel}


def _manager_settings(state: State, name: str) -> list[str]:
    """The values of one of systemd's settings, in the order in which it reads them."""
    drop_ins = sorted(
        (match[1], path) for path in state.files if (match := _DROP_IN.fullmatch(path))
    )
    texts = [state.text(path) for path in [_MANAGER, *(path for _, path in drop_ins)]]
    return [
        value.strip()
        for text in texts
        for key, equals, value in (line.partition("=") for line in text.splitlines())
        if equals and key.strip() == name
    ]


def _starts_on_isolated(state: State) -> str | None:
    if not state.isolated or "systemd" not in _running(state):
        return None
    cpus: set[int] = set()
    for value in _manager_settings(state, "CPUAffinity"):
        if not value:
            cpus.clear()
        elif value != "numa":
            cpus.update(_cpus(value))
    found = cpus & state.isolated
    return f"CPUAffinity= includes the isolated CPUs {format_cpu_list(found)}" if found else None


def _cpus(value: str) -> list[int]:
    """The CPUs of a list in systemd's syntax, which allows spaces."""
    try:
        return parse_cpu_list(",".join(value.replace(",", " ").split()))
    except RtscopeError:
        raise NotSeen(f"systemd's CPUAffinity={value[:40]} is not a list of CPUs") from None


def _by_rtkit(state: State) -> str | None:
    if "rtkit-daemon" not in _running(state):
        return None
    units = sorted((path for path in state.files if _RTKIT_UNIT.fullmatch(path)), key=_late)
    given = [found for path in units for found in _RTKIT_PRIORITY.findall(state.text(path))]
    highest = int(given[-1]) if given else _RTKIT_USUAL
    return f"rtkit-daemon gives programs priority {highest} at most" if highest < 50 else None


def _late(path: str) -> tuple[bool, bool, str]:
    """Sort key: of two units the effective one comes later: drop-ins, and those of /etc."""
    return ".service.d/" in path, path.startswith("/etc/"), path


def _set_back(state: State) -> str | None:
    found = [_SET_BACK[name] for name in sorted(_running(state) & _SET_BACK.keys())]
    return "; ".join(f"{name} runs and changes {what}" for name, what in found) or None


RULES: Final = [
    Rule(
        id="services-cpu-affinity",
        severity="high",
        wanted=f"no isolated CPU in CPUAffinity= of {_MANAGER}",
        why="Every service may start there, and the scheduler does not move it away again.",
        how=f"put the housekeeping CPUs into CPUAffinity= of {_MANAGER}, or remove it; then reboot",
        link=ADMIN + "cgroup-v2.html#cpuset",
        check=_starts_on_isolated,
    ),
    Rule(
        id="services-rtkit",
        severity="info",
        wanted="the user's own limit rtprio, or a unit's, for real-time programs",
        why="A program that requests a real-time priority over D-Bus gets a low one, below "
        "the interrupts' 50. It is killed when it computes for 200 ms, and loses the "
        "priority when others wait for 10 s.",
        how="add the line '@realtime - rtprio 95' to /etc/security/limits.d, or set "
        "--max-realtime-priority= in the unit of rtkit-daemon",
        link=_SYSTEMD,
        check=_by_rtkit,
    ),
    Rule(
        id="services-set-back",
        severity="medium",
        wanted="no program that changes frequencies, priorities, interrupts or memory settings by "
        "itself or over D-Bus",
        why="A setting made for latency changes with the next click, temperature or load, and "
        "thermald stops CPUs for milliseconds to cool them.",
        how="systemctl mask --now NAME, or configure the settings there; rtscope tune hold sets "
        "them again",
        link=ADMIN + "pm/cpufreq.html",
        check=_set_back,
    ),
]
