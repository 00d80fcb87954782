# SPDX-License-Identifier: GPL-2.0-only
"""The formats of --emit that are made of cases, and what writes each."""

from collections.abc import Callable, Sequence
from typing import Final, get_args

from rtscope.report.exchange.case import Case
from rtscope.report.exchange.states import Format
from rtscope.report.exchange.tap import tap_report

FORMATS: Final[tuple[Format, ...]] = get_args(Format)
LINES: Final[frozenset[Format]] = frozenset()
"""formats of single lines, which their reader finds among other output"""
WRITERS: Final[dict[Format, Callable[[Sequence[Case]], bytes]]] = {
    "tap": tap_report,
}
"""of all but junit, which has cases of its own (junit.py)"""
