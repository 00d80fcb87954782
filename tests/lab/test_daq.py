# SPDX-License-Identifier: GPL-2.0-only
"""A digitizer's data reach a program in each of the ways that the module rtdaq has, exactly.

In exact mode all of these are the same figures on every run, lost events too.
"""

import functools
from collections.abc import Callable
from pathlib import Path

import pytest

from rtscope.engine.dryrun import dry_run
from rtscope.engine.measure import measure
from rtscope.engine.targets import target_of
from rtscope.lab.kernels import Kernel
from rtscope.model.machine import Machine
from rtscope.model.request import Request
from rtscope.model.run import Run, Thread
from rtscope.model.units import parse_time_ns
from tests.lab.guest_program import tried
from tests.lab.kernel_names import BUILT, BUILT_OTHERS, DEBIAN, DEBUG, NEWEST, OLDEST

KernelNamed = Callable[[str], Kernel]

RT = "6.12-rt-amd64"
DEBIAN_RT = pytest.param(RT, marks=pytest.mark.long)
ARM64_STD = pytest.param("arm64-std", marks=pytest.mark.long)
EVENTS = 300
EVENT_BYTES = 11 * 1024 * 2


def measured(target: str, *, events: int = EVENTS, **options: str) -> Run:
    """With the probe's options, and load and interval for what they are anywhere."""
    own = {name.replace("_", "-"): value for name, value in options.items()}
    load, interval = own.pop("load", "idle"), own.pop("interval", None)
    interval_ns = parse_time_ns(interval, "us") if interval else None
    request = Request(probe="daq", samples=events, load=load, interval_ns=interval_ns, options=own)
    return measure(request, Machine(), lambda agent: None, lambda line: None, target_of(target))


@functools.cache
def thread_of(name: str, *, events: int = EVENTS, **options: str) -> Thread:
    """Of a run, made once, that had its events, all of them right."""
    run = measured(f"vm:{name}", events=events, **options)
    (thread,) = run.threads
    assert (run.status, thread.count) == ("complete", events)
    assert thread.metrics["data_errors"] == 0
    assert set(thread.metrics) == set(dry_run(Request(probe="daq", samples=1)).metrics)
    return thread


@pytest.mark.parametrize("name", [DEBIAN_RT, *BUILT, ARM64_STD, *BUILT_OTHERS])
def test_scatter_and_mapped_copy_nothing_and_copy_copies_each_byte(
    name: str, kernel_named: KernelNamed
) -> None:
    kernel_named(name)
    copied, mapped, scattered = (
        thread_of(name, transfer=way) for way in ("copy", "mapped", "scatter")
    )

    assert copied.metrics["copied_bytes_per_event"] == EVENT_BYTES
    assert copied.metrics["bytes_per_event"] == scattered.metrics["bytes_per_event"] == EVENT_BYTES
    for thread in (mapped, scattered):
        assert thread.metrics["copied_bytes_per_event"] == 0
        assert thread.metrics["cpu_ns_per_event"] < copied.metrics["cpu_ns_per_event"]
        assert (thread.min_ns or 0) < (copied.min_ns or 0)
    assert copied.metrics["lost"] == mapped.metrics["lost"] == scattered.metrics["lost"] == 0


@pytest.mark.parametrize("name", [DEBIAN_RT, *BUILT, ARM64_STD, *BUILT_OTHERS])
def test_twice_the_data_cost_a_copy_more_and_scatter_nothing_but_the_look_at_them(
    name: str, kernel_named: KernelNamed
) -> None:
    kernel_named(name)
    cpu_ns = {
        (way, samples): thread_of(name, transfer=way, samples_per_channel=samples).metrics[
            "cpu_ns_per_event"
        ]
        for way in ("copy", "scatter")
        for samples in ("1024", "2048")
    }

    copy_ns, scatter_ns = (cpu_ns[way, "2048"] - cpu_ns[way, "1024"] for way in ("copy", "scatter"))
    assert copy_ns > EVENT_BYTES / 8  # no CPU here copies more than 8 bytes an instruction
    assert scatter_ns < copy_ns / 4


@pytest.mark.parametrize("name", [DEBIAN_RT, *BUILT, ARM64_STD, *BUILT_OTHERS])
def test_an_interrupt_a_channel_is_1440_a_second_and_one_an_event_is_120(
    name: str, kernel_named: KernelNamed
) -> None:
    kernel_named(name)
    each, once = (thread_of(name, interrupts=way) for way in ("channel", "event"))

    assert each.metrics["interrupts_per_event"] * 120 == 1440
    assert once.metrics["interrupts_per_event"] * 120 == 120
    assert each.metrics["cpu_ns_per_event"] > 4 * once.metrics["cpu_ns_per_event"]
    assert each.metrics["whole_mean_ns"] > 2 * once.metrics["whole_mean_ns"]


@pytest.mark.kernels
def test_under_load_two_calls_lose_events_and_one_that_arms_and_waits_loses_none(
    kernel_named: KernelNamed,
) -> None:
    kernel_named(RT)
    # It arms 22,000 times. Under load one in a thousand is too late.
    separate, atomic = (
        thread_of(RT, events=2000, interval="500us", interrupts="channel", arm=arm, load="timers")
        for arm in ("separate", "atomic")
    )

    assert separate.metrics["lost"] >= separate.metrics["unseen_interrupts"] > 0
    assert separate.metrics["timeouts"] == separate.metrics["unseen_interrupts"]
    assert separate.missed == separate.metrics["lost"]
    assert atomic.metrics["lost"] == atomic.metrics["unseen_interrupts"] == atomic.missed == 0


@pytest.mark.long
def test_the_same_run_is_the_same_to_the_nanosecond(kernel_named: KernelNamed) -> None:
    kernel_named(RT)
    first, second = (
        measured(f"vm:{RT}", interrupts="channel", arm="separate", load="timers").threads[0]
        for _ in range(2)
    )

    assert first.histogram == second.histogram
    assert first.metrics == second.metrics


@pytest.mark.long
def test_a_late_reader_gets_the_number_of_overwritten_events(
    kernel_named: KernelNamed,
) -> None:
    kernel_named(RT)
    metrics = thread_of(RT, work="9ms").metrics

    # Of nine periods of 8.33 ms it has time for eight.
    assert metrics["overwritten"] == pytest.approx(EVENTS / 12, rel=0.2)
    assert metrics["lost"] == pytest.approx(metrics["overwritten"], abs=2)


@pytest.mark.kernels
def test_eight_digitizers_are_read_by_eight_threads(kernel_named: KernelNamed) -> None:
    kernel_named(RT)
    run = measured(f"vm:{RT}", modules="8")

    assert [thread.name for thread in run.threads] == [f"module {n}" for n in range(1, 9)]
    for thread in run.threads:
        assert thread.count == EVENTS
        assert thread.metrics["lost"] == thread.metrics["data_errors"] == 0


@pytest.mark.parametrize(
    "name", [*DEBIAN, OLDEST, NEWEST, *BUILT, ARM64_STD, *BUILT_OTHERS, *DEBUG]
)
def test_no_use_of_the_module_leaves_a_thread_or_makes_the_kernel_complain(
    name: str, kernel_named: KernelNamed, tmp_path: Path
) -> None:
    reported, console = tried("rtdaq", kernel_named(name), tmp_path)

    assert reported == {
        "parameters": "8 of 8 refused",
        "setups": "11 of 11 refused",
        "no buffer": "Invalid argument",
        "no pages": "Bad address",
        "memory": "refused",
        "before": "Invalid argument",
        "request": "refused",
        "set up": "0",
        "twice": "Resource busy",
        "map": "refused",
        "no start": "Operation timed out",
        "start in two hours": "Invalid argument",
        "start": "0",
        "start twice": "Resource busy",
        "refused": "threads 0",
        "fault": "refused, threads 0",
        "after fault": "Invalid argument",
        "set up after fault": "0",
        "event after fault": "No error information",
        **{f"past {number}": "0, no event before" for number in range(3)},
        "locked memory": "limited",
        "transfer 0": f"0, 22 blocks, copied {EVENT_BYTES}",
        "transfer 1": "0, 22 blocks, copied 0",
        "transfer 2": "0, 22 blocks, copied 0",
        "transferred": "threads 0",
        "eight": "threads 8",
        "nine": "Resource busy",
        "unload": "refused",
        "in its place": "0",
        "none": "threads 0",
        "two": "refused",
        "closed": "threads 1",
        "waited": "Operation timed out",
        "after it": "threads 0",
        "forked": "threads 1",
        "killed": "threads 0",
        "together": "threads 0",
    }
    for words in [
        "the number of channels is 65, but must be from 1 to 64",
        "the number of samples is 1000, but must be a multiple of 512",
        "the period in ns is 99000, but must be from 100000 to",
        "mb_s is 0, but must be from 1 to 100000",
    ]:
        assert f"rtdaq: {words}" in console
