# SPDX-License-Identifier: GPL-2.0-only
"""Published tables on terminals of any width, alone and with ours beside them."""

import io

import pytest
from rich.cells import cell_len
from rich.console import Console, RenderableType

from rtscope.references.library import reference_named, reference_names
from rtscope.report.terminal.references import beside_page, reference_page
from rtscope.statistics.reference import beside
from rtscope.wording.references import published_text
from tests.measured import run_of, thread_of


def shown(renderable: RenderableType, width: int = 160) -> str:
    file = io.StringIO()
    Console(file=file, width=width, color_system=None).print(renderable)
    return file.getvalue()


@pytest.mark.parametrize("width", [40, 80, 120, 200])
@pytest.mark.parametrize("name", reference_names())
def test_no_line_is_wider_than_the_terminal(name: str, width: int) -> None:
    lines = shown(reference_page(reference_named(name)), width).splitlines()
    assert max(cell_len(line) for line in lines) <= width


@pytest.mark.parametrize("width", [60, 80, 100])
def test_published_and_ours_are_all_there_on_a_narrow_terminal(width: int) -> None:
    for name, probe in (("loongson-2f", "cyclic"), ("celleb", "sched")):
        reference = reference_named(name)
        table = next(one for one in reference.tables if one.probe == probe)
        run = run_of(thread_of([5000] * 500 + [33_000], windows=20), probe=probe)
        page = beside_page(reference, [(table, beside(reference, table, [run]))], [run])
        lines = shown(page, width).splitlines()
        assert "not shown" not in "".join(lines)
        words = " ".join(" ".join(lines).split())
        for entry in table.entries:
            for figure, value in zip(table.figures, entry.values, strict=True):
                assert published_text(figure, value) in words
        assert "33.00 us" in words
