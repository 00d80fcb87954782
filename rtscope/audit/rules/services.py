# SPDX-License-Identifier: GPL-2.0-only
"""systemd, D-Bus, and the services that change a machine's settings behind its user's back."""

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
    "power-profiles-": "power-profiles-daemon",
    "auto-cpufreq": "auto-cpufreq",
    "cpufreqd": "cpufreqd",
    "thermald": "thermald",
    "numad": "numad",
    "ksmtuned": "ksmtuned",
}
"""By the name of their thread, of which the kernel keeps 15 letters."""
_SYSTEMD: Final = "https://docs.kernel.org/scheduler/index.html"


def _running(state: State) -> set[str]:
    return {task.name for task in state.tasks if not task.kernel}


def _manager_settings(state: State, name: str) -> list[str]:
    """The values of a setting of systemd's own, in the order in which it reads them."""
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
    return f"CPUAffinity= has the isolated CPUs {format_cpu_list(found)}" if found else None


def _cpus(value: str) -> list[int]:
    """Of a list as systemd takes it: also with spaces."""
    try:
        return parse_cpu_list(",".join(value.replace(",", " ").split()))
    except RtscopeError:
        raise NotSeen(f"CPUAffinity={value[:40]} of systemd is no list of CPUs") from None


def _by_rtkit(state: State) -> str | None:
    if "rtkit-daemon" not in _running(state):
        return None
    units = sorted((path for path in state.files if _RTKIT_UNIT.fullmatch(path)), key=_late)
    given = [found for path in units for found in _RTKIT_PRIORITY.findall(state.text(path))]
    highest = int(given[-1]) if given else _RTKIT_USUAL
    return f"rtkit-daemon gives programs priority {highest} at most" if highest < 50 else None


def _late(path: str) -> tuple[bool, bool, str]:
    """Of two units the one that counts comes later: drop-ins, and those of /etc."""
    return ".service.d/" in path, path.startswith("/etc/"), path


def _set_back(state: State) -> str | None:
    found = [_SET_BACK[name] for name in sorted(_running(state) & _SET_BACK.keys())]
    return f"{', '.join(found)} {'runs' if len(found) == 1 else 'run'}" if found else None


RULES: Final = [
    Rule(
        id="services-cpu-affinity",
        severity="high",
        wanted=f"no isolated CPU in CPUAffinity= of {_MANAGER}",
        why="Every service may then start there, and the scheduler does not move it away again: "
        "it stays for as long as it runs.",
        how=f"put the housekeeping CPUs into CPUAffinity= of {_MANAGER}, or remove it; then boot",
        link=ADMIN + "cgroup-v2.html#cpuset",
        look=_starts_on_isolated,
    ),
    Rule(
        id="services-rtkit",
        severity="info",
        wanted="a limit rtprio of the user's own, or a unit's, for programs that must keep time",
        why="What asks D-Bus for a real-time priority gets a low one, below the interrupts' 50; "
        "it is ended when it computes for 200 ms, and loses it when others wait for 10 s.",
        how="add the line '@realtime - rtprio 95' to /etc/security/limits.d, or set "
        "--max-realtime-priority= in the unit of rtkit-daemon",
        link=_SYSTEMD,
        look=_by_rtkit,
    ),
    Rule(
        id="services-set-back",
        severity="medium",
        wanted="no service that sets frequencies, idle or memory by itself, or when D-Bus asks it",
        why="What was set for latency is another value after the next click, change of "
        "temperature or of load, and thermald stops CPUs for milliseconds to cool them.",
        how="systemctl mask --now NAME, or set there what should stay",
        link=ADMIN + "pm/cpufreq.html",
        look=_set_back,
    ),
]
