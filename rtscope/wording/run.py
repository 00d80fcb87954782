# SPDX-License-Identifier: GPL-2.0-only
"""Words about a run: its flaws, its method and its system."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from rtscope.model.quantity import quantity_of
from rtscope.model.run import Run
from rtscope.model.units import counted, format_duration_ns
from rtscope.statistics.metrics import Metrics, percent_name, stalls_of
from rtscope.statistics.work import work_per_second
from rtscope.wording.plain import plain
from rtscope.wording.reason import reason_text, stalls_text
from rtscope.wording.values import rate_text, span_text, thread_name

REPEAT_BOTH = "This compares these two runs only: repeat both, or use rtscope gate."
_NO_IDLE_LIMIT_NS: Final = 2_000_000_000_000
"""the kernel's value without a limit on the exit latency"""


def quantity_text(run: Run) -> str:
    """What the run's samples are, with their unit; each series by name where they differ."""
    by_quantity: dict[str, list[str]] = {}
    for thread in run.threads:
        names = by_quantity.setdefault(quantity_of(run.probe, thread.name), [])
        names += [plain(thread.name)] * (thread.name not in names)
    first, *others = by_quantity or [quantity_of(run.probe)]
    return "; ".join([first, *(f"{', '.join(by_quantity[one])}: {one}" for one in others)])


def caveats_of_all(labelled: Sequence[tuple[str, Run]]) -> list[str]:
    """The caveats of several runs, each once; with the labels of its runs where not all have it."""
    having: dict[str, list[str]] = {}
    for label, run in labelled:
        for text in dict.fromkeys(caveats(run)):
            having.setdefault(text, []).append(label)
    lines = []
    for text, labels in having.items():
        if len(labels) == len(labelled):
            lines.append(text)
        else:
            lines.append(f"{', '.join(labels)}: {text}")
    return lines


def tuning_text(run: Run) -> str:
    """How the machine was changed for a run; empty where it was not."""
    tuning = run.tuning
    if tuning is None:
        return ""
    cpus = f" for CPUs {tuning.cpus}" if tuning.cpus else ""
    missing = f", {len(tuning.exceptions):,} not" if tuning.exceptions else ""
    return plain(
        f"{tuning.name} (step {tuning.step} of {tuning.profile}{cpus}, round {tuning.round}): "
        f"{counted(tuning.held, 'change')} held{missing}"
    )


def idle_states_text(run: Run) -> str:
    """How idle states were limited while measuring; empty where it is not recorded."""
    idle = run.idle_states
    if idle is None:
        return ""
    asked = f"limit {format_duration_ns(idle.limit_ns)}" if idle.limit_ns else idle.mode
    if idle.effective_ns is None:
        return f"{asked} (limit in effect not known)"
    if idle.effective_ns >= _NO_IDLE_LIMIT_NS:
        return f"{asked} (no limit in effect)"
    return f"{asked} (exit latency at most {idle.effective_ns / 1000:g} us)"


def load_lines(run: Run) -> list[str]:
    """One line for each load: its name and its work per second."""
    lines = []
    for load in run.loads:
        rates = work_per_second(load)
        done = ", ".join(rate_text(unit, rate) for unit, rate in rates.items())
        strength = f" ×{load.strength}" if load.strength else ""
        lines.append(f"{plain(load.name)}{strength}: {done or 'work not counted'}")
    return lines


def phases_line(run: Run) -> str:
    """When the load came up and ended, around the samples; empty where there was no load."""
    if len(run.phases) < 2:
        return ""
    phases = [
        f"{plain(one.name)} {_moment(one.from_ns)} to {_moment(one.to_ns)}" for one in run.phases
    ]
    return "; ".join(phases)


def _moment(ns: int) -> str:
    return f"{'−' if ns < 0 else ''}{span_text(abs(ns))}" if ns else "0 s"


def caveats(run: Run) -> list[str]:
    """List the flaws of the run, then its warnings."""
    return flaws(run) + warnings_of(run)


def flaws(run: Run) -> list[str]:
    """Describe the flaws of this run: an early end, no samples, missed periods."""
    lines = []
    if run.status != "complete":
        lines.append(f"PARTIAL: {_how_it_ended(run)}")
    if not any(thread.count for thread in run.threads):
        if not run.matrices:
            lines.append("This run has no samples.")
    else:
        silent = [thread_name(thread) for thread in run.threads if not thread.count]
        if silent:
            lines.append(f"No sample came from {', '.join(silent)}.")
    if stalls := stalls_of(run.threads):
        lines.append(stalls_text(stalls))
    return lines


def warnings_of(run: Run) -> list[str]:
    """List warnings about the system and how it was measured; other runs may have the same."""
    lines = []
    if run.machine.high_resolution_timers is False:
        lines.append(
            "High-resolution timers were off: these latencies are those of the tick, "
            "not of the machine."
        )
    return lines + [plain(warning.text) for warning in run.warnings]


def warnings_of_all(runs: Sequence[Run]) -> list[str]:
    """List the warnings of several runs once each, with how many runs have it if not all do."""
    counts = Counter(text for run in runs for text in dict.fromkeys(warnings_of(run)))
    return [
        text if count == len(runs) else f"{text} ({count} of {len(runs)} runs)"
        for text, count in counts.items()
    ]


def _how_it_ended(run: Run) -> str:
    spans = [run.elapsed_ns, run.asked.duration_ns]
    lasted = f" after {span_text(spans[0])}" if spans[0] is not None else ""
    asked = f" of {span_text(spans[1])} asked" if spans[1] else ""
    ended = {
        "interrupted": "interrupted",
        "threshold": "stopped by a latency at the break threshold",
        "watchdog": "ended by the watchdog, because a measuring thread starved the machine",
        "failed": "measuring failed",
    }.get(run.status, run.status)
    return f"{ended}{lasted}{asked}."


def missing_lines(totals: Sequence[tuple[str, Metrics]]) -> list[str]:
    """Why the first quantile without a value has none, and the deeper ones neither.

    "all: p99.99: needs 100,000 samples, has 4,047"; names with the same reason share a line.
    """
    names_of: dict[str, list[str]] = {}
    for name, total in totals:
        missing = [quantile for quantile in total.quantiles if quantile.value_ns is None]
        if missing and total.count:
            why = reason_text(missing[0].reason) if missing[0].reason else ""
            reason = f"{percent_name(missing[0].percent)}: {why}"
            names_of.setdefault(reason, []).append(name)
    return [f"{', '.join(names)}: {reason}" for reason, names in names_of.items()]


def moment_text(run: Run, since_start_ns: int) -> str:
    """UTC time of something in the run, to the second where its start is not known better.

    Empty where its start is not known at all.
    """
    try:
        start = datetime.fromisoformat(run.created)
        moment = start.astimezone(UTC) + timedelta(microseconds=since_start_ns / 1000)
    except (ValueError, OverflowError):
        return ""
    if "." in run.created:
        return f"{moment:%Y-%m-%d %H:%M:%S.%f} UTC"
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"


def instructions_line(run: Run) -> str:
    """The metrics as the instructions that they are; empty where time did not count those."""
    if not (run.lab and run.lab.instructions):
        return ""
    counts = ", ".join(f"{name} {count:,.0f}" for name, count in run.lab.instructions.items())
    return f"in instructions: {counts} (at {run.lab.mips:g} million a second)"


def monotonic_text(run: Run, since_start_ns: int) -> str:
    """The same on CLOCK_MONOTONIC as the kernel's log and traces write it; empty if not known."""
    if run.start_monotonic_ns is None:
        return ""
    return f"{(run.start_monotonic_ns + since_start_ns) / 1e9:.6f}"


def preemption_text(run: Run) -> str:
    """rt (uname -v says PREEMPT_RT), or not known."""
    machine = run.machine
    if machine.preemption is None:
        return "not known"
    evidence = f" ({plain(machine.preemption_evidence)})" if machine.preemption_evidence else ""
    return f"{plain(machine.preemption)}{evidence}"
