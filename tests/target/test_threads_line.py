# SPDX-License-Identifier: GPL-2.0-only
"""The agent's `threads` line is read where it is one, and refused with a sentence otherwise."""

import json
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtscope.model.errors import RtscopeError
from rtscope.model.threads import Threads
from rtscope.target.protocol import decode_line

THREAD: dict[str, Any] = {
    "pid": 1020, "tid": 1024, "name": "a) R 1 (\n\x1b[2J[red]", "kernel": False, "policy": "fifo",
    "priority": 94, "nice": None, "runtime_ns": None, "deadline_ns": None, "period_ns": None,
    "rank": -95, "inherited": False, "cpus": "0-3", "cpu": 1, "isolated": False, "state": "S",
    "wait_channel": "futex_wait_queue", "wait_module": "daq", "irq": None, "softirq": None,
    "cpu_ns": 39_000_000, "voluntary": 99, "forced": 0,
    "since": {"cpu_ns": 1, "voluntary": 2, "forced": None},
}  # fmt: skip
LINE: dict[str, Any] = {
    "type": "threads", "time_ns": 1, "since_ns": 2, "realtime_kernel": True, "isolated": "2-3",
    "nohz_full": "", "partition": "", "threads": [THREAD],
}  # fmt: skip


def decoded(line: object) -> Threads:
    reported = decode_line(json.dumps(line).encode())
    assert isinstance(reported, Threads)
    return reported


def test_a_line_is_what_was_sent() -> None:
    seen = decoded(LINE)
    assert msgspec.to_builtins(seen) == LINE
    assert decoded(LINE | {"new": [1], "threads": [THREAD | {"newer": {}}]}) == seen
    assert seen.threads[0].realtime
    assert seen.threads[0].own_rank == -95


@pytest.mark.parametrize(
    "wrong",
    [
        {"pid": -1},
        {"tid": 2**31},
        {"name": 7},
        {"name": "x" * 257},
        {"rank": -103},
        {"rank": 42},
        {"priority": 100},
        {"nice": 20},
        {"cpu": 8192},
        {"cpu_ns": 2**64},
        {"irq": -1},
        {"state": "SLEEP"},
        {"since": {"cpu_ns": -5}},
        {"cpus": "0," * 40_000},
    ],
    ids=lambda wrong: f"{next(iter(wrong))}={str(next(iter(wrong.values())))[:12]}",
)
def test_what_cannot_be_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(RtscopeError, match="not of protocol"):
        decoded(LINE | {"threads": [THREAD | wrong]})


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(st.sampled_from(sorted(LINE)), st.sampled_from(sorted(THREAD)), VALUES, st.data())
def test_any_value_or_damage_is_taken_or_refused_with_a_sentence(
    of_line: str, of_thread: str, value: object, data: st.DataObject
) -> None:
    damaged = json.dumps(LINE).encode()
    at, length = data.draw(st.integers(0, len(damaged))), data.draw(st.integers(0, 9))
    damaged = damaged[:at] + data.draw(st.binary(max_size=4)) + damaged[at + length :]
    changed: list[dict[str, Any]] = [{of_line: value}, {"threads": [THREAD | {of_thread: value}]}]
    for line in (damaged, *(json.dumps(LINE | one).encode() for one in changed)):
        with suppress(RtscopeError):
            decode_line(line)
