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


def shown(renderable: RenderableType, width: int) -> str:
    file = io.StringIO()
    Console(file=file, width=width, color_system=None).print(renderable)
    lines = file.getvalue().splitlines()
    assert max(map(cell_len, lines)) <= width
    return " ".join(" ".join(lines).split())


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("name", reference_names())
def test_no_line_is_wider_than_the_terminal(name: str, width: int) -> None:
    assert shown(reference_page(reference_named(name)), width)


@pytest.mark.parametrize(("name", "probe"), [("loongson-2f", "cyclic"), ("celleb", "sched")])
def test_published_and_ours_are_all_there_on_a_narrow_terminal(name: str, probe: str) -> None:
    reference = reference_named(name)
    table = next(one for one in reference.tables if one.probe == probe)
    run = run_of(thread_of([5000] * 500 + [33_000], windows=20), probe=probe)
    words = shown(beside_page(reference, [(table, beside(reference, table, [run]))], [run]), 60)
    assert "not shown" not in words
    assert "33.00 us" in words
    for entry in table.entries:
        for figure, value in zip(table.metrics, entry.values, strict=True):
            assert published_text(figure, value) in words
