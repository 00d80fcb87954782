# SPDX-License-Identifier: GPL-2.0-only
"""The bounds of a run's tails on the terminal."""

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.text import Text

from rtscope.model.run import Run
from rtscope.report.tables.column import Column
from rtscope.report.terminal.table import fitted
from rtscope.statistics.tail.bounds import PERIODS_S, ThreadTail
from rtscope.wording.tail import (
    ASSUMPTIONS,
    blocks_sentence,
    disagreement,
    evidence_sentence,
    level_text,
    refusal,
    shape_sentence,
    test_text,
)
from rtscope.wording.values import NOTHING, thread_name, time_text


@dataclass
class TailView:
    """Renders itself to the width it gets."""

    run: Run
    tails: list[ThreadTail]
    details: bool = False

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Rich's protocol."""
        names = [thread_name(thread) for thread in self.run.threads]
        bounded = [
            (name, tail.max_ns, tail.fitted)
            for name, tail in zip(names, self.tails, strict=True)
            if tail.fitted
        ]
        if bounded:
            yield Text(
                "Latency that is reached once in this time of this load, with 95 % limits; it is "
                "no worst case"
            )
            columns = [
                Column("", 0, [name for name, _, _ in bounded], left=True),
                Column("measured max", 0, [time_text(largest) for _, largest, _ in bounded]),
            ]
            for rank, period in enumerate(PERIODS_S):
                levels = [
                    [level_text(level) for level in one.levels if level.period == period]
                    for _, _, one in bounded
                ]
                cells = [found[0] if found else NOTHING for found in levels]
                columns.append(Column(period, len(PERIODS_S) - 1 - rank, [*cells]))
            yield fitted(columns, options.max_width)
        for name, tail in zip(names, self.tails, strict=True):
            if tail.fitted:
                yield Text(f"{name}: {shape_sentence(tail.fitted)}")
                yield Text(evidence_sentence(tail.fitted), style="dim")
                if warning := disagreement(tail.fitted):
                    yield Text.assemble(("! ", "bold yellow"), warning)
                elif self.details and tail.fitted.by_blocks:
                    yield Text(blocks_sentence(tail.fitted))
            else:
                yield Text.assemble((f"{name}: no bound: ", "bold yellow"), refusal(tail))
            if self.details:
                yield from _details(tail, options.max_width)


def _details(tail: ThreadTail, width: int) -> Iterator[RenderableType]:
    columns = [
        Column("test", 0, [ASSUMPTIONS[test.assumption] for test in tail.tests], left=True),
        Column("", 1, [test_text(test) for test in tail.tests]),
        Column(
            "result",
            0,
            [
                Text("pass", style="green") if test.passed else Text("fail", style="bold red")
                for test in tail.tests
            ],
        ),
    ]
    yield fitted(columns, width)
    if tail.stability:
        yield fitted(
            [
                Column("threshold", 0, [time_text(one.threshold_ns) for one in tail.stability]),
                Column("clusters", 0, [f"{one.clusters:,}" for one in tail.stability]),
                Column(
                    "shape",
                    0,
                    [f"{one.shape:+.2f} ± {1.96 * one.error:.2f}" for one in tail.stability],
                ),
            ],
            width,
        )
