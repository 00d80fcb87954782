# SPDX-License-Identifier: GPL-2.0-only
"""The matrices that belong to no thread alone, as tables."""

from rtscope.model.run import Matrix
from rtscope.model.units import format_size
from rtscope.report.tables.column import Column
from rtscope.statistics.reach import sizes_of
from rtscope.wording.matrices import value_text
from rtscope.wording.plain import plain


def matrix_columns(matrix: Matrix) -> list[Column]:
    """One row for each of the matrix; for each size where its columns are working sets."""
    if sizes := sizes_of(matrix):
        return [
            Column("working set", 0, [format_size(size) for size in sizes]),
            *(
                Column(plain(name), place + 1, [value_text(one, matrix.unit) for one in values])
                for place, (name, values) in enumerate(zip(matrix.rows, matrix.value, strict=True))
            ),
        ]
    return [
        Column("", 0, [plain(row) for row in matrix.rows], left=True),
        *(
            Column(
                plain(name),
                place + 1,
                [value_text(row[place], matrix.unit) for row in matrix.value],
            )
            for place, name in enumerate(matrix.columns)
        ),
    ]
