# SPDX-License-Identifier: GPL-2.0-only
"""rtscope watch: outliers in the store while it runs, and what is left of it when it is killed."""

import json
import signal
import time
from typing import Any

from tests.agent.probing import LAST_CPU, hogged
from tests.cli.conftest import Rtscope, started
from tests.places import needs_tracefs

WORDS = ("watch", "--cpus", str(LAST_CPU), "--above", "3ms", "--for", "1h", "--no-report")
LIMIT_S = 60.0


def so_far(rtscope: Rtscope) -> dict[str, Any] | None:
    """The run in the store; None before it has an outlier."""
    done = rtscope("show", "last", "--json")
    run = json.loads(done.stdout) if done.returncode == 0 else {}
    return run if run.get("explanations") else None


@needs_tracefs
def test_an_outlier_is_in_the_store_while_the_watch_runs_and_stays_when_it_is_killed(
    environment: dict[str, str], rtscope: Rtscope
) -> None:
    with (
        hogged(LAST_CPU, burst_ms=6, period_ms=300, priority=95),
        started(environment, *WORDS) as watching,
    ):
        try:
            until_s = time.monotonic() + LIMIT_S
            while (run := so_far(rtscope)) is None and time.monotonic() < until_s:
                time.sleep(0.2)
            assert run is not None
            assert watching.poll() is None
        finally:
            watching.send_signal(signal.SIGKILL)
            watching.wait()
    kept = so_far(rtscope)

    assert kept is not None
    assert kept["id"] == run["id"]
    assert kept["status"] == "interrupted"
    assert "unfinished" in {one["code"] for one in kept["warnings"]}
    assert all(one["latency_ns"] >= 3_000_000 for one in kept["explanations"])


@needs_tracefs
def test_a_watch_keeps_the_worst_outliers_and_counts_the_others(rtscope: Rtscope) -> None:
    with hogged(LAST_CPU, burst_ms=5, period_ms=60, priority=95):
        words = ("--cpus", str(LAST_CPU), "--above", "2ms", "--for", "2s", "--keep", "3")
        done = rtscope("watch", *words, "--json", "--no-report", "-q")
    run = json.loads(done.stdout)
    told = [one["latency_ns"] for one in run["explanations"]]
    worst = sorted((one["latency_ns"] for one in run["threads"][0]["worst"]), reverse=True)

    assert told == worst[:3]
    assert "outliers-left-out" in {one["code"] for one in run["warnings"]}
    assert run["programs"][0]["total_ns"] >= run["programs"][-1]["total_ns"]
    assert run["status"] == "complete"
