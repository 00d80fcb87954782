# SPDX-License-Identifier: GPL-2.0-only
"""The agent's memory verb on this machine: every size, place and disturber has its figure."""

import json
import re
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.agent.probing import (
    AGENT,
    LAST_CPU,
    Lines,
    measure,
    needs_root,
    needs_two_cpus,
    of_type,
)
from tests.places import unshare

SHORT = ("--slot", "1ms", "--largest", "8", "-l", "2", "--partitions", "none")
LAST_CACHE_KIB = max(
    (
        int(file.read_text().strip().removesuffix("K"))
        for file in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size")
    ),
    default=0,
)
CURVES = ["latency", "read", "write", "copy"]


def matrices(lines: Lines) -> dict[str, dict[str, Any]]:
    """The matrix lines by their names."""
    return {matrix["name"]: matrix for matrix in of_type(lines, "matrix")}


@needs_two_cpus
def test_each_working_set_has_its_metrics_on_one_cpu_and_on_all() -> None:
    lines = measure("memory", *SHORT)
    found = matrices(lines)
    assert list(found) == [*CURVES, "disturbance"]
    sizes = [int(column) for column in found["latency"]["columns"]]
    assert (sizes[0], sizes[-1]) == (4096, 8 << 20)
    assert all(1 < high / low <= 2 for low, high in pairwise(sizes))
    threads = of_type(lines, "thread")
    for name in CURVES:
        matrix = found[name]
        assert matrix["unit"] == ("ns" if name == "latency" else "bytes_per_s")
        assert [int(column) for column in matrix["columns"]] == sizes
        assert matrix["rows"][0] == "CPU 0"
        assert matrix["rows"][-1] == f"all {len(threads)} CPUs"
        assert all(value > 0 for row in matrix["value"] for value in row)
    assert [thread["count"] for thread in threads] == [2] * len(threads)
    assert of_type(lines, "start")[0]["options"]["largest_bytes"] == 8 << 20


RESCTRL = """
mount -t tmpfs rtscope-test /sys/fs
mkdir -p /sys/fs/resctrl/info
cd /sys/fs/resctrl
echo L3:0=7ff >schemata
for group in . rtscope-victim rtscope-others; do
    mkdir -p $group
    touch $group/tasks $group/schemata
done
"$@" >&3
tail -n 1 schemata */schemata tasks */tasks >&2
"""
"""files as resctrl has them, for a program in a mount namespace; then what they hold"""


@needs_root
@needs_two_cpus
def test_disturbances_are_measured_with_half_of_the_caches_too() -> None:
    words: list[str | Path] = [
        AGENT,
        "memory",
        "--json",
        "--slot",
        "1ms",
        "--largest",
        "1",
        "-l",
        "1",
    ]
    done = subprocess.run(
        [*unshare("--mount"), "sh", "-ec", f"exec 3>&1; {RESCTRL}", "sh", *words],
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    disturbance, partitioned = (matrices(lines)[n] for n in ("disturbance", "partitioned"))
    assert partitioned["columns"] == disturbance["columns"]
    assert partitioned["rows"] == disturbance["rows"]
    assert all(
        (one is None) == (other is None)
        for row, others in zip(disturbance["value"], partitioned["value"], strict=True)
        for one, other in zip(row, others, strict=True)
    )
    threads = {str(thread["tid"]) for thread in of_type(lines, "start")[0]["threads"]}
    reported = dict(re.findall(r"==> (\S+) <==\n(\S*)", done.stderr))
    assert (reported["schemata"], reported["rtscope-victim/schemata"]) == ("L3:0=7ff", "L3:0=7e0")
    assert reported["rtscope-others/schemata"] == "L3:0=1f"
    assert {
        reported["tasks"],
        reported["rtscope-victim/tasks"],
        reported["rtscope-others/tasks"],
    } <= threads
    assert reported["rtscope-victim/tasks"] != reported["rtscope-others/tasks"]


HUGE_PAGE = Path("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size")
HUGE = ("--pages", "huge", "-a", str(LAST_CPU), *SHORT)


def warned_of_pages(lines: Lines) -> list[str]:
    """Texts of the warnings that pages are not as they were asked for."""
    return [line["text"] for line in of_type(lines, "warning") if line["code"] == "no-huge-pages"]


@pytest.mark.skipif(not HUGE_PAGE.exists(), reason="this kernel has no transparent huge pages")
def test_the_sets_lie_in_huge_pages_where_these_are_asked_for() -> None:
    lines = measure("memory", *HUGE)
    options = of_type(lines, "start")[0]["options"]
    assert options["huge_page_bytes"] == int(HUGE_PAGE.read_text())
    given = "[never]" not in HUGE_PAGE.with_name("enabled").read_text()
    assert (warned_of_pages(lines) == []) is given


@needs_two_cpus
def test_each_victim_meets_each_disturber() -> None:
    disturbance = matrices(measure("memory", *SHORT))["disturbance"]
    assert disturbance["unit"] == "ratio"
    assert disturbance["rows"][-1] == ("8 MiB" if LAST_CACHE_KIB >= 8 << 10 else "memory")
    known = ["streams", "random writes", "atomics", "page tables", "file writes"]
    assert disturbance["columns"] == [*known, "cache flushes"]
    assert all(value > 0 for row in disturbance["value"] for value in row[: len(known)])
    repeats = [cell for row in disturbance["repeats"] for cell in row[: len(known)]]
    assert all(len(cell) == 3 * 2 for cell in repeats)


def test_a_lone_cpu_has_curves_and_nobody_who_disturbs() -> None:
    lines = measure("memory", *SHORT, "-a", str(LAST_CPU))
    found = matrices(lines)
    assert list(found) == CURVES
    assert all(matrix["rows"] == [f"CPU {LAST_CPU}"] for matrix in found.values())
    assert of_type(lines, "end")[0]["status"] == "complete"


def test_however_short_its_time_all_is_measured_once() -> None:
    options = ("-D", "10ms", "--slot", "1ms", "--largest", "1", "-a", "0")
    lines = measure("memory", *options)
    assert of_type(lines, "end")[0]["status"] == "complete"
    assert of_type(lines, "thread")[0]["count"] == 1
    assert None not in matrices(lines)["copy"]["value"][0]
