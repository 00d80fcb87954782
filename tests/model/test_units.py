# SPDX-License-Identifier: GPL-2.0-only
"""Times and counts as people read them."""

import pytest

from rtscope.model.units import counted, format_column_ns


@pytest.mark.parametrize("deviation_ns", [5e-324, 1e-300])
def test_a_tiny_deviation_gives_a_column_no_more_digits_than_1_ns(deviation_ns: float) -> None:
    assert format_column_ns([2e10, deviation_ns, None], "–") == [
        "20.00000000000 s",
        "0.00000000000 s",
        "–",
    ]


def test_a_noun_agrees_with_its_count() -> None:
    texts = [counted(count, "sample") for count in (0, 1, 1204)]
    assert texts == ["0 samples", "1 sample", "1,204 samples"]
