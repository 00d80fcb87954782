# SPDX-License-Identifier: GPL-2.0-only
"""TAP version 13 (testanything.org), which test harnesses such as prove(1) read.

The reason stands in a comment behind its case. Readers differ in whether they know the escapes of
`#` and of the backslash, so a name has neither. An inconclusive case is not marked TODO, because
harnesses count a failed TODO as passed.
"""

import re
from collections.abc import Sequence

from rtscope.report.exchange.case import Case
from rtscope.report.exchange.states import WORDS


def tap_report(cases: Sequence[Case]) -> bytes:
    """The document."""
    lines = ["TAP version 13", f"1..{len(cases)}"]
    for number, case in enumerate(cases, 1):
        word, _, directive = WORDS[case.state]["tap"].partition(" # ")
        name = re.sub(r"[#\\]", "_", case.name)
        lines.append(f"{word} {number} - {name}{f' # {directive}' if directive else ''}")
        lines.append(f"# {case.reason}")
    return "\n".join([*lines, ""]).encode()
