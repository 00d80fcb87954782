# SPDX-License-Identifier: GPL-2.0-only
"""Text of machines is harmless, and numbers are written the same everywhere."""

import unicodedata

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtscope.model.machine import Machine
from rtscope.model.run import IdleStates, RunWarning
from rtscope.wording.fingerprint import fingerprint
from rtscope.wording.plain import plain
from rtscope.wording.run import caveats, idle_states_text, moment_text, quantity_text
from rtscope.wording.values import span_text, times_texts
from tests.measured import run_of, thread_of


@given(st.text())
def test_nothing_that_steers_a_terminal_survives(text: str) -> None:
    shown = plain(text)
    assert len(shown) == len(text)
    assert not {unicodedata.category(c) for c in shown} & {"Cc", "Cf", "Cs", "Zl", "Zp"}


def test_warnings_come_worst_first() -> None:
    run = run_of(
        thread_of([1000], 0),
        thread_of([], 5),
        status="interrupted",
        machine=Machine(high_resolution_timers=False),
        warnings=[RunWarning("no-memlock", "memory is not locked")],
    )
    reported = caveats(run)
    assert reported[0] == "PARTIAL: interrupted after 1 min 0 s."
    assert "CPU 5" in reported[1]
    assert "High-resolution timers were off" in reported[2]
    assert reported[3] == "memory is not locked"
    assert caveats(run_of(thread_of([1000]))) == []
    assert caveats(run_of()) == ["This run has no samples."]


@pytest.mark.parametrize(
    ("idle", "text"),
    [
        (None, ""),
        (IdleStates("off", None, 0), "off (exit latency at most 0 us)"),
        (IdleStates("limit", 50_000, 20_000), "limit 50us (exit latency at most 20 us)"),
        (IdleStates("default", None, 2 * 10**12), "default (no limit in effect)"),
        (IdleStates("default"), "default (limit in effect not known)"),
    ],
)
def test_idle_states_are_shown_as_asked_for_and_as_in_effect(
    idle: IdleStates | None, text: str
) -> None:
    run = run_of(thread_of([1000]), idle_states=idle)
    assert idle_states_text(run) == text
    assert ("idle states", text) in fingerprint(run)[0] or not text


def test_a_coarse_clock_says_what_its_samples_are() -> None:
    coarse = msgspec.structs.replace(thread_of([1000]), name="CLOCK_MONOTONIC_COARSE")
    assert "step of a coarse clock" in quantity_text(run_of(coarse, probe="gtod"))


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (250_000_000, "250ms"),
        (255_443_395, "255ms"),
        (90_123, "90.12 us"),
        (0, "0 s"),
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


def test_a_column_has_one_unit_and_the_digits_of_its_smallest_value() -> None:
    assert times_texts([22_040, None, 140_600]) == ["22.04 us", "–", "140.60 us"]
    assert times_texts([3_000, 12_000_000]) == ["0.00300 ms", "12.00000 ms"]
    assert times_texts([0, 20_000_000_000]) == ["0.00 s", "20.00 s"]
    assert times_texts([]) == []
