# SPDX-License-Identifier: GPL-2.0-only
"""The formats of --emit that are made of cases, and what writes each."""

from collections.abc import Callable, Sequence
from typing import Final

from rtscope.report.exchange.case import Case
from rtscope.report.exchange.github import github_commands
from rtscope.report.exchange.gitlab import gitlab_report
from rtscope.report.exchange.kcidb import kcidb_report
from rtscope.report.exchange.lava import lava_signals
from rtscope.report.exchange.prometheus import prometheus_metrics
from rtscope.report.exchange.ptest import ptest_report
from rtscope.report.exchange.states import Format
from rtscope.report.exchange.tap import tap_report

LINES: Final[frozenset[Format]] = frozenset({"lava", "ptest", "github"})
"""formats of single lines, which their reader finds among other output"""
WRITERS: Final[dict[Format, Callable[[Sequence[Case]], bytes]]] = {
    "tap": tap_report,
    "kcidb": kcidb_report,
    "lava": lava_signals,
    "ptest": ptest_report,
    "github": github_commands,
    "gitlab": gitlab_report,
    "prometheus": prometheus_metrics,
}
"""of all but junit, which has cases of its own (junit.py)"""
