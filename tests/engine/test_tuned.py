# SPDX-License-Identifier: GPL-2.0-only
"""What became of a profile's changes is in the run that was measured with them."""

import json
from typing import Any

import pytest

from rtscope.engine.measure import receive_run
from rtscope.engine.tuned import filled
from rtscope.model.errors import RtscopeError
from rtscope.model.machine import Cpu, Machine
from rtscope.model.request import Request
from rtscope.model.run import IdleStates, Run
from rtscope.model.tuning import TuningStep
from rtscope.store.runfile import decode_run, encode_run
from rtscope.target.protocol import decode_line

MACHINE = Machine(cpus=[Cpu(0), Cpu(1), Cpu(2)])
RULES = ["tasks away={cpus}", "latency limit=0", "boot add=nohz_full={cpus}"]
STEP = TuningStep("ours", 1, "moved", "1-N", RULES, 3)
HELLO = {"type": "hello", "protocol": 1, "agent": "1"}
START = {
    "type": "start", "probe": "cyclic", "utc_ns": 1_795_298_490_571_357_059, "interval_ns": 10**6,
    "policy": "fifo", "priority": 80, "threads": [],
}  # fmt: skip
END = {"type": "end", "status": "complete", "time_ns": 10**9}


def change(number: int, state: str, why: str = "") -> dict[str, Any]:
    return {
        "type": "change", "profile": "measurement", "kind": "thread-cpus", "what": f"a{number}",
        "where": f"tid {number}", "old": "0-2", "new": "0", "state": state, "why": why,
    }  # fmt: skip


def run_from(*lines: dict[str, Any]) -> Run:
    decoded = [decode_line(json.dumps(line).encode()) for line in lines]
    return receive_run(Request(tuning=STEP), MACHINE, decoded, lambda line: None)


def test_the_agent_gets_the_rules_for_this_machine_but_those_that_take_a_boot() -> None:
    asked = filled(Request(tuning=STEP), MACHINE)
    assert asked.tuning
    assert asked.tuning.rules == ["tasks away=1-2", "latency limit=0"]
    assert filled(Request(), MACHINE) == Request()


def test_the_idle_states_of_a_run_are_recorded_and_older_agents_tell_none() -> None:
    reported = {"idle_states": {"mode": "limit", "limit_ns": 50_000, "effective_ns": 0}}
    run = run_from(HELLO, START | reported, END)
    assert run.idle_states == IdleStates("limit", 50_000, 0)
    assert decode_run(encode_run(run)) == run
    assert run_from(HELLO, START, END).idle_states is None


def test_what_held_is_counted_and_what_did_not_is_kept() -> None:
    made = [change(1, "applied"), change(2, "immovable", "no"), change(3, "not-held", "a daemon")]
    made += [change(5, "applied"), change(6, "applied")]
    warnings = {"rule-unmatched": "nothing is called x", "rt-throttling": "throttled"}
    reported = [{"type": "warning", "code": code, "text": text} for code, text in warnings.items()]
    undone = [change(1, "restored"), change(4, "gone"), change(5, "left")]
    run = run_from(HELLO, *reported, *made, START, *undone, END)
    assert run.tuning
    assert run.tuning.held == 2
    assert run.tuning.left_out == ["boot add=nohz_full=1-2"]
    exceptions = [(one.what, one.state) for one in run.tuning.exceptions]
    assert sorted(exceptions) == [("a2", "immovable"), ("a3", "not-held"), ("a5", "left")]
    assert run.tuning.notes == ["nothing is called x"]
    assert {one.code for one in run.warnings} & set(warnings) == {"rt-throttling"}
    assert decode_run(encode_run(run)) == run


def test_a_machine_with_one_cpu_is_measured_as_booted() -> None:
    alone, booted = Machine(cpus=[Cpu(0)]), TuningStep("ours", 0, "as booted", "1-N", [])
    decoded = [decode_line(json.dumps(line).encode()) for line in (HELLO, START, END)]
    run = receive_run(Request(tuning=booted), alone, decoded, lambda line: None)
    assert run.tuning
    assert run.tuning.cpus == ""
    with pytest.raises(RtscopeError, match="1-0"):
        receive_run(Request(tuning=STEP), alone, decoded, lambda line: None)
