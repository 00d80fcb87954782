"""What a debug kernel says on its console of what it should not have met."""

import re

_COMPLAINT = re.compile(
    r"^.*(?:WARNING: (?!nvram)|BUG: |INFO: |Oops|ODEBUG|Call Trace:|possible .*(?:lock|detected)|"
    r"inconsistent lock state|suspicious RCU|scheduling while atomic|[Uu]nable to handle|"
    r"turning off the locking correctness validator|Kernel panic).*$",
    re.MULTILINE,
)


def complaints(console: str) -> list[str]:
    """Its complaints, a line each. That lockdep ends is one: it hears nothing afterwards."""
    assert "Lock dependency validator" in console, console[-2000:]
    return _COMPLAINT.findall(console)
