# SPDX-License-Identifier: GPL-2.0-only
"""The guest's own trace finds what the emulator's plugin saw of the same samples."""

import pytest

from tests.lab.oracle import TERMS, outliers


@pytest.mark.kernels
@pytest.mark.parametrize("by", [by for by in TERMS if by != "softirq"])
def test_each_injected_delay_is_named_with_its_length(by: str) -> None:
    found = outliers("x86_64-rt", by)

    assert len(found) > 20
    assert all(one.right and not one.unexplained_ns for one in found)
    wrong = [abs(one.traced_ns - one.seen_ns) for one in found]
    near = [ns <= max(2000, 0.05 * one.seen_ns) for ns, one in zip(wrong, found, strict=True)]
    assert sum(near) >= 0.9 * len(found)
    assert max(wrong) < 10_000  # where another interrupt came within the delay
