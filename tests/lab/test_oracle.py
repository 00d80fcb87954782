# SPDX-License-Identifier: GPL-2.0-only
"""The guest's own trace finds what the emulator's plugin saw of the same samples."""

import pytest

from tests.lab.oracle import TERMS, outliers


@pytest.mark.kernels
@pytest.mark.parametrize("by", [by for by in TERMS if by != "softirq"])
def test_each_injected_delay_is_named_with_its_length(by: str) -> None:
    found = outliers("x86_64-rt", by)

    assert len(found) > 20
    for one in found:
        assert (one.right, one.unexplained_ns) == (True, 0)
        assert one.traced_ns == pytest.approx(one.seen_ns, abs=3000)
