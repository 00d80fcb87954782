# SPDX-License-Identifier: GPL-2.0-only
"""CPUs, caches and idle states, from /proc/cpuinfo and /sys/devices/system/cpu."""

import re
from typing import Final

from rtscope.model.machine import Cache, Cpu, IdleState
from rtscope.target.fingerprint.arm_parts import ARM_PARTS
from rtscope.target.fingerprint.files import (
    Files,
    clean,
    cpu_list_of,
    line_of,
    number_of,
    text_of,
)

Fields = list[tuple[str, str]]
"""The lines of /proc/cpuinfo in order: key in lower case, value."""

_CPU: Final = "/sys/devices/system/cpu"
_MODEL_KEYS: Final = ("model name", "cpu model", "uarch", "isa", "cpu")
"""x86 and LoongArch, MIPS, RISC-V (the core's name, else its instruction set), PowerPC"""
_CACHE: Final = re.compile(_CPU + r"/cpu([0-9]{1,4})/cache/index([0-9]{1,2})/level")
_STATE: Final = re.compile(_CPU + r"/cpu0/cpuidle/state([0-9]{1,2})/name")
_SIZE: Final = re.compile(r"([0-9]{1,9})([KMG]?)")
_SCALE: Final = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_NODE: Final = re.compile(r"/sys/devices/system/node/node([0-9]{1,4})/cpulist")
_HYBRID: Final = re.compile(r"/sys/devices/cpu_([a-z]{1,16})/cpus")
_MOST_THREADS: Final = 64
"""of one core; eight on the widest machines made"""
_MOST_OF_CLUSTER: Final = 1024
_MOST_CACHES: Final = 16
"""cache levels of one CPU; five on the deepest systems made"""


def cpuinfo_of(files: Files) -> Fields:
    """/proc/cpuinfo as key and value."""
    fields = []
    for line in text_of(files, "/proc/cpuinfo").splitlines():
        key, colon, value = line.partition(":")
        if colon:
            fields.append((key.strip().lower(), value.strip()))
    return fields


def first(cpuinfo: Fields, key: str) -> str | None:
    """The first value of a key."""
    return next((value for name, value in cpuinfo if name == key), None)


def cpu_model_of(cpuinfo: Fields) -> str | None:
    """The processor's name; several, joined by " + ", where cores differ."""
    arm = _arm_cores(cpuinfo)
    if arm:
        return " + ".join(arm[:8])
    found = next((first(cpuinfo, key) for key in _MODEL_KEYS if first(cpuinfo, key)), None)
    return clean(found.removesuffix(", altivec supported")) if found else None


def _arm_cores(cpuinfo: Fields) -> list[str]:
    names: dict[str, None] = {}
    implementer = ""
    for key, value in cpuinfo:
        if key == "cpu implementer":
            implementer = value
        elif key == "cpu part":
            names[_arm_core(implementer, value)] = None
    return [name for name in names if name]


def _arm_core(implementer: str, part: str) -> str:
    hexadecimal = re.compile(r"0x[0-9a-fA-F]{1,4}")
    if not hexadecimal.fullmatch(implementer) or not hexadecimal.fullmatch(part):
        return ""
    name = ARM_PARTS.get(int(implementer, 16), {}).get(int(part, 16))
    return name or f"implementer {implementer} part {part}"


def cpus_of(files: Files, cpuinfo: Fields) -> list[Cpu]:
    """Every CPU that is present, with what can be read of it, by number."""
    online = cpu_list_of(files, f"{_CPU}/online")
    isolated = set(cpu_list_of(files, f"{_CPU}/isolated") or [])
    present = cpu_list_of(files, f"{_CPU}/present") or online or _cpus_of_cpuinfo(cpuinfo)
    awake = set(present if online is None else online)
    nodes, kinds = _nodes_of(files), _kinds_of(files, cpuinfo)
    return [
        _cpu(files, number, number in awake, number in isolated, nodes, kinds) for number in present
    ]


def _kinds_of(files: Files, cpuinfo: Fields) -> dict[int, str]:
    """The kind of core of each CPU: by the event counters of a hybrid x86, or by its ARM part."""
    found: dict[int, str] = {}
    number, implementer = -1, ""
    for key, value in cpuinfo:
        if key == "processor":
            number = int(value) if re.fullmatch(r"[0-9]{1,4}", value) else -1
        elif key == "cpu implementer":
            implementer = value
        elif key == "cpu part" and number >= 0 and (name := _arm_core(implementer, value)):
            found[number] = name
    matches = [match for match in map(_HYBRID.fullmatch, files) if match]
    return found | {
        cpu: match[1] for match in matches for cpu in cpu_list_of(files, match[0]) or []
    }


def _nodes_of(files: Files) -> dict[int, int]:
    """The memory node of each CPU that has one."""
    matches = [match for match in map(_NODE.fullmatch, files) if match]
    return {cpu: int(match[1]) for match in matches for cpu in cpu_list_of(files, match[0]) or []}


def _cpus_of_cpuinfo(cpuinfo: Fields) -> list[int]:
    numbers = {value for key, value in cpuinfo if key == "processor"}
    return sorted(int(value) for value in numbers if re.fullmatch(r"[0-9]{1,4}", value))


def _cpu(
    files: Files,
    number: int,
    online: bool,
    isolated: bool,
    nodes: dict[int, int],
    kinds: dict[int, str],
) -> Cpu:
    topology = f"{_CPU}/cpu{number}/topology/"
    frequency = f"{_CPU}/cpu{number}/cpufreq/"
    siblings = cpu_list_of(files, topology + "thread_siblings_list") or []
    cluster = cpu_list_of(files, topology + "cluster_cpus_list") or []
    return Cpu(
        number=number,
        online=online,
        isolated=isolated,
        core=_natural(files, topology + "core_id"),
        package=_natural(files, topology + "physical_package_id"),
        smt_siblings=siblings if len(siblings) <= _MOST_THREADS else [],
        cluster=cluster if len(cluster) <= _MOST_OF_CLUSTER else [],
        node=nodes.get(number),
        governor=line_of(files, frequency + "scaling_governor", 32),
        driver=line_of(files, frequency + "scaling_driver", 32),
        min_khz=_natural(files, frequency + "scaling_min_freq"),
        max_khz=_natural(files, frequency + "scaling_max_freq"),
        peak_khz=_natural(files, frequency + "cpuinfo_max_freq"),
        capacity=_natural(files, f"{_CPU}/cpu{number}/cpu_capacity"),
        kind=kinds.get(number),
    )


def _natural(files: Files, path: str) -> int | None:
    """A number for which the kernel writes -1 if it is unknown."""
    number = number_of(files, path)
    return number if number is not None and number >= 0 else None


def caches_of(files: Files, cpus: list[Cpu]) -> list[Cache]:
    """Every cache once, by level; those without a size or sharers are left out."""
    found: dict[tuple[int, str, tuple[int, ...]], Cache] = {}
    room = _MOST_CACHES * len(cpus)
    for directory in _directories(files, _CACHE, "/level"):
        level = number_of(files, f"{directory}/level")
        kind = line_of(files, f"{directory}/type", 16)
        size = _SIZE.fullmatch(text_of(files, f"{directory}/size").strip())
        sharers = cpu_list_of(files, f"{directory}/shared_cpu_list")
        if level is None or not 0 < level < 10 or not kind or size is None or not sharers:
            continue
        key = (level, kind.lower(), tuple(sharers))
        if key not in found:
            room -= len(sharers)
            if room < 0:
                break
            found[key] = Cache(level, kind.lower(), int(size[1]) * _SCALE[size[2]], sharers)
    return sorted(found.values(), key=lambda cache: (cache.level, cache.kind, cache.shared_by))


def idle_states_of(files: Files) -> list[IdleState]:
    """The idle states of cpu0, shallowest first."""
    states = []
    for directory in _directories(files, _STATE, "/name"):
        name = line_of(files, f"{directory}/name", 32)
        if name:
            latency = _natural(files, f"{directory}/latency")
            states.append(IdleState(name, latency, number_of(files, f"{directory}/disable") == 1))
    return states


def _directories(files: Files, pattern: re.Pattern[str], suffix: str) -> list[str]:
    """The directories of the matching files, in the order of the numbers in their paths."""
    matches = [match for match in map(pattern.fullmatch, files) if match]
    matches.sort(key=lambda match: [int(number) for number in match.groups()])
    return [match[0].removesuffix(suffix) for match in matches]
