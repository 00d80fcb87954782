# SPDX-License-Identifier: GPL-2.0-only
"""Times as people read them."""

import pytest

from rtscope.model.units import format_column_ns


@pytest.mark.parametrize("deviation_ns", [5e-324, 1e-300])
def test_a_tiny_deviation_gives_a_column_no_more_digits_than_1_ns(deviation_ns: float) -> None:
    assert format_column_ns([2e10, deviation_ns, None], "–") == [
        "20.00000000000 s",
        "0.00000000000 s",
        "–",
    ]
