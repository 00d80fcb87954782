# SPDX-License-Identifier: GPL-2.0-only
"""A column of a table, for the terminal and the page."""

from dataclasses import dataclass, field

from rich.cells import cell_len
from rich.text import Text


@dataclass
class Column:
    """One column; the lower its rank, the longer it stays. A title may have several lines."""

    title: str
    rank: int
    cells: list[str | Text] = field(default_factory=list)
    left: bool = False

    @property
    def width(self) -> int:
        """In terminal cells."""
        return max(cell_len(str(cell)) for cell in [*self.title.split("\n"), *self.cells])


def rows_of(columns: list[Column]) -> list[tuple[str | Text, ...]]:
    """The cells row by row."""
    return list(zip(*(column.cells for column in columns), strict=True))
