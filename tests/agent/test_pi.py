# SPDX-License-Identifier: GPL-2.0-only
"""The agent's pi verb: a lock held for a known time is waited for as long as that, or longer."""

import os
import signal
import statistics
import time

import pytest

from tests.agent.probing import (
    children,
    measure,
    measuring,
    middle_ns,
    needs_quiet,
    needs_root,
    of_type,
    samples,
    threads,
)


@needs_root
@pytest.mark.parametrize(("hold_ms", "medium_ms"), [(2, 10), (10, 5), (1, 20)])
def test_the_wait_is_the_hold_with_inheritance_and_the_medium_threads_work_more_without(
    hold_ms: int, medium_ms: int
) -> None:
    lines = measure(
        "pi",
        "-D",
        "2s",
        "--hold",
        f"{hold_ms}ms",
        "--medium",
        f"{medium_ms}ms",
        "-p",
        "98",
    )
    assert list(threads(lines)) == ["inherit", "none"]
    assert middle_ns(lines, "inherit") == pytest.approx(hold_ms * 1e6, rel=0.1)
    assert middle_ns(lines, "none") == pytest.approx((hold_ms + medium_ms) * 1e6, rel=0.1)
    inherit, none = threads(lines)["inherit"], threads(lines)["none"]
    assert inherit["count"] > 10
    assert none["facts"]["inversions"] == none["count"]
    assert inherit["facts"]["inversions"] <= inherit["count"] / 5
    assert none["facts"]["hold_ns"] == hold_ms * 1e6
    assert none["facts"]["medium_ns"] == medium_ms * 1e6


@needs_quiet
@needs_root
def test_a_stop_while_the_lock_is_held_is_waited_for_too() -> None:
    options = ("-i", "40ms", "--hold", "30ms", "--medium", "5ms", "-p", "98")
    others = children(os.getpid())
    with measuring("pi", *options) as lines:
        (process,) = {*children(os.getpid())} - {*others}
        stops_ns = []
        for _ in range(12):
            begun_ns = time.monotonic_ns()
            os.kill(process, signal.SIGSTOP)
            time.sleep(0.06)
            os.kill(process, signal.SIGCONT)
            stops_ns.append(time.monotonic_ns() - begun_ns)
            time.sleep(0.051)
    for name, held_ns in (("inherit", 30e6), ("none", 35e6)):
        waits = samples(lines, 60_000_000, threads(lines)[name]["thread"])
        assert len(waits) >= 2
        assert statistics.median(waits) == pytest.approx(
            statistics.median(stops_ns) + held_ns, rel=0.1
        )


@needs_root
def test_all_threads_are_on_the_first_cpu_asked_for() -> None:
    lines = measure("pi", "-l", "3", "-p", "50", "-i", "20ms")
    for thread in of_type(lines, "thread"):
        assert (thread["cpu"], thread["policy"], thread["priority"]) == (0, "fifo", 50)
        assert thread["count"] == 3
    assert lines[-1]["status"] == "complete"
