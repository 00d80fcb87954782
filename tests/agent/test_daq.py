# SPDX-License-Identifier: GPL-2.0-only
"""The agent's daq verb where the module is not loaded; with it, tests/lab/test_daq.py measures."""

from pathlib import Path

import pytest

from tests.agent.probing import refusal


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--transfer", "carry"], "copy, mapped or scatter"),
        (["--arm", "twice"], "separate or atomic"),
        (["--interrupts", "never"], "event or channel"),
        (["--channels", "0"], "1 to 64"),
        (["--channels", "65"], "1 to 64"),
        (["--samples-per-channel", "1000"], "a multiple of 512"),
        (["--samples-per-channel", "0"], "a multiple of 512"),
        (["--channels", "64", "--samples-per-channel", "32768"], "at most 2097152"),
        (["--modules", "9"], "1 to 8"),
        (["--irq-priority", "100"], "1 to 99"),
        (["--work", "much"], "2ms"),
        (["--interval", "99us"], "100us to 10s"),
        (["--policy", "deadline"], "use fifo or other"),
    ],
)
def test_what_cannot_be_done_is_refused(agent_path: Path, options: list[str], words: str) -> None:
    assert words in refusal(agent_path, "daq", "--dry-run", *options)
