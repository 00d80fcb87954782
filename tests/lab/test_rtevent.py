# SPDX-License-Identifier: GPL-2.0-only
"""The module rtevent refuses what is wrong, ends with its files, and leaves nothing behind."""

from collections.abc import Callable
from pathlib import Path

import pytest

from rtscope.lab.kernels import Kernel
from tests.lab.guest_program import tried
from tests.lab.kernel_names import BUILT, BUILT_OTHERS, DEBIAN, DEBUG, OLDEST

KernelNamed = Callable[[str], Kernel]


@pytest.mark.parametrize("name", [*DEBIAN, OLDEST, *BUILT, *BUILT_OTHERS, *DEBUG])
def test_it_refuses_what_is_wrong_and_ends_with_its_files(
    name: str, kernel_named: KernelNamed, tmp_path: Path
) -> None:
    reported, console = tried("rtevent", kernel_named(name), tmp_path)

    assert reported == {
        "parameters": "5 of 5 refused",
        "defaults": "every 2000000, data 300000, seed 5, cpu 0, priority 70, eventfd -1",
        "setups": "7 of 7 refused",
        "no eventfd": "refused, lines 0",
        "memory": "refused",
        "request": "refused",
        "good after bad": "0",
        "twice": "refused",
        "unstarted": "read refused, wait refused, poll refused",
        "writing": "open refused, map refused, protect refused",
        "beyond": "refused",
        "small": "refused",
        "none": "refused",
        "late": "has some, first lost, in order 1",
        "four readers": "400 of 400 once, lines 0",
        "two": "go on 1 1, lines 2",
        "one of two": "goes on 1, lines 1",
        "unload in use": "refused",
        "mapped": "goes on 1, lines 1",
        "unmapped": "lines 0",
        "eventfd": "counts",
        "eventfd closed": "lines 0",
        "killed": "lines 1",
        "killed, gone": "signal 9, lines 0",
        "closed": "lines 1",
        "closed, gone": "signal 0, lines 0",
        "often": "lines 0",
    }
    assert "rtevent: interval_ns 99000 is not from 100000 to 3600000000000" in console
    assert "rtevent: data_ns 250000 is not below half of interval_ns" in console
    assert "rtevent: priority 100 is not from 0 to 99" in console
    assert "rtevent: cpu 31 is not a CPU that is online" in console
