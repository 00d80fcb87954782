"""Text of machines is harmless, and numbers are written the same everywhere."""

import unicodedata

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtscope.model.machine import Machine
from rtscope.model.run import LoadWork, RunWarning
from rtscope.report.words import doubts, load_lines, moment_text, plain, span_text
from tests.measured import run_of, thread_of


@given(st.text())
def test_nothing_that_steers_a_terminal_survives(text: str) -> None:
    shown = plain(text)
    assert len(shown) == len(text)
    assert not {unicodedata.category(c) for c in shown} & {"Cc", "Cf", "Cs", "Zl", "Zp"}


@pytest.mark.parametrize("text", ["board-7", "Raspberry Pi 5 – µ", "日本"])
def test_ordinary_names_stay_as_they_are(text: str) -> None:
    assert plain(text) == text


def test_whatever_lessens_the_figures_is_told_worst_first() -> None:
    run = run_of(
        thread_of([1000], 0),
        thread_of([], 5),
        status="interrupted",
        machine=Machine(high_resolution_timers=False),
        warnings=[RunWarning("no-memlock", "memory is not locked")],
    )
    told = doubts(run)
    assert told[0] == "PARTIAL: interrupted after 1 min 0 s."
    assert "CPU 5" in told[1]
    assert "High-resolution timers were off" in told[2]
    assert told[3] == "memory is not locked"
    assert doubts(run_of(thread_of([1000]))) == []
    assert doubts(run_of()) == ["This run has no samples."]


def test_loads_tell_their_work_per_second() -> None:
    loads = [
        LoadWork("files", 4, 1, 2.0, {"bytes_written": 5_000_000, "stats": 30}),
        LoadWork("cmd:make"),
    ]
    assert load_lines(run_of(loads=loads)) == [
        "files ×4: 2.50 M bytes written/s, 15.0 stats/s",
        "cmd:make: work not counted",
    ]


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (250_000_000, "250ms"),
        (255_443_395, "255ms"),
        (90_123, "90123ns"),
        (29_700_000_000, "29.7 s"),
        (59_990_000_000, "1 min 0 s"),
        (125_000_000_000, "2 min 5 s"),
        (20_000_000_000_000, "5 h 33 min"),
    ],
)
def test_spans_read_as_people_say_them(ns: int, text: str) -> None:
    assert span_text(ns) == text


def test_moments_are_utc_and_absent_where_the_start_is_unknown() -> None:
    run = run_of(created="2026-11-21T13:00:00+01:00")
    assert moment_text(run, 1_500_000_000) == "2026-11-21 12:00:01 UTC"
    run = run_of(created="2026-11-21T13:00:00.250000+01:00")
    assert moment_text(run, 1_500_000_000) == "2026-11-21 12:00:01.750000 UTC"
    assert moment_text(msgspec.structs.replace(run, created="?"), 5) == ""
    assert moment_text(run, 2**63 - 1) == "2319-03-03 11:47:17.104776 UTC"
    assert moment_text(msgspec.structs.replace(run, created="9999-12-31T00:00:00Z"), 2**62) == ""
