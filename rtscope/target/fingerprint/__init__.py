# SPDX-License-Identifier: GPL-2.0-only
"""The fingerprint of a machine, made from the `file` lines that the agent sends.

All content is untrusted. A file that is absent, garbled or absurd leaves its field None (or its
list empty) and never raises.
"""

import re
from typing import Final

import msgspec

from rtscope.model.machine import Machine, Throttling
from rtscope.target.fingerprint.files import (
    Files,
    clean,
    config_of,
    line_of,
    number_of,
    text_of,
)
from rtscope.target.fingerprint.interrupts import interrupts_of
from rtscope.target.fingerprint.preemption import preemption_of, release_of, version_of
from rtscope.target.fingerprint.processors import (
    Fields,
    caches_of,
    cpu_model_of,
    cpuinfo_of,
    cpus_of,
    first,
    idle_states_of,
)
from rtscope.target.fingerprint.virtualisation import virtualisation_of
from rtscope.target.protocol import THROTTLING

_CLOCKSOURCE: Final = "/sys/devices/system/clocksource/clocksource0/"
_CPU: Final = "/sys/devices/system/cpu/"
_PLACEHOLDERS: Final = {
    "system product name",
    "system manufacturer",
    "to be filled by o.e.m.",
    "default string",
    "o.e.m.",
    "not specified",
    "none",
    "unknown",
}
"""Placeholders of firmware and kernels for a board without a name."""


def machine_of(files: Files) -> Machine:
    """The system that these kernel files describe; `files` maps a path to its content."""
    cpuinfo = cpuinfo_of(files)
    cpus = cpus_of(files, cpuinfo)
    preemption, evidence = preemption_of(files)
    return Machine(
        hostname=line_of(files, "uname:nodename"),
        architecture=line_of(files, "uname:machine", 32),
        cpu_model=cpu_model_of(cpuinfo),
        board=_board(files, cpuinfo),
        cpus=cpus,
        caches=caches_of(files, cpus),
        memory_bytes=_memory_bytes(files),
        kernel_release=release_of(files),
        kernel_version=version_of(files) or None,
        command_line=line_of(files, "/proc/cmdline", 4096),
        preemption=preemption,
        preemption_evidence=evidence,
        hz=_hz(files),
        clock_source=line_of(files, _CLOCKSOURCE + "current_clocksource", 64),
        clock_sources=(line_of(files, _CLOCKSOURCE + "available_clocksource") or "").split(),
        high_resolution_timers=_high_resolution_timers(files),
        idle_driver=line_of(files, _CPU + "cpuidle/current_driver", 64),
        idle_states=idle_states_of(files),
        rt_runtime_us=number_of(files, "/proc/sys/kernel/sched_rt_runtime_us"),
        rt_period_us=number_of(files, "/proc/sys/kernel/sched_rt_period_us"),
        throttling=_throttling(files),
        microcode=clean(first(cpuinfo, "microcode") or "", 32)
        or line_of(files, _CPU + "cpu0/microcode/version", 32),
        virtualisation=virtualisation_of(files, cpuinfo),
        interrupts=interrupts_of(files),
    )


def _throttling(files: Files) -> Throttling | None:
    try:
        return msgspec.json.decode(files[THROTTLING], type=Throttling)
    except (KeyError, msgspec.DecodeError, UnicodeDecodeError):
        return None


def _board(files: Files, cpuinfo: Fields) -> str | None:
    model = line_of(files, "/proc/device-tree/model")
    if model:
        return model
    for vendor, product in (("sys_vendor", "product_name"), ("board_vendor", "board_name")):
        names = [line_of(files, f"/sys/class/dmi/id/{file}") for file in (vendor, product)]
        known = [name for name in names if name and name.lower() not in _PLACEHOLDERS]
        if known and known[-1] == names[1]:
            return known[-1] if known[-1].startswith(known[0]) else " ".join(known)
    if first(cpuinfo, "flags") is not None:
        return None  # x86, whose "model" is a number of the processor
    for key in ("machine", "model", "system type", "hardware"):
        name = clean(first(cpuinfo, key) or "")
        if name and name.lower() not in _PLACEHOLDERS:
            return name
    return None


def _memory_bytes(files: Files) -> int | None:
    match = re.search(
        r"^MemTotal:\s+([0-9]{1,15}) kB$", text_of(files, "/proc/meminfo"), re.MULTILINE
    )
    return int(match[1]) * 1024 if match else None


def _hz(files: Files) -> int | None:
    hz = config_of(files).get("CONFIG_HZ", "")
    return int(hz) if re.fullmatch(r"[1-9][0-9]{0,4}", hz, re.ASCII) else None


def _high_resolution_timers(files: Files) -> bool | None:
    """clock_getres() gives 1 ns once they are on, and the tick's length before (hrtimer.c)."""
    resolution_ns = number_of(files, "clock:monotonic_resolution_ns")
    active = re.search(r"\.hres_active\s*:\s*([01])\b", text_of(files, "/proc/timer_list"))
    if active and active[1] == "0":
        return False
    if resolution_ns is not None and resolution_ns > 0:
        return resolution_ns == 1
    return True if active else None
