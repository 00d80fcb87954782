# SPDX-License-Identifier: GPL-2.0-only
"""A series measures all that was asked in turns, and says what could not be."""

from collections.abc import Callable

import msgspec
import numpy as np
import pytest

from rtscope.engine.placement import fitting_interval_ns, slots_of
from rtscope.engine.rounds import Progress, begun, measure_rounds
from rtscope.model.errors import RtscopeError
from rtscope.model.machine import Machine
from rtscope.model.placement_series import series_of
from rtscope.model.request import Request
from rtscope.model.run import Run, RunWarning
from rtscope.model.scaling import Pair, Placement, SeriesRecord
from rtscope.store.runfile import decode_run, encode_run
from rtscope.target.command import command_of
from tests.measured import run_of, thread_of

RECORD = begun("scale", Machine(), "local", SeriesRecord())
ONE, TWO = Placement((0,), 1), Placement((0, 2), 2)
APP = Request(probe="exec", samples=1, program=["./app", "--threads", "{n}", "x{n}y"])
SCALAR = Request(probe="scaling", options={"form": "scalar"})


def answering(times: Callable[[Request], list[int]], asked: list[Request]) -> Callable[..., Run]:
    def run(request: Request) -> Run:
        asked.append(request)
        return run_of(thread_of(times(request)))

    return run


def test_a_workload_gets_its_number_of_threads_its_cpus_and_its_loads() -> None:
    one, two = slots_of({"./app": APP}, [ONE, TWO])
    assert one.request.program == ["./app", "--threads", "1", "x1y"]
    assert command_of(two.request)[-5:] == ["--", "./app", "--threads", "2", "x2y"]
    assert "--cpus=0,2" in command_of(two.request)
    idle, loaded = slots_of({"scalar": SCALAR}, [TWO], ["idle", "memory"], [1, 3])
    assert idle.request.options == {"form": "scalar", "threads": "2"}
    assert not any(word.startswith("--load") for word in command_of(idle.request))
    assert {"--load=memory", "--load-cpus=1,3"} <= set(command_of(loaded.request))


def test_every_round_measures_every_cell_once_in_another_order() -> None:
    asked: list[Request] = []
    slots = slots_of({"scalar": SCALAR}, [Placement((cpu,), 1) for cpu in range(6)])
    series = series_of(
        measure_rounds(slots, 4, RECORD, answering(lambda r: [int(r.cpus or 0) + 1] * 3, asked))
    )
    rounds = [[r.cpus for r in asked[n : n + 6]] for n in range(0, 24, 6)]
    assert all(sorted(map(str, one)) == list("012345") for one in rounds)
    assert len({tuple(one) for one in rounds}) == 4
    assert [cell.medians_ns for cell in series.cells] == [[cpu + 1.0] * 4 for cpu in range(6)]
    assert [cell.histogram.total for cell in series.cells] == [12] * 6


DIED = "thread 0 could not measure on: ./app was ended by signal 11"


def failing(at: int, failure: str, seen: list[str]) -> Callable[[Request], Run]:
    """Measure until the `at`th cell, which is interrupted, raises an error or fails."""

    def run(request: Request) -> Run:
        if len(seen) < at:
            return run_of(thread_of([100]))
        if failure == "interrupted":
            return run_of(thread_of([100]), status="interrupted")
        if failure == "failed":
            warnings = [RunWarning("thread-failed", DIED)]
            return run_of(thread_of([]), status="failed", warnings=warnings)
        raise RtscopeError("the connection was lost")

    return run


FAILURES = {
    "interrupted": ("interrupted", []),
    "failed": ("failed", ["./app was ended by signal 11"]),
    "lost": ("failed", ["the connection was lost"]),
    "signal": ("interrupted", []),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_what_ends_in_a_later_round_loses_no_round_before_it(failure: str) -> None:
    seen: list[str] = []
    kept: list[Run] = []
    progress = Progress(
        lambda name, done, total: seen.append(name),
        kept.append,
        is_over=lambda: failure == "signal" and len(seen) == 5,
    )
    slots = slots_of({"./app": APP}, [ONE, TWO])
    record = measure_rounds(slots, 5, RECORD, failing(5, failure, seen), progress)
    status, reasons = FAILURES[failure]
    assert record.status == status
    assert [len(cell.medians_ns) for cell in series_of(record).cells] == [2, 2]
    assert [(one.placement_series and one.placement_series.rounds, one.id) for one in kept] == [
        (1, RECORD.id),
        (2, RECORD.id),
    ]
    for warning, reason in zip(record.warnings, reasons, strict=True):
        assert warning.text.startswith("round 3 failed, and those before it are shown: ")
        assert reason in warning.text


@pytest.mark.parametrize("failure", ["interrupted", "failed", "lost"])
def test_what_ends_in_the_first_round_loses_no_cell_before_it(failure: str) -> None:
    seen: list[str] = []
    progress = Progress(lambda name, done, total: seen.append(name))
    slots = slots_of({"./app": APP}, [ONE, TWO, Placement((1,), 1)])
    record = measure_rounds(slots, 5, RECORD, failing(3, failure, seen), progress)
    status, reasons = FAILURES[failure]
    assert record.status == status
    assert decode_run(encode_run(record)) == record
    assert {thread.name for thread in record.threads} == {*seen[:2]}
    assert [warning.text for warning in record.warnings] == [
        "round 1 failed, and what was measured before is shown: "
        f"{seen[2]} could not be measured: {reason}"
        for reason in reasons
    ]


def test_an_interrupt_before_anything_was_measured_is_reported() -> None:
    with pytest.raises(RtscopeError, match="interrupted before anything was measured"):
        measure_rounds(slots_of({"./app": APP}, [ONE]), 5, RECORD, failing(0, "interrupted", []))


@pytest.mark.parametrize(
    ("target", "said", "reported"),
    [
        ("local", "ended with exit status 3: no such file", "ended with exit status 3"),
        ("ssh:board", "could not be started: No such file", "file: copy it to ssh:board first"),
    ],
)
def test_a_program_that_fails_is_reported_with_its_last_words(
    target: str, said: str, reported: str
) -> None:
    def run(request: Request) -> Run:
        failed = RunWarning("thread-failed", f"thread 0 could not measure on: ./app {said}")
        warnings = [failed, RunWarning("no-samples", "none"), RunWarning("virtualised", "yes")]
        return run_of(thread_of([]), status="failed", target=target, warnings=warnings)

    with pytest.raises(RtscopeError, match=rf"CPU 0 could not be measured: \./app .*{reported}"):
        measure_rounds(slots_of({"./app": APP}, [ONE]), 2, RECORD, run)


def test_a_load_that_cannot_run_here_is_left_out_and_reported() -> None:
    def run(request: Request) -> Run:
        if request.load == "network":
            raise RtscopeError("load network: no loopback")
        return run_of(thread_of([100]))

    slots = slots_of({"./app": APP}, [ONE], ["idle", "network", "cpu"], [1])
    record = measure_rounds(slots, 2, RECORD, run)
    assert [cell.load for cell in series_of(record).cells] == ["idle", "cpu"]
    assert [one.text for one in record.warnings] == [
        "network is left out, for it cannot run here: load network: no loopback"
    ]


def test_the_interval_leaves_room_for_the_slowest_workload() -> None:
    asked: list[Request] = []
    times = answering(lambda r: [400_000 if r.options["form"] == "scalar" else 90_000] * 20, asked)
    both = {"scalar": SCALAR, "vector": Request(probe="scaling", options={"form": "vector"})}
    assert fitting_interval_ns(both, 3, times) == 1_100_000
    assert [(r.cpus, r.samples) for r in asked] == [("3", 20), ("3", 20)]


def test_a_series_is_kept_as_a_run_whose_threads_are_its_cells() -> None:
    times = {"0": iter([[100, 200, 300], [200, 300, 400]]), "0,2": iter([[1000] * 3] * 2)}

    def run(request: Request) -> Run:
        return run_of(thread_of(next(times[request.cpus or ""])))

    record = measure_rounds(slots_of({"./app": APP}, [ONE, TWO]), 2, RECORD, run)
    one, two = record.threads
    assert (one.name, two.name) == ("./app, 1 thread on CPU 0", "./app, 2 threads on CPUs 0,2")
    assert (one.count, one.min_ns, one.mean_ns, one.max_ns) == (6, 100, 250.0, 400)
    assert one.stddev_ns == pytest.approx(np.std([100, 200, 300, 200, 300, 400]))
    assert one.windows.mean_ns == [200.0, 300.0]
    assert record.status == "complete"
    assert decode_run(encode_run(record)) == record
    assert [cell.histogram.total for cell in series_of(record).cells] == [6, 6]


def test_a_series_that_contradicts_itself_is_no_run() -> None:
    record = measure_rounds(
        slots_of({"./app": APP}, [ONE, TWO]), 2, RECORD, answering(lambda r: [9], [])
    )
    kept = record.placement_series
    assert kept is not None
    for wrong, said in (
        (msgspec.structs.replace(kept, cells=kept.cells[:1]), "1 cells for 2 threads"),
        (msgspec.structs.replace(kept, rounds=3), "median for each of 3 rounds"),
        (msgspec.structs.replace(kept, pairs=[Pair("core", Placement((), 2))]), "without a CPU"),
    ):
        with pytest.raises(RtscopeError, match=f"not a valid run: its series has .*{said}"):
            decode_run(encode_run(msgspec.structs.replace(record, placement_series=wrong)))


def test_a_record_that_is_gone_on_with_has_the_rounds_of_both() -> None:
    slots = slots_of({"./app": APP}, [ONE, TWO])
    whole = measure_rounds(slots, 5, RECORD, answering(lambda r: [100, 120], []))

    kept: list[Run] = []
    measure_rounds(
        slots, 3, RECORD, answering(lambda r: [100, 120], []), Progress(on_round=kept.append)
    )
    earlier = kept[-1]
    assert series_of(earlier).rounds == 2
    asked: list[Request] = []
    both = measure_rounds(
        slots, 5, earlier, answering(lambda r: [100, 120], asked), Progress(), earlier
    )

    assert {request.seed for request in asked} == {3, 4, 5}
    assert both.status == "complete"
    assert series_of(both) == series_of(whole)
    assert both.threads == whole.threads


def test_a_warning_about_the_cpus_of_each_placement_is_kept_once() -> None:
    def run(request: Request) -> Run:
        warning = RunWarning("rt-throttling", f"throttling is on: on CPUs {request.cpus} it is")
        return msgspec.structs.replace(run_of(thread_of([100])), warnings=[warning])

    record = measure_rounds(slots_of({"./app": APP}, [ONE, TWO]), 2, RECORD, run)
    assert [one.text for one in record.warnings] == ["throttling is on: on CPUs 0,2 it is"]
