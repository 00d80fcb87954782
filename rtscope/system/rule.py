"""A rule: what should be, and how to see that it is not."""

from collections.abc import Callable
from typing import Final

import msgspec

from rtscope.model.audit import Severity
from rtscope.system.state import State

ADMIN: Final = "https://docs.kernel.org/admin-guide/"
CONFIGURATION: Final = "https://docs.kernel.org/core-api/real-time/kernel-configuration.html"
PARAMETERS: Final = ADMIN + "kernel-parameters.html"
SYSCTL_KERNEL: Final = ADMIN + "sysctl/kernel.html"
SYSCTL_VM: Final = ADMIN + "sysctl/vm.html"


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
