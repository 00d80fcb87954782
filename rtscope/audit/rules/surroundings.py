# SPDX-License-Identifier: GPL-2.0-only
"""Rules about the kernel's surroundings: firmware, hypervisor and the user's limits."""

import re
from typing import Final

from rtscope.audit.rule import ADMIN, Rule
from rtscope.audit.state import NotSeen, State

_LIMIT: Final = re.compile(r"^(Max [a-z ]+?) {2,}(\S+)", re.MULTILINE | re.ASCII)
_CAPABILITIES: Final = re.compile(r"^CapEff:\s*([0-9a-f]{16})$", re.MULTILINE | re.ASCII)
_VENDOR: Final = re.compile(r"^vendor_id\s*: (\S+)", re.MULTILINE)
_SMIS: Final = "msr:smi_count"
_SMIS_AN_HOUR: Final = 60
_CAP_IPC_LOCK: Final = 14
_CAP_SYS_NICE: Final = 23


def _virtual(state: State) -> str | None:
    if state.machine.virtualisation is None:
        raise NotSeen("neither the CPU nor the firmware shows whether there is a hypervisor")
    below = state.machine.virtualisation
    return None if below == "none" else f"a virtual machine of {below}"


def _stopped_by_firmware(state: State) -> str | None:
    vendor = _VENDOR.search(state.text("/proc/cpuinfo"))
    if not vendor:
        return None  # not an x86, so there is no system management mode
    if vendor[1] != "GenuineIntel":
        raise NotSeen(f"CPUs of {vendor[1][:20]} count no SMIs: rtla hwnoise finds them")
    if state.machine.virtualisation != "none":
        raise NotSeen("a hypervisor's guest does not see the host's SMIs")
    if _SMIS not in state.files:
        raise NotSeen("/dev/cpu/0/msr does not exist or is not readable (modprobe msr, as root)")
    count = state.number(_SMIS)
    more = (state.number(_SMIS + "_later") - count) % 2**32
    if more:
        return f"{more} SMIs while the system was read"
    uptime = re.match(r"([0-9]{1,10})\.", state.line("/proc/uptime"), re.ASCII)
    hours = int(uptime[1]) / 3600 if uptime else 0.0
    if hours < 1 and count:
        raise NotSeen(
            f"{count} SMIs since power-on, none while the system was read: the rate "
            "is known an hour after the boot"
        )
    often = count > _SMIS_AN_HOUR * hours
    return f"{count} SMIs since power-on, {count / hours:.0f} an hour" if often else None


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
    return "the agent's user may not use a real-time priority"


def _stopped_in_time(state: State) -> str | None:
    limit = _limit(state, "Max realtime timeout")
    if limit != "unlimited":
        return f"the agent's user may compute for {limit[:20]} us in real time without sleeping"
    return None


def _little_locked(state: State) -> str | None:
    if _may(state, _CAP_IPC_LOCK):
        return None
    limit = _limit(state, "Max locked memory")
    return None if limit == "unlimited" else f"the agent's user may lock {limit[:20]} bytes"


RULES: Final = [
    Rule(
        id="firmware-smi",
        severity="high",
        wanted=f"no system management interrupts during real-time work, at most {_SMIS_AN_HOUR} "
        "an hour",
        why="The firmware stops all CPUs at once, invisibly to the kernel: 10 us to several "
        "milliseconds each.",
        how="disable automatic functions in the firmware's setup: emulation of USB keyboards, "
        "power and fan control, reports of memory errors; rtla hwnoise measures their "
        "length",
        link="https://docs.kernel.org/trace/hwlat_detector.html",
        check=_stopped_by_firmware,
    ),
    Rule(
        id="virtual-machine",
        severity="high",
        wanted="real hardware, or a hypervisor made for real-time guests with one CPU per guest "
        "CPU",
        why="The host stops the guest's CPUs at any time, for milliseconds, and the guest "
        "cannot see it.",
        how="pin each virtual CPU to a dedicated host CPU, with a real-time priority",
        link="https://docs.kernel.org/virt/index.html",
        check=_virtual,
    ),
    Rule(
        id="limits-priority",
        severity="medium",
        wanted="a limit rtprio above 0 for the user of the program",
        why="Without a real-time priority a thread waits for every other: milliseconds.",
        how="add the line '@realtime - rtprio 95' to /etc/security/limits.d, or set "
        "LimitRTPRIO= in the unit",
        link="https://docs.kernel.org/scheduler/index.html",
        check=_no_priority,
    ),
    Rule(
        id="limits-memory",
        severity="medium",
        wanted="a limit memlock of unlimited for the user of the program",
        why="mlockall() fails, and the first touch of each page is a page fault: 1 us, or "
        "milliseconds if the page comes from a disk.",
        how="add the line '@realtime - memlock unlimited' to /etc/security/limits.d, or set "
        "LimitMEMLOCK= in the unit",
        link=ADMIN + "mm/index.html",
        check=_little_locked,
    ),
    Rule(
        id="limits-timeout",
        severity="medium",
        wanted="a limit rttime of unlimited for the user of the program",
        why="A real-time thread that computes longer than this without sleeping gets SIGXCPU, "
        "which ends the program.",
        how="remove the line rttime from /etc/security/limits.d, or LimitRTTIME= from the unit",
        link="https://docs.kernel.org/scheduler/index.html",
        check=_stopped_in_time,
    ),
]
