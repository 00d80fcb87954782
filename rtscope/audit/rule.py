# SPDX-License-Identifier: GPL-2.0-only
"""A rule: the expected state, and a check for deviations."""

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
    """The line of a profile that gives the kernel's threads of this pattern a priority; 0 is the
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
    check: Callable[[State], str | None]
    """Describe the deviation; None if there is none. Raises NotSeen if the files cannot be read."""
    profile: str = ""
    """The change as a line of a step in a profile of `rtscope tune`; empty if there is none."""
