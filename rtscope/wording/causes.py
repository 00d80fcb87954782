# SPDX-License-Identifier: GPL-2.0-only
"""The causes of late samples, in words."""

from typing import Final

from rtscope.model.cause import Cause, Ranking
from rtscope.model.run import Run
from rtscope.model.timeline import Remote, TermKind
from rtscope.model.units import counted
from rtscope.statistics.causes import rankings
from rtscope.tuning.remedies import remedy_of
from rtscope.wording.plain import plain
from rtscope.wording.values import time_text

_TERMS: Final[dict[TermKind, str]] = {
    "timer-late": "without the timer's interrupt while {name} ran",
    "idle-exit": "idle beyond the deadline",
    "hard-interrupt": "in the hard interrupt {name}",
    "soft-interrupt": "in the soft interrupt {name}",
    "nmi": "in a non-maskable interrupt",
    "thread": "in {name}, which has the same or a higher priority",
    "preemption-off": "in {name}, which has a lower priority: preemption was off",
    "lock": "while {name} waited for a lock",
    "migration": "moving to another CPU",
    "page-fault": "in page faults of the measuring thread",
    "switch": "from idle to the measuring thread",
    "own": "in the measuring thread itself",
    "unexplained": "unexplained",
}
_VERBS: Final[dict[TermKind, str]] = {"hard-interrupt": "sent", "lock": "held"}
"""what the other party did; it queued the work of all others"""
_LARGE: Final = 0.05
"""share of a cause that is worth a remedy"""
_MOST_REMEDIES: Final = 3


def term_text(kind: TermKind, name: str, function: str = "", remote: Remote | None = None) -> str:
    """What the CPU did in a term: in the hard interrupt local_timer."""
    if kind == "idle-exit" and name:
        text = f"idle beyond the deadline, in {plain(name)}"
    else:
        shown = plain(name) or ("the measuring thread" if kind == "lock" else "")
        text = _TERMS[kind].format(name=shown)
    return f"{text}{_function(kind, name, function)}{_party(kind, remote)}"


def _function(kind: TermKind, thread: str, function: str) -> str:
    if not function:
        return ""
    name = plain(function)
    if kind == "hard-interrupt":
        return f", which called {name}"
    if kind in {"timer-late", "preemption-off"} and not thread.startswith("kworker"):
        return f": {name} disabled {'interrupts' if kind == 'timer-late' else 'preemption'}"
    return f", executing {name}"


def _party(kind: TermKind, remote: Remote | None) -> str:
    if remote is None:
        return ""
    where = "" if remote.cpu is None else f" on CPU {remote.cpu}"
    site = f" in {plain(remote.site)}" if remote.site else ""
    doubt = "" if remote.certain else "probably "
    return f", {doubt}{_VERBS.get(kind, 'queued')} by {plain(remote.task)}{where}{site}"


def cause_text(cause: Cause) -> str:
    """A cause: in the hard interrupt eth0."""
    return term_text(cause.kind, cause.name, cause.function, cause.remote)


def shown_rankings(run: Run) -> list[Ranking]:
    """The rankings of a run; only that of the tail where both are of the same samples."""
    found = rankings(run)
    return found[1:] if len(found) > 1 and found[0].explained == found[1].explained else found


def ranking_title(ranking: Ranking) -> str:
    """Which samples a ranking is of."""
    if ranking.above_ns is None:
        return f"Causes of the {counted(ranking.explained, 'explained sample')}"
    if ranking.explained == ranking.samples:
        return (
            f"Causes of the whole tail: all {counted(ranking.samples, 'sample')} above p99 "
            f"({time_text(ranking.above_ns)})"
        )
    return (
        f"Causes of the tail: {ranking.explained} of {counted(ranking.samples, 'sample')} above "
        f"p99 ({time_text(ranking.above_ns)}), the worst ones"
    )


def ranking_note(ranking: Ranking) -> str:
    """What the last columns of a ranking mean."""
    deep = f" and its p99.99 of {time_text(ranking.p9999_ns)}" if ranking.p9999_ns else ""
    return (
        f"Without a cause, the run's maximum of {time_text(ranking.max_ns)}{deep} would be at most "
        "as shown. That is arithmetic: another cause may take its place."
    )


def remedy_lines(ranking: Ranking) -> list[str]:
    """What addresses each large cause."""
    lines = []
    for number, cause in enumerate(ranking.causes, 1):
        remedy = remedy_of(cause)
        if cause.share < _LARGE or not (remedy.rules or remedy.step):
            continue
        proof = f"; to test a remedy: rtscope prove {number}" if remedy.step else ""
        lines.append(f"cause {number}: see rtscope check, {', '.join(remedy.rules)}{proof}")
    return lines[:_MOST_REMEDIES]
