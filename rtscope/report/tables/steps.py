# SPDX-License-Identifier: GPL-2.0-only
"""The steps of a tuning profile as a table."""

from collections.abc import Iterator

from rtscope.model.units import format_signed_ns
from rtscope.report.tables.column import Column
from rtscope.statistics.comparison import Effect, Row
from rtscope.statistics.steps import StepOnCpus, StepResult, Steps
from rtscope.wording.plain import plain
from rtscope.wording.steps import limits_text
from rtscope.wording.values import NOTHING, count_text, time_text

_EFFECTS: dict[Effect, str] = {
    "better": "better",
    "worse": "worse",
    "same": "no evidence",
    "untested": NOTHING,
}


def step_columns(steps: Steps) -> list[Column]:
    """A row for each step and set of CPUs: metrics over the rounds, and the effect of the step."""
    rows = list(_rows(steps))
    sides = [on for _, on in rows]
    columns = [
        Column("step", 0, [plain(result.name) for result, _ in rows], left=True),
        Column("CPUs", 1, [on.cpus or "any" for on in sides], left=True),
    ]
    rank = 2
    for place, name in _metrics_by_weight(sides[0]):
        title = "largest\nof a round" if name == "max" else "median" if name == "p50" else name
        found = [on.metrics[place] for on in sides]
        columns += [
            Column(title, rank, [time_text(row.b.value_ns) for row in found]),
            Column(f"{name}: since\nthe step before", rank + 1, [_change(row) for row in found]),
            Column(f"{name}:\n95 % limits", rank + 2, [limits_text(row) for row in found]),
            Column(f"{name}\nis", rank + 3, [_EFFECTS[row.effect] for row in found], left=True),
        ]
        rank += 4
    columns += [
        Column("device\ninterrupts/s", rank, [_rate(on.interrupts_per_s) for on in sides]),
        Column("switches/s", rank + 1, [_rate(on.switches_per_s) for on in sides]),
        Column("samples", rank + 2, [count_text(on.samples) for on in sides]),
        Column("missed", rank + 3, [count_text(on.missed) for on in sides]),
        Column("rounds", rank + 4, [count_text(result.rounds) for result, _ in rows]),
        Column("changes\nheld", rank + 5, [count_text(result.held) for result, _ in rows]),
    ]
    return [column for column in columns if any(str(cell) != NOTHING for cell in column.cells)]


def _rows(steps: Steps) -> Iterator[tuple[StepResult, StepOnCpus]]:
    for place in range(len(steps.results[0].on)):
        for result in steps.results:
            yield result, result.on[place]


def _metrics_by_weight(on: StepOnCpus) -> list[tuple[int, str]]:
    """Tail, largest, median: their places and names."""
    places = {row.metric: place for place, row in enumerate(on.metrics)}
    tails = [name for name in places if name not in ("p50", "max")]
    return [(places[name], name) for name in [*tails, "max", "p50"]]


def _change(row: Row) -> str:
    value = row.difference.value_ns
    return NOTHING if value is None else format_signed_ns(value)


def _rate(per_second: float | None) -> str:
    return NOTHING if per_second is None else f"{per_second:,.1f}"
