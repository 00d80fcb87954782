# SPDX-License-Identifier: GPL-2.0-only
"""Recordings go to trace-cmd and Perfetto and come back, and other traces are explained."""

import contextlib
import gzip
import re
import subprocess
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtscope.explain.imported import Question, explained_trace
from rtscope.explain.tracedat import trace_dat
from rtscope.model.errors import RtscopeError
from rtscope.model.run import Run
from rtscope.report.exchange.perfetto import perfetto_trace
from tests.explain.traces import CPU_0, CPU_1, DUE, LATENCY, TERMS, recorded_run, recording

CREATED = "2026-11-24T07:00:00Z"
QUESTION = Question("cyclic/1", DUE, DUE + LATENCY)
DATA = trace_dat(recording())


def terms(run: Run) -> list[tuple[str, str, int]]:
    return [(term.kind, term.name, term.ns) for term in run.explanations[0].ledger]


def test_the_recorded_run_is_explained() -> None:
    assert sorted(terms(recorded_run())) == sorted(TERMS)


def report_of(path: Path, *options: str) -> str:
    command = ["trace-cmd", "report", *options, "-i", str(path)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_trace_cmd_reads_the_export(tmp_path: Path) -> None:
    path = tmp_path / "trace.dat"
    path.write_bytes(DATA)
    lines = [
        line for line in report_of(path, "-t", "-R").splitlines() if re.search(r"\[\d+\]", line)
    ]
    assert len(lines) == len(CPU_0) + len(CPU_1)
    assert sum("[001]" in line for line in lines) == len(CPU_1)
    waking = next(line for line in lines if "sched_waking" in line)
    assert "12345.678003000" in waking
    assert "pid=100" in report_of(path, "-t")
    assert "FAILED" not in report_of(path)


@pytest.mark.parametrize("version", [[], ["--compression", "any"], ["--compression", "none"]])
def test_the_export_and_what_trace_cmd_makes_of_it_are_explained_alike(
    version: list[str], tmp_path: Path
) -> None:
    path, again = tmp_path / "trace.dat", tmp_path / "again.dat"
    path.write_bytes(DATA)
    if version:
        command = ["trace-cmd", "convert", *version, "-i", str(path), "-o", str(again)]
        subprocess.run(command, check=True, capture_output=True)
        path = again
    run = explained_trace(path.read_bytes(), CREATED, QUESTION)
    assert sorted(terms(run)) == sorted(TERMS)
    assert run.recording is not None
    assert run.recording.clock == "mono"
    assert (run.source, run.threads[0].max_ns) == ("trace-cmd", LATENCY)


TEXT = """\
# tracer: nop
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
        cyclic/1-100     [001] d..2. 12345.677970: sched_switch: prev_comm=cyclic/1 prev_pid=100 \
prev_prio=19 prev_state=S ==> next_comm=make next_pid=7 next_prio=120
            make-7       [001] d.h1. 12345.678002: local_timer_entry: vector=236
            make-7       [001] d.h2. 12345.678003: sched_waking: comm=cyclic/1 pid=100 prio=19 \
target_cpu=001
            make-7       [001] d.h1. 12345.678004: local_timer_exit: vector=236
            make-7       [001] d..2. 12345.678005: sched_switch: prev_comm=make prev_pid=7 \
prev_prio=120 prev_state=R ==> next_comm=irq/9-eth 0 next_pid=8 next_prio=9
     irq/9-eth 0-8       [001] d.h.. 12345.678010: irq_handler_entry: irq=9 name=eth0
     irq/9-eth 0-8       [001] d.h.. 12345.678020: irq_handler_exit: irq=9 ret=handled
     irq/9-eth 0-8       [001] d..2. 12345.678045: sched_switch: prev_comm=irq/9-eth 0 prev_pid=8 \
prev_prio=9 prev_state=S ==> next_comm=cyclic/1 next_pid=100 next_prio=19
        cyclic/1-100     [001] d..2. 12345.678070: sched_switch: prev_comm=cyclic/1 prev_pid=100 \
prev_prio=19 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120
"""


def test_text_of_tracefs_is_explained_alike() -> None:
    assert sorted(terms(explained_trace(TEXT.encode(), CREATED, QUESTION))) == sorted(TERMS)


def test_without_an_end_the_sample_ends_where_the_thread_runs() -> None:
    run = explained_trace(TEXT.encode(), CREATED, Question("100", DUE))
    assert run.explanations[0].latency_ns == 45_000


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (Question("cyclic", DUE), "cyclic/1"),
        (Question("cyclic/1", DUE - 10**9), "12345.677970"),
        (Question("cyclic/1", DUE + 60_000), "--until"),
        (Question("cyclic/1", DUE, DUE), "--deadline"),
    ],
)
def test_a_question_that_the_trace_cannot_answer_is_refused(
    question: Question, expected: str
) -> None:
    with pytest.raises(RtscopeError, match=re.escape(expected)):
        explained_trace(TEXT.encode(), CREATED, question)


@given(st.integers(0, len(DATA)), st.binary(max_size=40), st.booleans())
def test_a_damaged_file_is_read_or_refused(at: int, damage: bytes, cut: bool) -> None:
    data = DATA[:at] + damage + (b"" if cut else DATA[at + len(damage) :])
    with contextlib.suppress(RtscopeError):
        run = explained_trace(data, CREATED, QUESTION)
        assert sum(ns for *_, ns in terms(run)) == LATENCY


@given(st.text(max_size=300))
def test_any_text_is_read_or_refused(text: str) -> None:
    with pytest.raises(RtscopeError):
        explained_trace(text.encode(), CREATED, QUESTION)


def test_perfetto_has_a_track_for_each_cpu_and_each_sample() -> None:
    messages = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
    trace = messages.Trace()
    trace.ParseFromString(perfetto_trace(recorded_run()))
    tracks = {
        one.track_descriptor.uuid: one.track_descriptor.name
        for one in trace.packet
        if one.HasField("track_descriptor")
    }
    assert sorted(tracks.values()) == [
        "CPU 0", "CPU 0 handlers", "CPU 1", "CPU 1 handlers", "late sample 1",
    ]  # fmt: skip
    slices: dict[str, list[tuple[int, int, str]]] = {name: [] for name in tracks.values()}
    begun: dict[int, tuple[int, str]] = {}
    for one in trace.packet:
        event = one.track_event
        if event.type == messages.TrackEvent.TYPE_SLICE_BEGIN:
            begun[event.track_uuid] = one.timestamp, event.name
        elif event.type == messages.TrackEvent.TYPE_SLICE_END:
            start, name = begun.pop(event.track_uuid)
            slices[tracks[event.track_uuid]].append((start, one.timestamp, name))
    assert not begun
    assert [one[:2] for one in slices["late sample 1"]] == [(DUE, DUE + LATENCY)]
    assert (DUE + 10_000, DUE + 20_000, "eth0") in slices["CPU 1 handlers"]
    assert (DUE + 5_000, DUE + 45_000, "irq/9-eth 0/8") in slices["CPU 1"]
    annotated = [one for one in trace.packet if one.track_event.debug_annotations]
    assert sum(one.int_value for one in annotated[0].track_event.debug_annotations) == LATENCY


def test_a_run_without_a_recording_is_refused_with_what_to_do() -> None:
    run = msgspec.structs.replace(recorded_run(), recording=None)
    with pytest.raises(RtscopeError, match="--explain"):
        perfetto_trace(run)


REAL = gzip.decompress((Path(__file__).parent / "files" / "rtfault-lock.dat.gz").read_bytes())
"""Debian's 6.12 with PREEMPT_RT and two CPUs of a busy host, tests/lab/rtfault on them. Made by

    rtscope measure --target vm:6.12-rt-amd64,cpus=2 --module 'tests/lab/rtfault by=lock' \\
        --cpus 1 --explain 12 --worst 12 --samples 300
    rtscope export last -F trace.dat -o - | gzip -9n
"""
WOKEN = Question("153", 123_384_989_526, 123_384_989_526 + 97_688_154)


def test_events_of_a_real_kernel_are_decoded_and_have_their_sender() -> None:
    (told,) = explained_trace(REAL, CREATED, WOKEN).explanations
    assert sum(term.ns for term in told.ledger) == told.latency_ns
    assert told.task == "cyclic/0/153"
    assert [(one.kind, one.name, one.ns) for one in told.ledger[:2]] == [
        ("hard-interrupt", "local_timer", 89_530_820), ("idle-exit", "idle state 1", 7_772_424),
    ]  # fmt: skip
    sent = next(term for term in told.ledger if term.name == "reschedule")
    assert sent.remote is not None
    assert (sent.remote.task, sent.remote.cpu) == ("rtfault/0/148", 0)
    assert [track.cpu for track in told.tracks] == [0, 1]


def test_trace_cmd_prints_every_event_of_a_real_kernel_and_its_text_is_explained_alike(
    tmp_path: Path,
) -> None:
    path = tmp_path / "trace.dat"
    path.write_bytes(REAL)
    text = report_of(path, "-t")
    assert "FAILED" not in text
    assert sum(bool(re.search(r"\[\d+\]", line)) for line in text.splitlines()) > 3000
    of_text = explained_trace(text.encode(), CREATED, WOKEN)
    assert sorted(terms(of_text)) == sorted(terms(explained_trace(REAL, CREATED, WOKEN)))
