# SPDX-License-Identifier: GPL-2.0-only
"""The agent's signal verb on this machine: who takes an event, how late, and what is lost."""

import os
import resource
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.agent.probing import (
    AGENT,
    LAST_CPU,
    Lines,
    children,
    hog,
    measure,
    measuring,
    needs_quiet,
    needs_root,
    of_type,
    samples,
    started,
    threads,
)

ON_LAST_CPU = ("-a", str(LAST_CPU))
QUIET = ("--busy", "0")
# The report's table of threads: its main thread is an ordinary one, the waiter has 94.
OTHERS = sorted([10, 10, 69, 58, 63, 70, 50, 90, 79, 59, 69, 59, 60, 61, 62, 63, 64, 65, 16, 14,
                 12, 10, 51, 53, 51, 18, 20, 18, 20])  # fmt: skip


def series(lines: Lines) -> tuple[dict[str, Any], dict[str, Any]]:
    """The threads asynchronous and synchronous."""
    found = threads(lines)
    return found["asynchronous"], found["synchronous"]


@needs_root
def test_the_program_has_the_threads_of_the_report() -> None:
    with started("signal") as process:
        stats = [path.read_text() for path in Path(f"/proc/{process.pid}/task").glob("*/stat")]
    # rt_priority is the 40th field, the 38th after the name in parentheses.
    priorities = sorted(int(stat.rpartition(")")[2].split()[37]) for stat in stats)
    source_and_waiter, main_and_collector, writers = [94, 94], [0, 0], [0, 0]
    assert priorities == sorted(OTHERS + source_and_waiter + main_and_collector + writers)


def test_each_event_was_taken_by_somebody() -> None:
    for thread in of_type(measure("signal", "-l", "300", "-i", "1ms"), "thread"):
        facts = thread["facts"]
        counts = [taker["count"] for taker in thread["takers"]]
        own = thread["count"] if thread["name"] == "synchronous" else 0
        assert facts["taken_by_own_thread"] == own
        assert facts["taken_by_others"] == thread["count"] - own
        assert facts["threads_that_took"] == len(counts)
        assert sum(counts) == thread["count"]
        assert counts == sorted(counts, reverse=True)
        assert facts["jitter_ns"] == thread["max_ns"] - thread["min_ns"]


@needs_root
def test_each_thread_that_took_events_is_named_as_the_kernel_names_it() -> None:
    with measuring("signal", "-i", "1ms", *ON_LAST_CPU) as lines:
        (process,) = children(os.getpid())
        known = {}
        for task in Path(f"/proc/{process}/task").iterdir():
            # rt_priority is the 40th field, the 38th after the name in parentheses.
            priority = int((task / "stat").read_text().rpartition(")")[2].split()[37])
            known[int(task.name)] = ((task / "comm").read_text().strip(), priority)
    asynchronous, synchronous = series(lines)
    assert len(asynchronous["takers"]) >= 2
    for taker in asynchronous["takers"] + synchronous["takers"]:
        name = known[process][0] if taker["name"] == "main" else taker["name"]
        assert known[taker["tid"]] == (name, taker["priority"])
    (waiter,) = synchronous["takers"]
    assert (waiter["priority"], waiter["cpu"]) == (94, LAST_CPU)


@needs_quiet
@needs_root
def test_a_busy_thread_between_both_delays_handlers_and_not_the_waiting_thread() -> None:
    # At 96 it keeps every thread that may handle an event from the CPU, at most 90 as they are,
    # but neither the source nor the waiter, which are at 97.
    options = (*ON_LAST_CPU, *QUIET, "-p", "97", "-i", "2ms", "--deadline", "25ms")
    with measuring("signal", *options) as lines:
        hog(LAST_CPU, 50, 100, 20, 96)
    asynchronous, synchronous = series(lines)
    # Of the 25 events in each burst those of its first half wait for longer than half of it.
    late = len(samples(lines, 25_000_000, asynchronous["thread"]))
    assert late == pytest.approx(20 * 12.5, rel=0.1)
    assert asynchronous["facts"]["deadline_violations"] == pytest.approx(late, abs=1)
    assert asynchronous["facts"]["threads_that_took"] >= 2
    assert len(samples(lines, 25_000_000, synchronous["thread"])) <= 2
    assert synchronous["facts"]["deadline_violations"] <= 2


@needs_root
@pytest.mark.timing("starting the agent takes more CPU time on a busy system")
@pytest.mark.parametrize(("busy", "least", "most"), [(0, 0, 8), (40, 15, 46), (80, 30, 90)])
def test_the_program_computes_at_most_the_share_asked_for(busy: int, least: int, most: int) -> None:
    def used_s() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    before = used_s()
    measure("signal", "-D", "3s", "--busy", str(busy))
    share = 100 * (used_s() - before) / 3 / len(os.sched_getaffinity(0))
    # Less where something else has the CPU: its bursts end by the clock.
    assert least <= share <= most


@pytest.mark.parametrize("method", ["asynchronous", "synchronous", "both"])
@pytest.mark.parametrize("end", [("-D", "500ms"), ("-l", "300")], ids=" ".join)
def test_events_that_the_kernel_refuses_are_lost_and_the_run_ends(
    end: tuple[str, str], method: str
) -> None:
    done = subprocess.run(
        ["prlimit", "--sigpending=0", AGENT, "signal", *end, "--method", method,
         "-i", "1ms", *QUIET],
        capture_output=True, text=True, check=True, timeout=20,
    )  # fmt: skip
    assert "# complete after" in done.stdout
    lost = [float(word.partition(":")[2]) for word in done.stdout.split() if "lost:" in word]
    assert len(lost) == 1 + (method == "both")
    assert all(count > 200 for count in lost)
    assert end[0] == "-D" or all(count == 300 for count in lost)
