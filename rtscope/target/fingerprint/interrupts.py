# SPDX-License-Identifier: GPL-2.0-only
"""Interrupt lines with a handler, and their allowed CPUs."""

import re
from typing import Final

from rtscope.model.cpulist import format_cpu_list
from rtscope.model.machine import Interrupt
from rtscope.target.fingerprint.files import Files, clean, cpu_list_of, line_of, text_of

_AFFINITY: Final = re.compile(r"/proc/irq/([0-9]{1,6})/smp_affinity_list")
_ROW: Final = re.compile(r"\s*([0-9]{1,6}):((?:\s+[0-9]+)*)\s+(\S.*)")
_TRIGGER: Final = re.compile(r".*(?:\b|-)(?:edge|level|fasteoi)", re.IGNORECASE)
_MOST: Final = 1024


def interrupts_of(files: Files) -> list[Interrupt]:
    """By number, at most 1024; lines without a handler are left out."""
    names = _names_of_table(text_of(files, "/proc/interrupts"))
    interrupts = []
    for number in sorted(int(m[1]) for m in map(_AFFINITY.fullmatch, files) if m):
        actions = f"/sys/kernel/irq/{number}/actions"
        name = line_of(files, actions, 128) if actions in files else names.get(number)
        cpus = cpu_list_of(files, f"/proc/irq/{number}/smp_affinity_list")
        if name and cpus:
            interrupts.append(Interrupt(number, name, format_cpu_list(cpus)))
    return interrupts[:_MOST]


def _names_of_table(text: str) -> dict[int, str]:
    """Handlers by interrupt, from the last column of /proc/interrupts."""
    names = {}
    for row in map(_ROW.fullmatch, text.splitlines()):
        columns = re.split(r"\s{2,}", row[3].strip()) if row else []
        name = clean(columns[-1], 128) if len(columns) > 1 else None
        if row and name and not _TRIGGER.fullmatch(name):
            names[int(row[1])] = name
    return names
