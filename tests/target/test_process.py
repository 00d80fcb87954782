# SPDX-License-Identifier: GPL-2.0-only
"""A process that carries an agent's lines is never waited for without an end."""

import json

import pytest

from rtscope.model.errors import RtscopeError
from rtscope.target import process
from rtscope.target.process import AgentProcess
from rtscope.target.protocol import UNKNOWN_LINE, AgentWarning, AnyLine

HELLO = {"type": "hello", "protocol": 1, "agent": "9"}
END = {"type": "end", "status": "complete"}


def test_what_says_nothing_more_and_does_not_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_LONGEST_END_S", 0.2)
    agent = AgentProcess(["sh", "-c", "exec sleep 60 >&-"])
    try:
        assert list(agent._raw_lines()) == []
        assert agent.why_it_ended() == "(ended by SIGKILL)"
    finally:
        agent.close()


def received(*lines: object) -> list[AnyLine]:
    """The lines that are yielded where an agent sends these."""
    agent = AgentProcess(["printf", "%s\\n", *map(json.dumps, lines)])
    try:
        return list(agent.lines(20))
    finally:
        agent.close()


def test_lines_of_unknown_types_are_ignored_with_one_warning() -> None:
    later = [{"type": "later", "n": 1}, {"type": "latest", "deep": [{"type": "hello"}]}]
    warning = {"type": "warning", "code": "first", "text": "of the agent"}
    hello, *warnings, end = received(HELLO, later[0], warning, *later, END)
    assert [line.code for line in warnings if isinstance(line, AgentWarning)] == [
        UNKNOWN_LINE,
        "first",
    ]
    assert len(warnings) == 2
    assert (hello, end) == tuple(received(HELLO, END))


@pytest.mark.parametrize(
    "line", [["hello"], {}, {"type": 1}, {"type": "x" * 65}, {"type": "warning", "code": 1}]
)
def test_lines_without_a_type_or_with_a_damaged_body_end_the_run(line: object) -> None:
    with pytest.raises(RtscopeError, match="not of protocol 1"):
        received(HELLO, line, END)
