# SPDX-License-Identifier: GPL-2.0-only
"""The rules that every probe keeps: its end, its counts, its defaults and its users."""

import json
import os
import re
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.agent.probing import (
    AGENT,
    LAST_CPU,
    NOBODY,
    Lines,
    as_nobody,
    lines_left,
    measure,
    measure_stopped,
    needs_quiet,
    needs_root,
    needs_two_cpus,
    of_type,
    refusal,
    started,
    undisturbed,
)

ON_LAST_CPU = f"-a {LAST_CPU}"
WAYS = ("cond", "futex", "eventfd", "pipe", "semaphore", "mqueue")


def start_of(probe: str, *options: str) -> dict[str, Any]:
    """The start line of a dry run."""
    command: list[str | Path] = [AGENT, probe, "--json", "--dry-run", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return next(line for line in lines if line["type"] == "start")


def has_result(lines: Lines) -> bool:
    return bool(of_type(lines, "matrix")) or any(
        thread["count"] for thread in of_type(lines, "thread")
    )


@pytest.mark.parametrize(
    "probe",
    [
        *("cyclic", "signal", "loop", "sched", "noise", "gtod -D 1h", "scaling --threads 50"),
        *("topology --slot 2ms", "memory --slot 1ms"),
        *(pytest.param(f"{name} -i 40ms", marks=needs_root) for name in ("migrate", "pi")),
    ],
)
def test_an_interrupt_keeps_what_was_measured(probe: str) -> None:
    with started(*probe.split()) as process:
        process.terminate()
        lines = lines_left(process)
    assert lines[-1]["status"] == "interrupted"
    assert has_result(lines)


@pytest.mark.parametrize(
    "probe",
    [
        *("cyclic -i 1h", *(f"async -i 1h --via {way}" for way in WAYS)),
        pytest.param("pi -i 1m", marks=needs_root),
    ],
)
def test_a_long_sleep_does_not_delay_an_interrupt(probe: str) -> None:
    with started(*probe.split(), until="start") as process:
        began_s = time.monotonic()
        process.terminate()
        assert lines_left(process)[-1]["status"] == "interrupted"
        assert time.monotonic() - began_s < 10


@needs_root
@pytest.mark.parametrize(
    "probe",
    [
        *("cyclic -D 300ms", f"async -D 300ms --via all {ON_LAST_CPU}", "loop -D 1s"),
        *(f"signal -D 1s {ON_LAST_CPU}", "memory --slot 1ms --largest 16 -a 0 -l 1"),
        pytest.param("topology --slot 1ms -l 1", marks=needs_two_cpus),
        "noise -D 300ms --threshold 1us --policy fifo",
    ],
)
def test_an_ordinary_user_measures_with_ordinary_threads(public_agent: Path, probe: str) -> None:
    lines = as_nobody(public_agent, *probe.split())
    assert "no-rt-priority" in {line["code"] for line in of_type(lines, "warning")}
    assert {thread["policy"] for thread in of_type(lines, "thread")} == {"other"}
    assert has_result(lines)


@needs_root
@pytest.mark.parametrize("probe", ["migrate", "pi"])
def test_where_order_needs_real_time_priority_a_user_without_is_refused(
    public_agent: Path, probe: str
) -> None:
    assert "refused to this user" in refusal(probe, prefix=NOBODY, agent=public_agent)


@needs_root
@needs_quiet
@pytest.mark.parametrize(
    ("probe", "periods_per_s"),
    [
        (f"async {ON_LAST_CPU}", 1000),
        ("signal -i 1ms --busy 0", 1000),
        (f"sched {ON_LAST_CPU} --busy 0 -i 1ms", 1000),
        ("pi -i 5ms --hold 500us --medium 1ms -p 98", 100),  # each series has every second round
        pytest.param("migrate -a 0,1 -i 10ms --work 2ms -p 98", 100, marks=needs_two_cpus),
    ],
)
def test_a_stop_of_the_whole_agent_is_missed_periods(probe: str, periods_per_s: int) -> None:
    with undisturbed():
        lines, stopped_s = measure_stopped(*probe.split())
    for thread in of_type(lines, "thread"):
        if not probe.startswith("async") or thread["thread"] == 0:
            assert thread["missed"] == pytest.approx(stopped_s * periods_per_s, rel=0.1)


@pytest.mark.parametrize(
    "probe",
    [
        *(
            f"async -l 150 --via {way} --cache {cache}"
            for way in WAYS
            for cache in ("cold", "warm")
        ),
        *(f"signal -l 150 -i 1ms --method {m}" for m in ("asynchronous", "synchronous", "both")),
        "loop -l 40 -i 2ms --work 100us",
    ],
)
def test_each_series_has_the_samples_asked_for(probe: str) -> None:
    lines = measure(*probe.split())
    assert lines[-1]["status"] == "complete"
    (wanted,) = re.findall(r"-l (\d+)", probe)
    assert {thread["count"] for thread in of_type(lines, "thread")} == {int(wanted)}


@pytest.mark.parametrize(
    ("probe", "periods", "tolerance"),
    [
        pytest.param(
            "cyclic -D 1s -i 500us",
            2000,
            1,
            marks=needs_quiet,
        ),
        ("async -D 1s", 1000, 50),
        ("signal -D 1s -i 2ms", 500, 50),
        ("sched -D 1s -i 2ms --busy 200us", 500, 2),
    ],
)
def test_every_period_is_a_sample_or_missed(probe: str, periods: int, tolerance: int) -> None:
    for thread in of_type(measure(*probe.split()), "thread"):
        before_start = thread.get("facts", {}).get("start_ns", 0) / 1e9 * periods
        counted = thread["count"] + thread["missed"]
        assert counted == pytest.approx(periods - before_start, abs=tolerance)


@pytest.mark.parametrize(
    "probe",
    [
        pytest.param("async --break 1us --via all", marks=needs_root),
        *("signal --break 1us", "cyclic --break 1us", "noise --break 1us"),
    ],
)
def test_it_breaks_at_the_first_latency_over_the_threshold(probe: str) -> None:
    end = measure(*probe.split())[-1]
    assert end["status"] == "threshold"
    assert end["time_ns"] < 5e9


@pytest.mark.parametrize(
    "method", ["sigio", "sigwait", "read", "ioctl", "poll", "epoll", "eventfd", "page", "uring"]
)
def test_every_notification_path_of_event_is_a_series_of_its_name(method: str) -> None:
    (thread,) = start_of("event", "--via", method)["threads"]
    assert thread["name"] == method
    assert (thread["policy"] == "other") == (method == "sigio" or os.geteuid() != 0)


@pytest.mark.parametrize(
    ("probe", "module"), [("daq", "rtdaq"), ("event", "rtevent"), ("loop --in kernel", "rtloop")]
)
def test_without_its_module_a_probe_names_it(probe: str, module: str) -> None:
    if Path(f"/dev/{module}").exists():
        pytest.skip(f"the module {module} is loaded here")
    assert f"load the module {module} (make modules" in refusal(*probe.split())
