# SPDX-License-Identifier: GPL-2.0-only
"""A process that carries an agent's lines is never waited for without an end."""

import pytest

from rtscope.target import process
from rtscope.target.process import AgentProcess


def test_what_says_nothing_more_and_does_not_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_LONGEST_END_S", 0.2)
    agent = AgentProcess(["sh", "-c", "exec sleep 60 >&-"])
    try:
        assert list(agent._raw_lines()) == []
        assert agent.why_it_ended() == "(ended by SIGKILL)"
    finally:
        agent.close()
