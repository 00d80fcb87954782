# SPDX-License-Identifier: GPL-2.0-only
"""What each state of a case is called in each format: the only place that decides it.

The table of docs/reference/formats.md is written from here by `python -m
rtscope.report.exchange.states`. No state but pass and measured may look like a success to a program
that reads the format: some of them sum up a file by its worst case, so the words were also chosen
by their rank.
"""

import re
import sys
from pathlib import Path
from typing import Final, Literal, get_args

Format = Literal["junit", "tap", "kcidb", "lava", "ptest", "github", "gitlab", "prometheus"]
State = Literal[
    "pass",
    "measured",
    "fail",
    "inconclusive",
    "agent failed",
    "boot failed",
    "not applicable",
    "not begun",
]

FORMATS: Final[tuple[Format, ...]] = get_args(Format)
# fmt: off
_WORDS: Final[dict[State, tuple[str, ...]]] = {
    "pass": (
        "passed", "ok", "PASS", "pass",
        "PASS", "plain line", "no finding", "pass",
    ),
    "measured": (
        "passed", "ok", "DONE", "pass",
        "PASS", "plain line", "no finding", "measured",
    ),
    "fail": (
        "failure", "not ok", "FAIL", "fail",
        "FAIL", "::error", "critical", "fail",
    ),
    "inconclusive": (
        "failure", "not ok", "ERROR", "unknown",
        "FAIL", "::warning", "major", "inconclusive",
    ),
    "agent failed": (
        "error", "not ok", "ERROR", "fail",
        "FAIL", "::error", "blocker", "agent_failed",
    ),
    "boot failed": (
        "error", "not ok", "MISS", "fail",
        "FAIL", "::error", "blocker", "boot_failed",
    ),
    "not applicable": (
        "skipped", "ok # SKIP", "SKIP", "skip",
        "SKIP", "::notice", "info", "not_applicable",
    ),
    "not begun": (
        "skipped", "not ok", "MISS", "unknown",
        "FAIL", "::warning", "major", "not_begun",
    ),
}
# fmt: on
"""in the order of FORMATS"""
WORDS: Final[dict[State, dict[Format, str]]] = {
    state: dict(zip(FORMATS, words, strict=True)) for state, words in _WORDS.items()
}
_BEGIN: Final = "<!-- states: written by make docs -->\n"
_END: Final = "<!-- end of states -->"


def states_table() -> str:
    """The mapping as a table of Markdown."""
    rows = [("state", *FORMATS), ("---",) * (1 + len(FORMATS))]
    rows += [(state, *words) for state, words in _WORDS.items()]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines) + "\n"


def with_table(page: str) -> str:
    """The page with the table between its comments."""
    pattern = re.compile(f"(?<={re.escape(_BEGIN)}).*?(?={re.escape(_END)})", re.DOTALL)
    return pattern.sub(lambda _: states_table(), page)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        file = Path(name)
        file.write_text(with_table(file.read_text()))
