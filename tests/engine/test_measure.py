# SPDX-License-Identifier: GPL-2.0-only
"""An agent's lines become a run that can be kept, or a sentence."""

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from rtscope.engine.measure import in_lab, receive_run
from rtscope.model.errors import RtscopeError
from rtscope.model.histogram import Histogram
from rtscope.model.machine import Machine
from rtscope.model.request import Request
from rtscope.model.run import Lab, LoadWork, Matrix, Run, Waiter
from rtscope.statistics.metrics import quantile_ns
from rtscope.store.runfile import decode_run, encode_run
from rtscope.target.protocol import AnyLine, decode_line, files_of
from rtscope.wording.run import moment_text

HELLO = {"type": "hello", "protocol": 1, "agent": "1"}
START = {
    "type": "start", "probe": "cyclic", "utc_ns": 1_795_298_490_571_357_059, "interval_ns": 10**6,
    "monotonic_ns": 6_978_635_333_883, "policy": "fifo", "priority": 80,
    "threads": [{"thread": n, "cpu": n, "policy": "fifo", "priority": 80} for n in range(2)],
}  # fmt: skip
END = {"type": "end", "status": "complete", "time_ns": 10**9}


def thread(number: int = 0, **more: object) -> dict[str, Any]:
    figures = {"count": 2, "missed": 0, "early": 0, "min_ns": 3000, "max_ns": 5000, "mean_ns": 4e3}
    worst = [{"time_ns": 10**8, "latency_ns": 5000, "cpu": 0}]
    line = {"type": "thread", "thread": number, "cpu": number, "policy": "fifo", "priority": 80}
    return line | figures | {"worst": worst} | more


def histogram(number: int = 0) -> dict[str, Any]:
    buckets = {"lower_ns": [3000, 5000], "width_ns": [1, 1], "count": [1, 1]}
    return {"type": "histogram", "thread": number} | buckets


def progress(**more: object) -> dict[str, Any]:
    seen = {"thread": 0, "count": 2, "min_ns": 3000, "mean_ns": 4000.0, "max_ns": 5000}
    return {"type": "progress", "time_ns": 10**8, "threads": [seen | more]}


def run_from(*lines: dict[str, Any]) -> Run:
    decoded = [decode_line(json.dumps(line).encode()) for line in lines]
    return receive_run(Request(), Machine(), decoded, lambda line: None)


def both(**more: object) -> list[dict[str, Any]]:
    return [thread(0, **more), histogram(), thread(1), histogram(1)]


def test_a_worst_sample_is_dated_to_the_microsecond_and_on_the_monotonic_clock() -> None:
    phases = [
        {"name": "load alone", "from_ns": -20_000_000, "to_ns": 0},
        {"name": "measuring", "from_ns": 0, "to_ns": 10**9},
    ]
    run = run_from(HELLO, START, *both(), END | {"phases": phases})
    assert [msgspec.structs.asdict(phase) for phase in run.phases] == phases
    assert run.created == "2026-11-21T22:01:30.571357+00:00"
    assert run.start_monotonic_ns == 6_978_635_333_883
    assert moment_text(run, run.threads[0].worst[0].time_ns) == "2026-11-21 22:01:30.671357 UTC"
    assert decode_run(encode_run(run)) == run


@pytest.mark.parametrize(
    "line",
    [
        END | {"phases": [{"name": "x", "from_ns": -(10**30), "to_ns": 0}]},
        END | {"phases": [{"name": "x", "from_ns": 0, "to_ns": 0}] * 65},
        progress() | {"time_ns": 10**30},
        progress(max_ns=10**30),
        progress(count=-1),
        progress(thread=10**6),
        thread(priority=10**30),
        thread(mean_ns=1e308),
        START | {"utc_ns": 10**30},
    ],
)
def test_a_metric_out_of_all_bounds_is_refused_where_it_is_read(line: dict[str, Any]) -> None:
    with pytest.raises(RtscopeError, match="not of protocol 1"):
        decode_line(json.dumps(line).encode())


@pytest.mark.parametrize(
    "lie", [{"min_ns": 6000}, {"mean_ns": 9_000_000}, {"max_ns": 4000}, {"count": 3}]
)
def test_a_result_that_contradicts_itself_leaves_what_was_seen_before(lie: dict[str, int]) -> None:
    run = run_from(HELLO, START, progress(), *both(**lie), END)
    assert run.status == "failed"
    assert run.threads[0].max_ns == 5000
    assert "contradicts itself" in run.warnings[0].text
    assert decode_run(encode_run(run)) == run
    with pytest.raises(RtscopeError, match="contradicts itself"):
        run_from(HELLO, START, *both(**lie), END)


def vanished(start: dict[str, Any], *lines: dict[str, Any]) -> Run:
    """The run of an agent that says no more."""

    def said() -> Iterator[AnyLine]:
        for line in (HELLO, START | start, *lines):
            yield decode_line(json.dumps(line).encode())
        raise RtscopeError("the network fell silent")

    return receive_run(Request(), Machine(), said(), lambda line: None)


def test_a_run_whose_agent_vanished_has_the_histogram_received_so_far() -> None:
    loads = {"loads": [{"name": "cpu", "strength": 2, "seed": 7}]}
    done = {"loads": [{"name": "cpu", "work": {"rounds": 12}}]}
    run = vanished(
        loads,
        progress(gained=[[2944, 1], [4992, 1]]),
        progress(count=1003, max_ns=81_000, gained=[[2944, 1000], [79872, 1]]) | done,
    )
    assert (run.status, [warning.code for warning in run.warnings]) == ("failed", ["agent-died"])
    assert "the network fell silent" in run.warnings[0].text
    assert run.loads == [LoadWork("cpu", 2, 7, 0.1, {"rounds": 12})]
    first, second = run.threads
    assert first.histogram == Histogram([2944, 4992, 79872], [64, 128, 2048], [1001, 1, 1])
    assert (first.count, first.min_ns, first.max_ns) == (1003, 3000, 81_000)
    assert quantile_ns(first.histogram, 99.0).value_ns == 3007
    assert (second.count, second.histogram.total) == (0, 0)
    assert decode_run(encode_run(run)) == run


def test_a_sample_that_only_the_histogram_has_yet_is_counted() -> None:
    """The agent reads a thread's figures while that measures."""
    run = vanished({}, progress(gained=[[992, 1], [2944, 2], [81920, 1]]))
    thread = run.threads[0]
    assert (thread.count, thread.min_ns, thread.max_ns) == (4, 1007, 81920)
    assert decode_run(encode_run(run)) == run


@pytest.mark.parametrize("gained", [[[65, 1]], [[2**62, 2**62]] * 3 + [[0, 2**62]] * 3])
def test_a_histogram_that_cannot_be_is_refused_as_it_comes(gained: list[list[int]]) -> None:
    with pytest.raises(RtscopeError, match=r"an impossible progress|contradicts itself"):
        vanished({}, progress(gained=gained))


def test_a_thread_that_the_agent_forgets_is_reported() -> None:
    run = run_from(HELLO, START, thread(), histogram(), END)
    assert [warning.code for warning in run.warnings] == ["threads-missing"]
    assert "threads 1 " in run.warnings[0].text


def test_an_agent_that_warns_for_ever_does_not_fill_the_memory() -> None:
    many = [{"type": "warning", "code": "x", "text": str(number)} for number in range(1000)]
    run = run_from(HELLO, *many, START, *both(), END)
    assert len(run.warnings) == 101
    assert run.warnings[-1].code == "more-warnings"


@pytest.mark.parametrize(
    ("line", "complains"),
    [
        ("[    1.234567] WARNING: CPU: 0 PID: 1 at kernel/x.c:1 f+0x1/0x2", True),
        ("[ BUG: Invalid wait context ]", True),
        ("rcu: INFO: rcu_preempt self-detected stall on CPU", True),
        ("Oops: divide error: 0000 [#1] PREEMPT_RT SMP", True),
        ("rtscope-agent: cannot load the module /modules/x.ko: Invalid argument", True),
        ("rtdelay: loading out-of-tree module taints kernel.", False),
        ("[    0.000000] Kernel command line: panic=-1 WARNING", False),
    ],
)
def test_what_a_guest_complained_of_is_a_warning_of_its_run(line: str, complains: bool) -> None:
    lab = Lab(
        mode="exact", mips=1000, cpus=1, seed=1, qemu="7.2", command=["qemu-system-x86_64"],
        kernel="x", kernel_source="", kernel_sha256="", config_sha256=None, initramfs_sha256="",
        console=f"one\n{line}\nmore\n",
    )  # fmt: skip
    run = in_lab(run_from(HELLO, START, *both(), END), lab, "2026-11-22T00:00:00+00:00")

    reported = [warning.text for warning in run.warnings if warning.code == "guest-complained"]
    assert bool(reported) == complains
    assert all(line in text for text in reported)


TAKERS = [
    {"name": "main", "tid": 4711, "priority": 0, "cpu": None, "count": 1},
    {"name": "signal/3", "tid": 4714, "priority": 10, "cpu": 1, "count": 1},
]
ROWS = [[None, 80.5], [80.5, None]]
LABELS = ["CPU 0", "CPU 1"]
MATRIX = {
    "type": "matrix", "name": "message", "unit": "ns", "rows": LABELS, "columns": LABELS,
    "value": ROWS, "low": ROWS, "high": ROWS,
}  # fmt: skip


def test_matrices_and_who_took_events_are_in_the_run_and_kept_with_it() -> None:
    run = run_from(HELLO, START, *both(takers=TAKERS), MATRIX, END)
    assert run.matrices == [Matrix("message", "ns", LABELS, LABELS, ROWS, ROWS, ROWS)]
    waiters = [Waiter("main", 4711, 0, None, 1), Waiter("signal/3", 4714, 10, 1, 1)]
    assert [one.waiters for one in run.threads] == [waiters, []]
    assert decode_run(encode_run(run)) == run


@pytest.mark.parametrize(
    "wrong",
    [{"value": [[1.0]]}, {"rows": ["CPU 0"]}, {"low": [[-1.0] * 2] * 2}, {"name": "x" * 99}],
)
def test_an_impossible_matrix_or_waiter_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(RtscopeError, match=r"matrix|not of protocol"):
        run_from(HELLO, START, *both(), MATRIX | wrong, END)
    for waiter in ({"count": -1}, {"priority": 100}, {"cpu": -1}, {"name": "x" * 99}):
        with pytest.raises(RtscopeError):
            run_from(HELLO, START, *both(takers=[TAKERS[0] | waiter]), END)


def test_an_agent_that_sends_for_ever_is_ended() -> None:
    with pytest.raises(RtscopeError, match="more than 64 matrices"):
        run_from(HELLO, START, *both(), *[MATRIX] * 65, END)
    lines = (decode_line(b'{"type":"file","path":"/%d","text":""}' % n) for n in range(100_000))
    with pytest.raises(RtscopeError, match="more than 40000 files"):
        files_of(lines)
