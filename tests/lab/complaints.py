# SPDX-License-Identifier: GPL-2.0-only
"""What a kernel says on its console of what it should not have met, above all a debug kernel."""

import re

_COMPLAINT = re.compile(
    r"^.*(?:WARNING: (?!nvram)|BUG: |INFO: |Oops|ODEBUG|Call Trace:|possible .*(?:lock|detected)|"
    r"inconsistent lock state|suspicious RCU|scheduling while atomic|[Uu]nable to handle|"
    r"turning off the locking correctness validator|Kernel panic).*$",
    re.MULTILINE,
)


def complaints(console: str, *, lockdep: bool = True) -> list[str]:
    """Its complaints, a line each. That lockdep ends is one: it hears nothing afterwards.

    Without `lockdep` the kernel need not have it.
    """
    assert not lockdep or "Lock dependency validator" in console, console[-2000:]
    return _COMPLAINT.findall(console)
