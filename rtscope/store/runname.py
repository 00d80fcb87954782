# SPDX-License-Identifier: GPL-2.0-only
"""Names of runs within a store: an id, its first digits, last, or last~2."""

import re
from collections.abc import Sequence
from typing import Final

from rtscope.model.errors import RtscopeError

MOST_SHOWN: Final = 10
"""ids that a message lists where a name stands for several runs"""


def parse_name(name: str) -> int | str:
    """The number of later runs for last and last~2; else the first digits of an id.

    Raises RtscopeError.
    """
    last = re.fullmatch(r"last(?:~([0-9]{1,9}))?", name, re.ASCII)
    if last:
        return int(last[1] or 0)
    prefix = name.lower()
    if not 1 <= len(prefix) <= 16 or not set(prefix) <= set("0123456789abcdef"):
        raise RtscopeError(
            f"{name[:80]!r} names no run: give the first digits of its id, which rtscope list "
            "shows, or 'last', or 'last~1' for the one before"
        )
    return prefix


def the_one(name: str, rows: Sequence[tuple[str, str, str, str]]) -> str:
    """The id of the one run in `rows`, of id, start, probe and load, that `name` stands for.

    A store passes at most MOST_SHOWN + 1 rows. Raises RtscopeError where there is none, or several.
    """
    if len(rows) == 1:
        return rows[0][0]
    if not rows and isinstance(parse_name(name), int):
        raise RtscopeError(f"the store has no run '{name}': rtscope list shows what it has")
    prefix = name.lower()
    if not rows:
        raise RtscopeError(f"no run's id begins with '{prefix}': rtscope list shows the runs")
    first = rows[:MOST_SHOWN]
    shown = ", ".join(f"{id_} ({probe} {load}, {at})" for id_, at, probe, load in first)
    more = " and more" if len(rows) > MOST_SHOWN else ""
    raise RtscopeError(f"'{prefix}' is the beginning of several runs' ids: {shown}{more}")
