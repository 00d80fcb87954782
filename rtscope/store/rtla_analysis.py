# SPDX-License-Identifier: GPL-2.0-only
"""Import of the auto-analysis that rtla timerlat prints (--auto, or an old trace of it).

Each CPU that "hit stop tracing" is one late sample. rtla prints durations, not when they were, and
only of that CPU, so the ledger has its terms and there is no timeline. What rtla does not attribute
is unexplained.
"""

import re
from typing import Final

from rtscope.model.errors import RtscopeError
from rtscope.model.histogram import Histogram
from rtscope.model.machine import Machine
from rtscope.model.run import Run, Sample, Thread
from rtscope.model.timeline import Explanation, LedgerTerm, TermKind
from rtscope.model.units import LONGEST_NS
from rtscope.store.foreign import import_id, read_text
from rtscope.store.rtla import TOOL
from rtscope.store.runfile import check_run

HIT: Final = re.compile(r"^\s*## CPU (\d{1,5}) hit stop tracing, analyzing it ##", re.MULTILINE)

_US: Final = r"([0-9]{1,12}\.[0-9]{2}) us"
_LINE: Final = re.compile(
    rf"^\s*(?P<what>[A-Za-z][\w ]{{2,40}}?)(?P<idle>\s*:?\s*\(exit from idle\))?:?\s+{_US}"
)
_PART: Final = re.compile(rf"^\s*(?P<name>\S.{{0,60}}?):(?P<number>-?\d{{1,10}})\s+{_US}")
_TOTAL: Final = re.compile(rf"^\s*(IRQ|Thread) latency:\s+{_US} \(100\s*%\)", re.MULTILINE)
_FRAME: Final = re.compile(r"^\s*-> (\S{1,200})")
_KINDS: Final[dict[str, TermKind]] = {
    "IRQ handler delay": "timer-late",
    "Timerlat IRQ duration": "hard-interrupt",
    "NMI interference": "nmi",
}
_PARTS: Final[dict[str, TermKind]] = {
    "Blocking thread": "preemption-off",
    "IRQ interference": "hard-interrupt",
    "Softirq interference": "soft-interrupt",
    "Thread interference": "thread",
}
_INTERRUPT_ENDS: Final = re.compile(
    r"timerlat_irq|__hrtimer_run_queues|hrtimer_interrupt|(__|asm_)?sysvec_\w+|\w+_interrupt"
)
"""functions at the top of a stack that are the timer's own interrupt"""


def parse(data: bytes, created: str) -> list[Run]:
    """Read the analyses of a text: one run with a sample for each CPU. Raises RtscopeError."""
    text = read_text(data, TOOL)
    found = list(HIT.finditer(text))
    if not found:
        raise RtscopeError(
            "this text has no line '## CPU 3 hit stop tracing, analyzing it ##' of rtla timerlat"
        )
    ends = [*(one.start() for one in found[1:]), len(text)]
    explanations = [
        (int(one[1]), _explanation(place, text[one.end() : end]))
        for place, (one, end) in enumerate(zip(found, ends, strict=True))
    ]
    run = Run(
        id=import_id(data, "timerlat-analysis"),
        created=created,
        probe="timerlat-analysis",
        status="threshold",
        load="unknown",
        machine=Machine(),
        threads=[
            _thread(place, cpu, one.latency_ns) for place, (cpu, one) in enumerate(explanations)
        ],
        source=TOOL,
        explanations=sorted((one for _, one in explanations), key=lambda one: -one.latency_ns),
    )
    check_run(run)
    return [run]


def _thread(place: int, cpu: int, ns: int) -> Thread:
    return Thread(
        place, cpu, "unknown", 0, 1, Histogram.of([ns]), ns, ns, float(ns), 0.0,
        missed=None, worst=[Sample(0, ns, cpu)],
    )  # fmt: skip


def _ns(us: str) -> int:
    return min(round(float(us) * 1000), LONGEST_NS)


def _explanation(place: int, text: str) -> Explanation:
    """The ledger of one CPU."""
    total = _TOTAL.search(text)
    if total is None:
        raise RtscopeError(
            "this analysis of rtla timerlat is cut: the line 'Thread latency: ... us (100%)' of "
            "one CPU is missing"
        )
    latency_ns = _ns(total[2])
    terms: list[LedgerTerm] = []
    blocking = ""
    section: TermKind | None = None
    site = ""
    for line in text[: total.start()].splitlines():
        if frame := _FRAME.match(line):
            if not site and not _INTERRUPT_ENDS.fullmatch(frame[1]):
                site = frame[1]
        elif named := _LINE.match(line):
            what = named["what"].strip()
            section = _PARTS.get(what)
            if what in _KINDS:
                kind = "idle-exit" if named["idle"] else _KINDS[what]
                name = "timerlat" if what == "Timerlat IRQ duration" else ""
                terms.append(LedgerTerm(kind, name, _ns(named[3])))
        elif line.strip() == "Blocking thread:":
            section = "timer-late"
        elif section and (part := _PART.match(line)):
            name = _part_name(section, part["name"], part["number"])
            blocking = blocking or (name if section == "preemption-off" else "")
            terms.append(LedgerTerm(section, name, _ns(part[3])))
        elif section == "timer-late" and line.strip():
            blocking = "/".join(line.strip().rsplit(":", 1))
    named_terms = [_named(term, blocking, site) for term in terms if term.ns]
    return Explanation(
        thread=place,
        time_ns=0,
        latency_ns=latency_ns,
        source="the auto-analysis of rtla timerlat",
        ledger=_summed(named_terms, latency_ns),
        notes=["rtla prints durations of one CPU: there is no timeline, and no sender"],
    )


def _part_name(section: TermKind, name: str, number: str) -> str:
    return f"{name}/{number}" if section in {"preemption-off", "thread"} else name


def _named(term: LedgerTerm, blocking: str, site: str) -> LedgerTerm:
    """The delay of the interrupt is while the blocking thread ran, where the stack begins."""
    if term.kind == "timer-late":
        return LedgerTerm(term.kind, blocking, term.ns, function=site)
    return term


def _summed(terms: list[LedgerTerm], latency_ns: int) -> list[LedgerTerm]:
    """The terms with what is missing to the latency; where they exceed it, the last are cut."""
    left = latency_ns
    kept = []
    for term in sorted(terms, key=lambda one: -one.ns):
        ns = min(term.ns, left)
        if ns:
            kept.append(LedgerTerm(term.kind, term.name, ns, function=term.function))
        left -= ns
    if left:
        kept.append(LedgerTerm("unexplained", "", left))
    return sorted(kept, key=lambda one: -one.ns)
