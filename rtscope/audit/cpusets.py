# SPDX-License-Identifier: GPL-2.0-only
"""Control groups with their own CPUs.

Version 2 has partitions; version 1 has sets without load balancing. The kernel's pages are
Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/cpusets.rst.
"""

import re
from typing import Final

import msgspec

from rtscope.target.fingerprint.files import Files, clean, cpu_list_of, number_of, text_of

ROOT: Final = "/sys/fs/cgroup"
SETS: Final = f"{ROOT}/cpuset"
_PARTITION: Final = re.compile(rf"({ROOT}/.+)/cpuset\.cpus\.partition", re.DOTALL)
_SET: Final = re.compile(rf"({SETS}(?:/.+)?)/cpuset\.sched_load_balance", re.DOTALL)
_INVALID: Final = re.compile(r"(root|isolated) invalid(?: \((.*)\))?")


class Partition(msgspec.Struct, frozen=True):
    """A group of version 2 that is the root of a partition, valid or not."""

    path: str
    kind: str
    """root or isolated; a plain group is a member"""
    valid: bool
    why: str
    """the kernel's reason if it is not valid"""
    cpus: frozenset[int]


class CpuSet(msgspec.Struct, frozen=True):
    """A group of version 1."""

    path: str
    cpus: frozenset[int]
    balanced: bool
    exclusive: bool


def partitions_of(files: Files) -> list[Partition]:
    """The partitions, valid or not, by their paths."""
    found = []
    for match in filter(None, map(_PARTITION.fullmatch, sorted(files))):
        text = clean(text_of(files, match[0])) or ""
        invalid = _INVALID.fullmatch(text)
        if invalid or text in ("root", "isolated"):
            cpus = frozenset(cpu_list_of(files, f"{match[1]}/cpuset.cpus.effective") or ())
            kind, why = (invalid[1], invalid[2] or "") if invalid else (text, "")
            found.append(Partition(match[1], kind, not invalid, why, cpus))
    return found


def cpusets_of(files: Files) -> list[CpuSet]:
    """Version 1's sets by their paths, their root first."""
    found = []
    for match in filter(None, map(_SET.fullmatch, sorted(files))):
        cpus = frozenset(cpu_list_of(files, f"{match[1]}/cpuset.cpus") or ())
        exclusive = number_of(files, f"{match[1]}/cpuset.cpu_exclusive") == 1
        found.append(CpuSet(match[1], cpus, number_of(files, match[0]) != 0, exclusive))
    return found


def balanced_cpus(sets: list[CpuSet]) -> set[int]:
    """The CPUs between which the scheduler moves threads (generate_sched_domains() of the
    kernel's)."""
    return {cpu for one in sets if one.balanced for cpu in one.cpus}


def isolated_by_cpusets(files: Files) -> set[int]:
    """The CPUs that control groups have isolated since the boot."""
    listed = cpu_list_of(files, f"{ROOT}/cpuset.cpus.isolated")
    found = set(listed or ())
    if listed is None:  # before Linux 6.7
        for partition in partitions_of(files):
            if partition.valid and partition.kind == "isolated":
                found |= partition.cpus
    sets = cpusets_of(files)
    if sets and not sets[0].balanced and sets[0].path == SETS:
        found |= sets[0].cpus - balanced_cpus(sets)
    return found
