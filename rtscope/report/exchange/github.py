# SPDX-License-Identifier: GPL-2.0-only
"""Workflow commands of GitHub Actions, which become annotations, and the summary of a job."""

import re
from collections.abc import Sequence

from rtscope.report.exchange.case import Case
from rtscope.report.exchange.states import WORDS


def github_commands(cases: Sequence[Case]) -> bytes:
    """A command for each case that is not a success, a plain line for the others."""
    return "".join(f"{_line(case)}\n" for case in cases).encode()


def github_summary(cases: Sequence[Case]) -> bytes:
    """A table of all cases, in GitHub's Markdown."""
    lines = ["| case | state | reason |", "|---|---|---|"]
    lines += [
        f"| {_cell(case.name)} | {case.state} | {_cell(case.sentence)} |"
        for case in sorted(cases, key=lambda case: WORDS[case.state]["github"] == "plain line")
    ]
    return "\n".join(["### rtscope", "", *lines, "", ""]).encode()


def _line(case: Case) -> str:
    command = WORDS[case.state]["github"]
    if command == "plain line":  # the state is first: a name could look like a command
        return f"{case.state}: {case.name}: {case.sentence}"
    title = _escaped(case.name).replace(":", "%3A").replace(",", "%2C")
    return f"{command} title={title}::{_escaped(case.reason)}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25")


def _cell(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>#!|~&])", r"\\\1", text)
