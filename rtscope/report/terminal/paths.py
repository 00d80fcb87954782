# SPDX-License-Identifier: GPL-2.0-only
"""A comparison of two worst paths on the terminal."""

from dataclasses import dataclass
from typing import Final

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from rtscope.model.units import counted
from rtscope.report.tables.column import Column
from rtscope.report.terminal.table import fitted
from rtscope.statistics.paths import PathComparison
from rtscope.wording.paths import path_line, paths_sentence
from rtscope.wording.plain import plain

_MOST_ROWS: Final = 20
_STYLES: Final = {"entered": "bold red", "left": "bold green"}


@dataclass
class PathsView:
    """Renders itself to the width it gets."""

    compared: PathComparison

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Rich's protocol."""
        compared = self.compared
        yield Text(paths_sentence(compared), style="bold")
        yield Text(path_line("A", compared.a))
        yield Text(path_line("B", compared.b))
        changed = [one for one in compared.functions if one.change != "same"]
        if not changed:
            return
        shown, rest = changed[:_MOST_ROWS], changed[_MOST_ROWS:]
        yield Text()
        columns = [
            Column("function", 0, [plain(one.function) for one in shown], left=True),
            Column("A", 2, [f"{one.a:,}" if one.change != "entered" else "–" for one in shown]),
            Column("B", 3, [f"{one.b:,}" if one.change != "left" else "–" for one in shown]),
            Column("B − A", 1, [f"{one.difference:+,}" for one in shown]),
            Column(
                "in B it",
                4,
                [
                    Text(
                        f"is {one.change}" if one.change in ("longer", "shorter") else one.change,
                        style=_STYLES.get(one.change, ""),
                    )
                    for one in shown
                ],
                left=True,
            ),
        ]
        yield fitted(columns, options.max_width)
        if rest:
            more = sum(one.difference for one in rest)
            yield Text(
                f"and {counted(len(rest), 'function')} more, together {more:+,} instructions: "
                "--json has them all"
            )
