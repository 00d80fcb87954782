# SPDX-License-Identifier: GPL-2.0-only
"""Explained samples for Perfetto (https://ui.perfetto.dev): TrackEvent packets.

Each CPU has a track of its tasks and one of its handlers; each explained sample has a track with
its latency, and with the terms of its ledger as annotations. The messages are those of PyPI's
package perfetto, which the extra `traces` installs.
"""

from typing import Any, Final

from rtscope.explain.activity import Moments, doings
from rtscope.explain.ftrace import Events, Pages
from rtscope.explain.recorded import formats_of, layout_of, merged_pages
from rtscope.model.errors import RtscopeError
from rtscope.model.recording import Recording
from rtscope.model.run import Run
from rtscope.wording.causes import term_text
from rtscope.wording.plain import plain
from rtscope.wording.values import time_text

_SEQUENCE: Final = 1
_TASKS, _HANDLERS, _SAMPLES = 0x1000_0000, 0x2000_0000, 0x3000_0000
"""numbers of tracks: of each CPU's tasks and handlers, and of each sample"""
_BEFORE_NS: Final = 500_000
_AFTER_NS: Final = 100_000
Slice = tuple[int, int, str]
"""start and end in ns, and name"""


def perfetto_trace(run: Run) -> bytes:
    """A Perfetto trace of the explained samples of a run. Raises RtscopeError."""
    if run.recording is None:
        raise RtscopeError(
            f"run {run.id} has no recorded trace: measure with --explain N on a target other than "
            "an exact VM"
        )
    out = _Writer()
    events = Events(
        [Pages(cpu, data) for cpu, data in merged_pages(run.recording).items()],
        layout_of(run.recording),
        formats_of(run.recording),
    )
    moments = Moments(events)
    for cpu in sorted(moments.cpus):
        tasks, handlers = _slices(moments, cpu, run.recording)
        out.track(_TASKS + cpu, f"CPU {cpu}", tasks)
        out.track(_HANDLERS + cpu, f"CPU {cpu} handlers", handlers)
    for number, (explanation, window) in enumerate(
        zip(run.explanations, run.recording.windows, strict=False)
    ):
        start, end = window.due_ns, window.due_ns + window.latency_ns
        name = f"{time_text(explanation.latency_ns)} late, {plain(explanation.task) or 'thread'}"
        terms = {
            term_text(one.kind, one.name, one.function, one.remote): one.ns
            for one in explanation.ledger
        }
        out.track(_SAMPLES + number, f"late sample {number + 1}", [(start, end, name)], terms)
    return out.data()


def _slices(moments: Moments, cpu: int, recording: Recording) -> tuple[list[Slice], list[Slice]]:
    """The tasks and the handlers of a CPU within the windows."""
    tasks: list[Slice] = []
    handlers: list[Slice] = []
    last = 0
    for window in sorted(recording.windows, key=lambda one: one.due_ns):
        start = max(window.due_ns - _BEFORE_NS, last)
        stop = window.due_ns + window.latency_ns + _AFTER_NS
        if start >= stop:
            continue
        last = stop
        for doing in doings(moments, cpu, start, stop, lasts=True):
            if doing.tid >= 0:
                _add(tasks, (doing.start_ns, doing.end_ns, moments.events.task_name(doing.tid)))
            if doing.context:
                _add(handlers, (doing.start_ns, doing.end_ns, doing.name or doing.context))
    return tasks, handlers


def _add(slices: list[Slice], one: Slice) -> None:
    """Add a slice, or lengthen the last one where it goes on."""
    if slices and slices[-1][1:] == (one[0], one[2]):
        slices[-1] = (slices[-1][0], one[1], one[2])
    else:
        slices.append(one)


class _Writer:
    """Collects packets."""

    def __init__(self) -> None:
        self._messages = _messages()
        self._trace = self._messages.Trace()

    def track(
        self, uuid: int, name: str, slices: list[Slice], terms: dict[str, int] | None = None
    ) -> None:
        """Add a track with its slices; `terms` describe each of them, in ns."""
        packet = self._packet()
        packet.track_descriptor.uuid = uuid
        packet.track_descriptor.name = name
        for start, end, text in slices:
            event = self._event(uuid, start, self._messages.TrackEvent.TYPE_SLICE_BEGIN)
            event.name = plain(text)
            for term, ns in (terms or {}).items():
                annotation = event.debug_annotations.add()
                annotation.name, annotation.int_value = f"{term} (ns)", ns
            self._event(uuid, end, self._messages.TrackEvent.TYPE_SLICE_END)

    def data(self) -> bytes:
        """Return the trace."""
        return bytes(self._trace.SerializeToString())

    def _packet(self) -> Any:  # noqa: ANN401 - messages are made at run time
        packet = self._trace.packet.add()
        packet.trusted_packet_sequence_id = _SEQUENCE
        return packet

    def _event(self, uuid: int, time_ns: int, kind: int) -> Any:  # noqa: ANN401
        packet = self._packet()
        packet.timestamp = time_ns
        packet.timestamp_clock_id = self._messages.BUILTIN_CLOCK_MONOTONIC
        packet.track_event.type = kind
        packet.track_event.track_uuid = uuid
        return packet.track_event


def _messages() -> Any:  # noqa: ANN401 - the package has no types
    try:
        from perfetto.protos.perfetto.trace import perfetto_trace_pb2
    except ImportError:
        raise RtscopeError(
            "the Python package perfetto is missing: pip install 'rtscope[traces]'"
        ) from None
    return perfetto_trace_pb2
