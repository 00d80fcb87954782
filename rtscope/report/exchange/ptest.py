# SPDX-License-Identifier: GPL-2.0-only
"""The lines of a ptest, a package's tests in the Yocto Project, which ptest-runner logs.

A ptest has no other results than PASS, FAIL and SKIP. The log parser of OpenEmbedded ends a name
at `#`, and that of a failed test at a parenthesis, so names have `_` and brackets instead.
"""

from collections.abc import Sequence
from typing import Final

from rtscope.report.exchange.case import Case
from rtscope.report.exchange.states import WORDS

_PLAIN: Final = str.maketrans("()#", "[]_")


def ptest_report(cases: Sequence[Case]) -> bytes:
    """A line for each case, behind one with its reason."""
    lines = []
    for case in cases:
        lines.append(f"# {case.reason}")
        lines.append(f"{WORDS[case.state]['ptest']}: {case.name.translate(_PLAIN)}")
    return "".join(f"{line}\n" for line in lines).encode()
