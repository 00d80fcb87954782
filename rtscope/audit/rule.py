# SPDX-License-Identifier: GPL-2.0-only
"""A rule: what should be, and how to see that it is not."""

from collections.abc import Callable
from typing import Final

import msgspec

from rtscope.audit.state import State
from rtscope.model.audit import Severity

ADMIN: Final = "https://docs.kernel.org/admin-guide/"
CONFIGURATION: Final = "https://docs.kernel.org/core-api/real-time/kernel-configuration.html"
PARAMETERS: Final = ADMIN + "kernel-parameters.html"
SYSCTL_KERNEL: Final = ADMIN + "sysctl/kernel.html"
SYSCTL_VM: Final = ADMIN + "sysctl/vm.html"

INTERRUPTS_AWAY: Final = 'interrupts = { away = "{cpus}" }'
TASKS_AWAY: Final = 'tasks = { away = "{cpus}" }'
PARTITION: Final = 'partition = { cpus = "{cpus}" }'


def file_line(path: str, value: str) -> str:
    """The line of a profile that writes a value to each file of this pattern."""
    return f'file = [{{ path = "{path}", value = "{value}" }}]'


def thread_line(name: str, *, priority: int = 0) -> str:
    """The line of a profile that gives the kernel's threads of this pattern a priority: 0 for the
    ordinary policy."""
    given = f'policy = "fifo", priority = {priority}' if priority else 'policy = "other"'
    return f'thread = [{{ name = "{name}", of = "kernel", {given} }}]'


def boot_line(parameters: str) -> str:
    """The line of a profile that adds to the kernel's command line."""
    return f'boot = {{ add = "{parameters}" }}'


class Rule(msgspec.Struct, frozen=True):
    """One rule of the audit."""

    id: str
    severity: Severity
    wanted: str
    why: str
    how: str
    link: str
    look: Callable[[State], str | None]
    """What is, in words, where it is not as it should be; None where it is. Raises NotSeen where
    what it looks at cannot be read."""
    profile: str = ""
    """What changes it as a line of a step in a profile of `rtscope tune`; empty where none can."""
