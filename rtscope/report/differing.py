# SPDX-License-Identifier: GPL-2.0-only
"""Which CPUs of a run differ from the rest, in words."""

from rtscope.model.cpulist import cpus_named
from rtscope.model.run import Run
from rtscope.model.units import format_ns
from rtscope.report.words import thread_name
from rtscope.statistics.differing import SMALLEST_DIFFERENCE, Different, Spread, spread_of
from rtscope.statistics.finding import Finding


def differing(run: Run) -> list[Finding]:
    """A sentence each, and what is not known of the others; empty for a single CPU."""
    spread = spread_of(run)
    if spread is None:
        return []
    found = [Finding(_sentence(spread, one), cpu=one.thread.cpu) for one in spread.different]
    apart = f"by {SMALLEST_DIFFERENCE * 100:g} % or more"
    if unsure := [one.cpu for one in spread.undecided if one.cpu is not None]:
        found.append(
            Finding(
                f"too few data to say whether {cpus_named(unsure)} "
                f"{'differ' if unsure[1:] else 'differs'} {apart} from "
                f"{thread_name(spread.middle)}: measure for longer"
            )
        )
    alike = spread.tested - len(spread.different) - len(spread.undecided)
    if alike:
        who = "the other CPUs differ" if alike > 1 else "the other CPU differs"
        if not found:
            who = "the CPUs differ" if alike > 1 else "the two CPUs differ"
        found.append(Finding(f"no evidence that {who} {apart}"))
    return found


def _sentence(spread: Spread, one: Different) -> str:
    row = one.row
    figure = "median" if row.figure == "p50" else row.figure
    own, middle = (format_ns(side.value_ns or 0) for side in (row.b, row.a))
    which = ", which is in the middle," if spread.tested > 1 else ""
    return (
        f"{thread_name(one.thread)} differs: its {figure} is {own}, that of "
        f"{thread_name(spread.middle)}{which} {middle}"
    )
