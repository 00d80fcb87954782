# SPDX-License-Identifier: GPL-2.0-only
"""The module rtloop: its loops keep the time that they are known for, and nothing makes it fail."""

from collections.abc import Callable
from pathlib import Path

import pytest

from rtscope.engine.explain import check_explainable
from rtscope.engine.measure import measure
from rtscope.engine.targets import target_of
from rtscope.lab.kernels import Kernel
from rtscope.model.errors import RtscopeError
from rtscope.model.machine import Machine
from rtscope.model.request import Request
from rtscope.model.run import Run
from rtscope.target.local import LOCAL
from tests.lab.guest_program import tried
from tests.lab.kernel_names import BUILT, BUILT_OTHERS, DEBIAN, DEBUG, NEWEST, OLDEST

KernelNamed = Callable[[str], Kernel]

METHODS = ["timer", "relative", "absolute", "deadline"]

PERIOD_NS = 1_000_000
SLACK_NS = 20_000


def measured(kernel: Kernel, method: str, periods: int, load: str = "idle") -> Run:
    request = Request(
        probe="loop",
        samples=periods,
        interval_ns=PERIOD_NS,
        load=load,
        options={"in": "kernel", "method": method, "work": "20us", "slack": "20us"},
    )
    target = target_of(f"vm:{kernel.name}")
    run = measure(request, Machine(), lambda agent: None, lambda line: None, target)
    assert run.status == "complete"
    assert (run.threads[0].name, run.threads[0].count) == (f"kernel-{method}", periods)
    return run


def drift_ns(run: Run) -> float:
    """How much later the last period ended than it was asked, beside the first's beginning."""
    thread = run.threads[0]
    return thread.metrics["expected"] * PERIOD_NS - thread.count * PERIOD_NS


@pytest.mark.parametrize("name", [*BUILT, *BUILT_OTHERS])
def test_a_running_deadline_drifts_by_nothing_over_10000_periods_and_the_rest_does(
    name: str, kernel_named: KernelNamed
) -> None:
    """Its first and its last period may begin late, by the slack and by the path to the thread."""
    kernel = kernel_named(name)
    absolute, relative = (measured(kernel, method, 10_000) for method in ("absolute", "relative"))

    assert abs(drift_ns(absolute)) < 5 * SLACK_NS
    assert drift_ns(relative) > 10_000 * SLACK_NS
    longest_ns = absolute.threads[0].max_ns
    assert longest_ns is not None
    assert longest_ns < PERIOD_NS + 5 * SLACK_NS


@pytest.mark.parametrize(
    "method",
    [
        pytest.param(method, marks=[] if method == "absolute" else [pytest.mark.long])
        for method in METHODS
    ],
)
def test_the_emulator_sees_the_periods_that_the_loop_itself_reads_from_the_clock(
    method: str, kernel_named: KernelNamed
) -> None:
    run = measured(kernel_named("6.12-rt-amd64"), method, 200, "cpu:1")
    thread = run.threads[0]

    for seen, own in [("longest_ns", thread.max_ns), ("shortest_ns", thread.min_ns)]:
        assert own is not None
        assert abs(thread.metrics[f"outside_{seen}"] - own) < 2000
    counts = [thread.metrics[f"outside_{name}"] for name in ("in_range", "over", "under")]
    assert counts == [thread.metrics[name] for name in ("in_range", "over", "under")]
    assert "loop-no-observer" not in {warning.code for warning in run.warnings}


@pytest.mark.kernels
def test_a_thread_on_another_cpu_watches_where_there_is_one(kernel_named: KernelNamed) -> None:
    kernel = kernel_named("6.12-rt-amd64")
    request = Request(probe="loop", duration_ns=4 * 10**9, options={"in": "kernel"})
    target = target_of(f"vm:{kernel.name},cpus=2")
    run = measure(request, Machine(), lambda agent: None, lambda line: None, target)

    assert run.asked.options["observer"] == "CPU 1"
    assert [thread.name for thread in run.threads] == [f"kernel-{method}" for method in METHODS]
    for thread in run.threads:
        counted = sum(thread.metrics[name] for name in ("in_range", "over", "under"))
        assert counted == thread.count > 20
        assert thread.metrics["uncertain"] <= thread.count
        assert thread.metrics["observer_gap_max_ns"] > 0
        assert "outside_over" not in thread.metrics


def test_what_made_a_period_long_in_the_kernel_is_not_explained_by_what_came_later() -> None:
    request = Request(probe="loop", options={"in": "kernel"})
    with pytest.raises(RtscopeError, match="cannot explain a loop in the kernel"):
        check_explainable(LOCAL, 1, request)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", [*DEBIAN, *BUILT, *BUILT_OTHERS])
def test_each_loop_is_the_same_to_the_nanosecond_on_every_run(
    name: str, method: str, kernel_named: KernelNamed
) -> None:
    kernel = kernel_named(name)
    one, other = (measured(kernel, method, 300) for _ in range(2))

    assert one.threads == other.threads
    assert one.threads[0].missed == 0
    assert abs(one.threads[0].metrics["drift_ns_per_s"]) < 0.1e9


@pytest.mark.kernels
def test_work_that_a_timer_queues_is_delayed_by_what_a_loop_of_its_own_is_not(
    kernel_named: KernelNamed,
) -> None:
    """The driver report's first attempt against its third, under load."""
    kernel = kernel_named("6.12-rt-amd64")
    longest = {
        method: measured(kernel, method, 2000, "cpu:1").threads[0].max_ns or 0
        for method in ("timer", "absolute")
    }
    assert longest["timer"] > PERIOD_NS * 1.2
    assert longest["absolute"] < PERIOD_NS * 1.1


@pytest.mark.parametrize("name", [*DEBIAN, OLDEST, NEWEST, *BUILT, *BUILT_OTHERS, *DEBUG])
def test_no_use_of_the_module_leaves_a_thread_or_makes_the_kernel_complain(
    name: str, kernel_named: KernelNamed, tmp_path: Path
) -> None:
    reported, console = tried("rtloop", kernel_named(name), tmp_path)

    assert reported == {
        "parameters": "7 of 7 refused",
        "setups": "10 of 10 refused",
        "memory": "refused",
        "request": "refused",
        **{
            f"method {number}": "loops 1, once 1, ends 1, threads 0"
            for number in range(len(METHODS))
        },
        **{f"past {number}": "loops 1, no period before" for number in range(len(METHODS))},
        "two": "loop 1 1, threads 2",
        "one of two": "loops 1, threads 1",
        "unload": "refused",
        "mapped": "loops 1, threads 1",
        "unmapped": "threads 0",
        "forked": "threads 1",
        "killed": "threads 0",
        "together": "threads 0",
    }
    for sentence in [
        "the method 'sometimes' is not timer, relative, absolute or deadline",
        "the period of 99000 ns is not in the range 100000 to 1000000000 ns",
        "the slack of 10001000 ns is longer than the period of 10000000 ns",
        "a poll of 8001000 ns takes more than 80 % of the period of 10000000 ns",
        "a priority of 100 is not 0 to 99",
        "a priority of 50 is not 0, which timer and deadline need",
        "there is no CPU 31 to run on",
        "a start at 18446744073709551615 ns is more than an hour ahead",
    ]:
        assert f"rtloop: {sentence}" in console
