# SPDX-License-Identifier: GPL-2.0-only
"""A question of ssh's ends with rtscope."""

import os
import sys
from pathlib import Path

import pytest

from rtscope.target import connection

LATER = "import pathlib, sys, time; time.sleep(3); pathlib.Path(sys.argv[1]).touch()"


def test_a_signal_before_the_terminal_is_handed_over_ends_the_question(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It was waited for until somebody answered."""
    signals = [SystemExit(130)]

    def hand_over(terminal: int, group: int) -> None:
        if signals:
            raise signals.pop()

    monkeypatch.setattr(os, "tcsetpgrp", hand_over)
    with Path(os.devnull).open() as terminal:
        monkeypatch.setattr(sys, "stdin", terminal)
        with pytest.raises(SystemExit):
            connection._ask([sys.executable, "-c", LATER, str(tmp_path / "answered")])
    assert not list(tmp_path.iterdir())
