# SPDX-License-Identifier: GPL-2.0-only
"""The agent's event verb where there is no module: what it refuses, and what it would do."""

from pathlib import Path

import pytest

from tests.agent.probing import refusal


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--via", "telepathy"], "ioctl, poll, epoll, eventfd, page or uring"),
        (["--busy", "81"], "0 to 80"),
        (["--deadline", "0"], "1ms"),
        (["--irq-priority", "0"], "from 1 to 99"),
        (["--irq-priority", "100"], "from 1 to 99"),
        (["--data", "soon"], "0 for none"),
        (["--data", "1389us"], "shorter than half of --interval"),
        (["--interval", "99us"], "at least 100 us"),
        (["--policy", "deadline"], "SCHED_DEADLINE"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_refused(agent_path: Path, options: list[str], words: str) -> None:
    assert words in refusal(agent_path, "event", *options)
