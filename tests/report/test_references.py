# SPDX-License-Identifier: GPL-2.0-only
"""Published tables on terminals of any width, alone and with ours beside them."""

import io
import re

import msgspec
import pytest
from rich.cells import cell_len
from rich.console import Console, RenderableType

from rtscope.model.machine import Machine
from rtscope.model.run import RunWarning
from rtscope.references.library import reference_named, reference_names
from rtscope.report.terminal.references import beside_page, reference_page, reference_table
from rtscope.statistics.reference import beside
from rtscope.wording.references import published_text
from tests.measured import run_of, thread_of

HOSTILE = "[bold red]x[/]\x1b]0;owned\x07\u202e"


def shown(renderable: RenderableType, width: int = 160) -> str:
    file = io.StringIO()
    Console(file=file, width=width, color_system=None).print(renderable)
    return file.getvalue()


@pytest.mark.parametrize("width", [40, 80, 120, 200])
@pytest.mark.parametrize("name", reference_names())
def test_no_line_is_wider_than_the_terminal(name: str, width: int) -> None:
    lines = shown(reference_page(reference_named(name)), width).splitlines()
    assert max(cell_len(line) for line in lines) <= width


def test_a_reference_shows_what_was_printed_with_units() -> None:
    text = shown(reference_page(reference_named("loongson-2f")))
    assert re.search(r"ping,x,find,mplayer +82 us +15.902 us +5.764 us +700,000", text)
    text = shown(reference_page(reference_named("slac-microtca")))
    assert re.search(r"asynchronous +about 30 us +> 6000 us +> 160", text)
    assert re.search(r"WFDIAG +75175 +102.58028625 us .*diag. for waveform", text)


def test_the_list_names_every_reference() -> None:
    text = shown(reference_table([reference_named(name) for name in reference_names()]))
    assert all(name in text for name in reference_names())


def test_ours_stand_beside_the_published() -> None:
    reference = reference_named("loongson-2f")
    run = run_of(thread_of([5000] * 500 + [33_000], windows=20))
    other = run_of(thread_of([9000] * 500), load="cpu:2", id="f" * 16)
    runs = [run, msgspec.structs.replace(other, warnings=[RunWarning("x", "mind this")])]
    table = reference.tables[0]
    text = shown(beside_page(reference, [(table, beside(reference, table, runs))], runs))
    assert re.search(r"idle +27 us +33.00 us +6.986 us +5.06 us +4\.\d\d us … 5.\d\d us", text)
    assert re.search(r"find +68 us +no run +15.553 us +no run", text)
    assert re.search(r"cpu:2 +9.00 us", text)
    assert text.count("! mind this") == 1
    assert "whole microseconds" in text


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


def test_hostile_runs_do_not_steer_the_terminal() -> None:
    reference = reference_named("loongson-2f")
    machine = Machine(hostname=HOSTILE, cpu_model=HOSTILE, kernel_release=HOSTILE)
    run = run_of(thread_of([5000] * 50), load=HOSTILE, machine=machine, cell=HOSTILE)
    table = reference.tables[0]
    text = shown(beside_page(reference, [(table, beside(reference, table, [run]))], [run]))
    assert "[bold red]x[/]" in text
    assert not {"\x1b", "\x07", "\u202e"} & set(text)
