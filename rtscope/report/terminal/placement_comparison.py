# SPDX-License-Identifier: GPL-2.0-only
"""Two series side by side, as the terminal shows them."""

from typing import Final

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from rtscope.model.run import Run
from rtscope.report.tables.column import Column
from rtscope.report.terminal.table import fitted
from rtscope.statistics.placement_comparison import CellChange, Effect, PlacementComparison
from rtscope.wording.comparison import difference_sentence, placement_comparison_sentence
from rtscope.wording.placement import ratio_text
from rtscope.wording.placement_series import how_text
from rtscope.wording.plain import plain
from rtscope.wording.run import REPEAT_BOTH
from rtscope.wording.values import time_text

_SHOWN: Final[dict[Effect, str]] = {"slower": "red", "faster": "green"}
"""effects that are differences, and their colours"""


class PlacementComparisonTable:
    """Renders itself to the width it gets."""

    def __init__(self, comparison: PlacementComparison, a: Run, b: Run) -> None:
        """A table of this comparison of these runs."""
        self._comparison = comparison
        self._runs = (("A", a), ("B", b))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Rich's protocol."""
        changes = self._comparison.changes
        yield Text(placement_comparison_sentence(self._comparison), style="bold")
        if any(one.effect in _SHOWN for one in changes):
            yield Text(REPEAT_BOTH, style="dim")
        for difference in self._comparison.differences:
            yield Text.assemble(("! ", "bold yellow"), plain(difference_sentence(difference)))
        yield Text()
        for label, run in self._runs:
            yield Text.assemble((f"{label}  ", "bold"), how_text(run))
        yield Text()
        columns = [
            Column("what", 0, [plain(one.name) for one in changes], left=True),
            Column("A", 3, [time_text(one.a_ns) for one in changes]),
            Column("B", 4, [time_text(one.b_ns) for one in changes]),
            Column("B, times as long", 1, [ratio_text(one.ratio) for one in changes]),
            Column("p", 5, [f"{one.ratio.p_value:.2g}" for one in changes]),
            Column("B is", 2, [_effect(one) for one in changes], left=True),
        ]
        yield fitted(columns, options.max_width)


def _effect(one: CellChange) -> Text:
    if one.effect in _SHOWN:
        return Text(one.effect, _SHOWN[one.effect])
    return Text("the same" if one.effect == "same" else "no evidence")
