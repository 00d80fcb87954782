# SPDX-License-Identifier: GPL-2.0-only
"""What each state of a case is called in each format: the only place that decides it.

The table of docs/formats.md is written from here by `python -m rtscope.report.exchange.states`. No
state but pass and measured may look like a success to a program that reads the format: some of them
sum up a file by its worst case, so the words were also chosen by their rank.
"""

import re
import sys
from pathlib import Path
from typing import Final, Literal

Format = Literal["junit", "tap"]
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

WORDS: Final[dict[State, dict[Format, str]]] = {
    "pass": {"junit": "passed", "tap": "ok"},
    "measured": {"junit": "passed", "tap": "ok"},
    "fail": {"junit": "failure", "tap": "not ok"},
    "inconclusive": {"junit": "failure", "tap": "not ok"},
    "agent failed": {"junit": "error", "tap": "not ok"},
    "boot failed": {"junit": "error", "tap": "not ok"},
    "not applicable": {"junit": "skipped", "tap": "ok # SKIP"},
    "not begun": {"junit": "skipped", "tap": "not ok"},
}
_BEGIN: Final = "<!-- states: written by make docs -->\n"
_END: Final = "<!-- end of states -->"


def states_table() -> str:
    """The mapping as a table of Markdown."""
    formats = list(WORDS["pass"])
    lines = [f"| state | {' | '.join(formats)} |", "|---" * (len(formats) + 1) + "|"]
    lines += [
        f"| {state} | {' | '.join(words[one] for one in formats)} |"
        for state, words in WORDS.items()
    ]
    return "\n".join(lines) + "\n"


def with_table(page: str) -> str:
    """The page with the table between its comments."""
    pattern = re.compile(f"(?<={re.escape(_BEGIN)}).*?(?={re.escape(_END)})", re.DOTALL)
    return pattern.sub(lambda _: states_table(), page)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        file = Path(name)
        file.write_text(with_table(file.read_text()))
