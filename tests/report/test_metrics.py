# SPDX-License-Identifier: GPL-2.0-only
"""A probe's own figures are shown with their units, whatever their number and their names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtscope.report.tables.metrics import metrics_columns
from rtscope.wording.groups import groups_of
from rtscope.wording.metrics import metric_text, metric_title
from tests.measured import run_of
from tests.report.views import named


@pytest.mark.parametrize(
    ("key", "value", "title", "text"),
    [
        ("cost_ns", 26.53, "cost", "26.53 ns"),
        ("longest_ns", 12_345_678.0, "longest", "12.35 ms"),
        ("drift_ns_per_s", -4_698_900.0, "drift per s", "-4698.9 us"),
        ("frequency_hz", 2_000_024_790.0, "frequency", "2.00002 GHz"),
        ("scalar_operations_per_s", 3_217_350_000.0, "scalar operations", "3.217 G/s"),
        ("memory_read_bytes_per_s", 10_979_912_345.0, "memory read", "10.98 GB/s"),
        ("interrupts_per_s", 200.0, "interrupts per s", "200"),
        ("l1_load_ns", 1.825, "L1 load", "1.825 ns"),
        ("noise_percent", 16.48, "noise", "16.48 %"),
        ("in_range", 1234567.0, "in range", "1,234,567"),
        ("over_20pct", 3.0, "over 20 %", "3"),
        ("expected", 299.189, "expected", "299.189"),
        ("pass", 1.0, "pass", "yes"),
        ("vdso", 0.0, "vdso", "no"),
        ("gaps", float("nan"), "gaps", "–"),
        ("spins", float("inf"), "spins", "–"),
    ],
)
def test_a_metric_has_its_unit(key: str, value: float, title: str, text: str) -> None:
    assert metric_title(key) == title
    assert metric_text(key, value) == text


@given(st.text(max_size=30), st.floats())
def test_any_metric_can_be_shown(key: str, value: float) -> None:
    assert metric_text(key, value)
    assert not set("\x1b\x07\u202e\n") & set(metric_title(key))


def test_the_shorter_side_is_across() -> None:
    few = metrics_columns([named("a", 0, x=1, y=2, z=3), named("b", 1, x=4)])
    assert [column.title for column in few] == ["", "a\non CPU 0", "b\non CPU 1"]
    assert few[2].cells == ["4", "–", "–"]
    many = metrics_columns([named("", cpu, gaps=cpu) for cpu in range(8)])
    assert [column.title for column in many] == ["", "gaps"]
    assert metrics_columns([named("a")]) == []


def test_only_threads_of_one_name_are_put_together() -> None:
    run = run_of(named("absolute", 0), named("timerfd", 0), named("absolute", 1))
    assert [(group.label, len(group.threads), group.lone) for group in groups_of(run)] == [
        ("absolute, all", 2, False),
        ("timerfd on CPU 0", 1, True),
    ]
    alike = groups_of(run_of(named(""), named("", 1)))
    assert [(group.label, len(group.threads)) for group in alike] == [("all", 2)]
