# SPDX-License-Identifier: GPL-2.0-only
"""What rtscope exports is read by scripts made for cyclictest, and by rtscope again."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given

from rtscope.model.errors import RtscopeError
from rtscope.model.histogram import Histogram
from rtscope.model.run import Asked, Run, Thread
from rtscope.store.exporter import to_cyclictest_histogram, to_cyclictest_json
from rtscope.store.importer import import_bytes, import_file
from rtscope.store.rteval import to_summary_xml
from tests.measured import run_of, thread_of
from tests.strategies import runs

FILES = Path(__file__).parent / "files"
RUNS = runs().map(lambda run: msgspec.structs.replace(run, probe="cyclic"))
WHEN = "2026-11-21T19:02:42Z"


def a_run(*command: str, **fields: object) -> Run:
    """One thread with samples beyond its histogram, and one without samples."""
    bounds = ([2_999, 3_000, 3_700, 410_000], [1, 1, 300, 400])
    histogram = Histogram(*bounds, [1, 2, 3, 4], 5, 500_000)
    run = run_of(
        Thread(0, 2, "fifo", 80, 15, histogram, 2_999, 600_123, 7_719.5),
        Thread(1, None, "fifo", 80, 0, Histogram()),
        created=WHEN,
        asked=Asked(command=["rtscope", "measure", *command]),
        elapsed_ns=3_000_000_000,
    )
    return msgspec.structs.replace(run, **fields)


def microseconds(thread: Thread) -> dict[int, int]:
    counts: dict[int, int] = {}
    for lower, count in zip(thread.histogram.lower_ns, thread.histogram.count, strict=True):
        counts[lower // 1000] = counts.get(lower // 1000, 0) + count
    return counts


def to_us(figure_ns: int | None) -> int | None:
    return None if figure_ns is None else figure_ns // 1000 * 1000


def test_the_json_is_what_rt_tests_prints() -> None:
    text = to_cyclictest_json(a_run("--load", 'cmd:a "b"\n'))
    ours, theirs = json.loads(text), json.loads((FILES / "cyclictest-2.4.json").read_text())
    assert list(ours) == list(theirs)
    assert list(ours["sysinfo"]) == list(theirs["sysinfo"])
    assert list(ours["thread"]["0"]) == list(theirs["thread"]["0"])
    figures = {"cycles": 15, "min": 2, "max": 600, "avg": 7.72, "cpu": 2, "node": 0}
    none = {"cycles": 0, "min": 1_000_000, "max": 0, "avg": 0.0, "cpu": -1, "node": 0}
    assert ours["thread"] == {
        "0": {"histogram": {"2": 1, "3": 5, "410": 4}} | figures,
        "1": {"histogram": {}} | none,
    }
    times = ("Sat, 21 Nov 2026 19:02:42 +0000", "Sat, 21 Nov 2026 19:02:45 +0000")
    assert (ours["start_time"], ours["end_time"]) == times
    assert (ours["num_threads"], ours["resolution_in_ns"], ours["return_code"]) == (2, 0, 0)
    assert ours["sysinfo"]["realtime"] == 1
    assert re.search(r'^      "max": 600,$', text, re.M)


def test_files_of_cyclictest_survive_being_imported_and_exported() -> None:
    (run,) = import_file(FILES / "cyclictest-2.4.json")
    ours = json.loads(to_cyclictest_json(run))
    theirs = json.loads((FILES / "cyclictest-2.4.json").read_text())
    for key in ("thread", "cmdline:", "start_time", "num_threads", "resolution_in_ns"):
        assert ours[key] == theirs[key]
    (run,) = import_file(FILES / "cyclictest-2.4-H.txt")
    rows = to_cyclictest_histogram(run, buckets=70).splitlines()
    lines = (FILES / "cyclictest-2.4-H.txt").read_text().splitlines()
    assert rows[1:71] == [re.sub(r"\t\d{6}$", "", line) for line in lines[2:72]]
    assert "# Max Latencies: 00348 00015" in rows


@pytest.mark.parametrize("export", [to_cyclictest_json, to_cyclictest_histogram])
def test_only_latencies_are_exported(export: Callable[[Run], str]) -> None:
    for probe in ("gtod", "topology", "memory", "scaling"):
        with pytest.raises(RtscopeError, match=f"of {probe} has no latencies.*--format run"):
            export(a_run(probe=probe))
    for probe in ("sched", "signaltest"):
        assert export(a_run(probe=probe)) == export(a_run())


@pytest.mark.parametrize(
    ("option", "interval_ns"),
    [("-i1ms", 1_000_000), ("-i 250", 250_000), ("--interval=2.5ms", 2_500_000)],
)
def test_the_interval_of_our_own_command_survives(option: str, interval_ns: int) -> None:
    exported = to_cyclictest_json(a_run(*option.split(" ")))
    (run,) = import_bytes(exported.encode(), WHEN)
    assert run.asked.interval_ns == interval_ns


@pytest.mark.parametrize("buckets", [0, -1, 1_000_001])
def test_a_histogram_has_a_possible_number_of_rows_and_a_thread(buckets: int) -> None:
    with pytest.raises(RtscopeError, match="ask for 1 to 1000000 rows"):
        to_cyclictest_histogram(a_run(), buckets)
    with pytest.raises(RtscopeError, match="has no threads"):
        to_cyclictest_histogram(a_run(threads=[]))


def test_the_histogram_is_what_cyclictest_prints() -> None:
    text = to_cyclictest_histogram(a_run(), buckets=5)
    assert text == (
        "# Histogram\n"
        "000000 000000\t000000\n"
        "000001 000000\t000000\n"
        "000002 000001\t000000\n"
        "000003 000005\t000000\n"
        "000004 000000\t000000\n"
        "# Total: 000000006 000000000\n"
        "# Min Latencies: 00002 1000000\n"
        "# Avg Latencies: 00007 00000\n"
        "# Max Latencies: 00600 00000\n"
        "# Histogram Overflows: 00009 00000\n"
        "# Histogram Overflow at cycle number:\n"
        "# Thread 0: # 00009 others\n"
        "# Thread 1:\n"
        "\n"
    )
    whole = to_cyclictest_histogram(a_run())
    assert whole.splitlines()[411].startswith("000410 000004")
    assert "# Histogram Overflows: 00005 00000" in whole


def test_missed_periods_come_with_the_response_times() -> None:
    stalled, punctual = (
        msgspec.structs.replace(thread_of(late), missed=missed)
        for late, missed in (([5_000] * 1950 + [50_000_000], 49), ([5_000] * 2000, 0))
    )
    run = a_run(threads=[stalled, punctual], asked=Asked(interval_ns=1_000_000))
    of_threads = json.loads(to_cyclictest_json(run))["thread"]
    assert of_threads["0"]["missed"] == 49
    assert of_threads["0"]["response"] == {"p50": 5, "p99": 30_015}
    assert "response" not in of_threads["1"]
    assert to_cyclictest_histogram(run, buckets=50).splitlines()[-4:] == [
        "# Missed Periods: 00049 00000",
        "# Response p50: 00005 00005",
        "# Response p99: 30015 00005",
        "",
    ]


@given(RUNS)
def test_exports_come_back_with_the_same_metrics_to_the_microsecond(run: Run) -> None:
    (read,) = import_bytes(to_cyclictest_json(run).encode(), WHEN, "cyclictest-json")
    assert (read.created, len(read.threads)) == (run.created, len(run.threads))
    assert (read.machine.preemption == "rt") == (run.machine.preemption == "rt")
    text = to_cyclictest_histogram(run, buckets=50).encode() if run.threads else b""
    tables = import_bytes(text, WHEN)[0].threads if text else []
    for ours, theirs, table in zip(run.threads, read.threads, tables, strict=True):
        counts = microseconds(ours)
        first = {at: count for at, count in counts.items() if at < 50}
        extremes = (to_us(ours.min_ns), to_us(ours.max_ns))
        assert (theirs.count, theirs.cpu, table.count) == (ours.count, ours.cpu, ours.count)
        assert (theirs.min_ns, theirs.max_ns) == (table.min_ns, table.max_ns) == extremes
        assert (microseconds(theirs), microseconds(table)) == (counts, first)
        assert theirs.histogram.beyond_count == ours.histogram.beyond_count
        assert table.histogram.beyond_count == ours.count - sum(first.values())
        if ours.mean_ns is not None:
            assert theirs.mean_ns == pytest.approx(ours.mean_ns, abs=6)


@given(RUNS.filter(lambda run: bool(run.threads)))
def test_a_summary_for_rteval_comes_back_with_every_sample(run: Run) -> None:
    (read,) = import_bytes(to_summary_xml(run).encode(), WHEN)
    assert (read.source, read.created[:10]) == ("rteval", run.created[:10])
    for ours, theirs in zip(run.threads, read.threads, strict=True):
        assert (theirs.count, theirs.priority) == (ours.count, ours.priority)
        if ours.count and not ours.histogram.beyond_count:
            assert microseconds(theirs) == microseconds(ours)


def test_a_run_without_latencies_is_no_summary_for_rteval() -> None:
    for run in (a_run(threads=[]), a_run(probe="gtod")):
        with pytest.raises(RtscopeError, match="--format run"):
            to_summary_xml(run)
