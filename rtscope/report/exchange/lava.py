# SPDX-License-Identifier: GPL-2.0-only
"""Signals of LAVA: lines on the console of a test shell, each the result of one test case.

The dispatcher splits a signal at blanks and each part at its `=`, and ends it at `>`, so a name has
only letters, digits and `_.-`. It calls a result pass, fail, skip or unknown. A value is its
measurement, a time in microseconds.
"""

import re
from collections.abc import Sequence

from rtscope.report.exchange.case import Case
from rtscope.report.exchange.states import WORDS


def lava_signals(cases: Sequence[Case]) -> bytes:
    """A line for each case, behind one with its reason."""
    lines = []
    seen: set[str] = set()
    for case in cases:
        name = name_of_signal(case.name)
        number = 1
        while name in seen:
            number += 1
            name = f"{name_of_signal(case.name)}-{number}"
        seen.add(name)
        result = WORDS[case.state]["lava"]
        lines.append(f"{name}: {re.sub('<(?=LAVA)', '_', case.reason)}")
        signal = f"TEST_CASE_ID={name} RESULT={result}{_measurement(case)}"
        lines.append(f"<LAVA_SIGNAL_TESTCASE {signal}>")
    return "".join(f"{line}\n" for line in lines).encode()


def name_of_signal(name: str) -> str:
    """cyclic-idle-p99-le-50us."""
    for sign, word in (("<=", "-le-"), ("<", "-lt-")):
        name = name.replace(sign, word)
    return re.sub("[^A-Za-z0-9_.]+", "-", name).strip("-") or "case"


def _measurement(case: Case) -> str:
    if case.value is None:
        return ""
    if case.in_ns:
        return f" MEASUREMENT={case.value / 1000:.3f} UNITS=us"
    return f" MEASUREMENT={case.value:.12g} UNITS=1"
