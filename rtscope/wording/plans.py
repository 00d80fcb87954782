# SPDX-License-Identifier: GPL-2.0-only
"""The ranges of numbers in the tables of docs/reference/plans.md.

python -m rtscope.wording.plans PAGE... writes them into these pages anew.
"""

import re
import sys
from pathlib import Path
from typing import Final

from rtscope.engine.planranges import number_ranges

_ROW: Final = re.compile(r"^(\| `(?P<key>[a-z_]+)` \| )number[^|]*(?= \|)", re.MULTILINE)


def with_ranges(page: str) -> str:
    """Return a page with the range of each key that is a number."""

    def written(row: re.Match[str]) -> str:
        known = number_ranges().get(row["key"])
        return row[1] + known.words("number") if known else row[0]

    return _ROW.sub(written, page)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        path = Path(name)
        path.write_text(with_ranges(path.read_text()))
