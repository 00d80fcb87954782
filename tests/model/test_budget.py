# SPDX-License-Identifier: GPL-2.0-only
"""What may be written as a limit, and what is refused with a sentence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtscope.model.budget import Limit, parse_limit
from rtscope.model.errors import RtscopeError


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("max<50us", Limit("max", 50_000, False, "max<50us")),
        ("avg <= 5 us", Limit("mean", 5_000, True, "avg<=5us")),
        ("p99.99<1.5ms", Limit("p99.99", 1_500_000, False, "p99.99<1.5ms")),
        ("p99.9[a] <= 1.5", Limit("p99.9", 1_500, True, "p99.9[a]<=1.5us", "a")),
        ("longest_ns<12", Limit("longest_ns", 12_000, False, "longest_ns<12us")),
        ("missed<1", Limit("missed", 1, False, "missed<1")),
        ("stolen_percent<0.25", Limit("stolen_percent", 0.25, False, "stolen_percent<0.25")),
        ("over [same CPU] < 1", Limit("over", 1, False, "over[same CPU]<1", "same CPU")),
        (
            "rate( > 50 ) [a] < 1.5 / h",
            Limit("rate(>50us)", 1.5, False, "rate(>50us)[a]<1.5/h", "a", 50_000),
        ),
        ("p50_ns<1us", Limit("p50_ns", 1_000, False, "p50_ns<1us")),
    ],
)
def test_a_limit_is_read(text: str, limit: Limit) -> None:
    assert parse_limit(text) == limit


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("max<50 apples", "is not a time"),
        ("max>50us", "is not a budget"),
        ("missed<0.5", "a plain count"),
        ("missed<1us", "a plain count"),
        ("failed<1us", "a plain number"),
        ("maximum<50us", "maximum is not one of max, mean, missed"),
        ("failed<many", "a plain number"),
        ("p100<5us", "a quantile is below p100"),
        ("failed", "METRIC<NUMBER"),
        ("rate(>50us)<1", "is not a budget"),
        ("rate(>50us)<0/h", "can never be proven"),
        ("rate(>50 apples)<1/h", "is not a time"),
        ("max[]<5us", "is not a budget"),
        ("max[a<5us", "is not a budget"),
        ("", "is not a budget"),
    ],
)
def test_anything_else_gets_a_sentence(text: str, said: str) -> None:
    with pytest.raises(RtscopeError, match=said):
        parse_limit(text)


@given(st.text() | st.from_regex(r"[a-z0-9_.]{1,9}<=?[0-9a-z. ]{0,9}"))
def test_no_text_does_worse_than_a_sentence(text: str) -> None:
    try:
        limit = parse_limit(text)
    except RtscopeError as error:
        assert text in str(error) or "time" in str(error)  # noqa: PT017
    else:
        assert limit.value >= 0
        assert limit.percent is None or 0 <= limit.percent < 100
