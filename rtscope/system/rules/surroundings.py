"""What is around the kernel: a hypervisor below it, and the limits of the user above it."""

import re
from typing import Final

from rtscope.system.rule import ADMIN, Rule
from rtscope.system.state import NotSeen, State

_LIMIT: Final = re.compile(r"^(Max [a-z ]+?) {2,}(\S+)", re.MULTILINE | re.ASCII)
_CAPABILITIES: Final = re.compile(r"^CapEff:\s*([0-9a-f]{16})$", re.MULTILINE | re.ASCII)
_CAP_IPC_LOCK: Final = 14
_CAP_SYS_NICE: Final = 23


def _virtual(state: State) -> str | None:
    if state.machine.virtualisation is None:
        raise NotSeen("neither CPU nor firmware tells whether there is a hypervisor")
    below = state.machine.virtualisation
    return None if below == "none" else f"a virtual machine of {below}"


def _may(state: State, capability: int) -> bool:
    found = _CAPABILITIES.search(state.text("/proc/self/status"))
    if not found:
        raise NotSeen("/proc/self/status names no capabilities")
    return bool(int(found[1], 16) >> capability & 1)


def _limit(state: State, name: str) -> str:
    limits = dict(_LIMIT.findall(state.text("/proc/self/limits")))
    if name not in limits:
        raise NotSeen(f"/proc/self/limits has no '{name}'")
    return str(limits[name])


def _no_priority(state: State) -> str | None:
    if _may(state, _CAP_SYS_NICE):
        return None
    limit = _limit(state, "Max realtime priority")
    if limit == "unlimited" or (limit[:4].isdecimal() and int(limit[:4]) > 0):
        return None
    return "the user that looked may use no real-time priority"


def _little_locked(state: State) -> str | None:
    if _may(state, _CAP_IPC_LOCK):
        return None
    limit = _limit(state, "Max locked memory")
    return None if limit == "unlimited" else f"the user that looked may lock {limit[:20]} bytes"


RULES: Final = [
    Rule(
        id="virtual-machine",
        severity="high",
        wanted="real hardware, or a hypervisor made for real-time guests with a CPU for each of "
        "the guest's",
        why="The host stops the guest's CPUs whenever it likes, for milliseconds, and the guest "
        "cannot see it.",
        how="pin each virtual CPU to a CPU of the host's own, with a real-time priority",
        link="https://docs.kernel.org/virt/index.html",
        look=_virtual,
    ),
    Rule(
        id="limits-priority",
        severity="medium",
        wanted="a limit rtprio above 0 for the user of the program",
        why="Without a real-time priority a thread waits for every other: milliseconds.",
        how="a line '@realtime - rtprio 95' in /etc/security/limits.d, LimitRTPRIO= in a unit",
        link="https://docs.kernel.org/scheduler/index.html",
        look=_no_priority,
    ),
    Rule(
        id="limits-memory",
        severity="medium",
        wanted="a limit memlock of unlimited for the user of the program",
        why="mlockall() fails, and the first touch of each page is a page fault: 1 us, or "
        "milliseconds where the page comes from a disk.",
        how="a line '@realtime - memlock unlimited' in /etc/security/limits.d, LimitMEMLOCK= in a "
        "unit",
        link=ADMIN + "mm/index.html",
        look=_little_locked,
    ),
]
