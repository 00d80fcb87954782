# SPDX-License-Identifier: GPL-2.0-only
"""The agent against cyclictest, in alternating pairs: min, mean, CPU time, missed periods.

    make bench
    .venv/bin/python bench/cyclictest.py --pairs 5 --seconds 5

Both run at SCHED_FIFO 80 on the same CPUs with memory locked, one after the other, and who goes
first alternates. Both wake all threads at one instant, for a CPU that wakes alone is quicker. Like
is compared with like at a fixed phase, which is cyclictest's only one; our default sweeps, and so
also reads the phases at which a tick or a neighbour is in the way: it stands beside. What is said
is the median of the paired ratios (ours / theirs) and its 95 % interval: this machine's noise moves
both, so absolute figures mean little.
"""

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ratios import median_interval

AGENT = Path(__file__).parents[1] / "build" / "native" / "rtscope-agent"
CPUS = sorted(os.sched_getaffinity(0))
CPU_LIST = ",".join(map(str, CPUS))
LONGEST_US = 100_000


class Result(NamedTuple):
    """One execution, all CPUs together; times in nanoseconds."""

    samples: int
    min_ns: float
    mean_ns: float
    cpu_ns_per_sample: float
    missed: int


def run(command: list[str]) -> tuple[bytes, float]:
    """Standard output and CPU seconds of a command."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{command[0]} ended with {process.returncode}")
    return output, usage.ru_utime + usage.ru_stime


def ours(interval_us: int, seconds: int, *options: str) -> Result:
    """One run of rtscope-agent."""
    output, cpu_s = run(
        [
            str(AGENT), "cyclic", "--json", "-p80", f"-i{interval_us}", f"-D{seconds}",
            "-a", CPU_LIST, *options,
        ]
    )  # fmt: skip
    lines = [json.loads(line) for line in output.splitlines()]
    threads = [line for line in lines if line["type"] == "thread"]
    samples = sum(thread["count"] for thread in threads)
    return Result(
        samples,
        min(thread["min_ns"] for thread in threads),
        sum(thread["mean_ns"] * thread["count"] for thread in threads) / samples,
        cpu_s * 1e9 / samples,
        sum(thread["missed"] for thread in threads),
    )


def cyclictest(interval_us: int, seconds: int, *options: str) -> tuple[dict[str, Any], float]:
    """What one run of cyclictest writes, and its CPU seconds."""
    with tempfile.NamedTemporaryFile() as file:
        _, cpu_s = run(
            [
                "cyclictest", "-q", "-m", "-p80", f"-i{interval_us}", f"-D{seconds}", "--aligned",
                f"-t{len(CPUS)}", "-a", CPU_LIST, f"--json={file.name}", *options,
            ]
        )  # fmt: skip
        return json.load(file), cpu_s


def theirs_missed(interval_us: int, seconds: int) -> int:
    """Periods that cyclictest passed over; it does not count them.

    After a wake-up late by L it goes on with the first deadline that is still to come, so it has
    passed over L // interval of them; L is read from its histogram, in us.
    """
    result, _ = cyclictest(interval_us, seconds, f"-h{LONGEST_US}")
    return sum(
        count * (int(latency_us) // interval_us)
        for thread in result["thread"].values()
        for latency_us, count in thread["histogram"].items()
    )


def theirs(interval_us: int, seconds: int) -> Result:
    """One run of cyclictest."""
    result, cpu_s = cyclictest(interval_us, seconds, "-N")
    threads = list(result["thread"].values())
    samples = sum(thread["cycles"] for thread in threads)
    return Result(
        samples,
        min(thread["min"] for thread in threads),
        sum(thread["avg"] * thread["cycles"] for thread in threads) / samples,
        cpu_s * 1e9 / samples,
        0,
    )


@contextmanager
def loaded(wanted: bool) -> Iterator[None]:
    """A load beside both, the same for each."""
    if not wanted:
        yield
        return
    with subprocess.Popen(
        ["stress-ng", "--quiet", "--cpu", "1", "--vm", "1", "--vm-bytes", "64m", "--fork", "1",
         "--pipe", "1"]
    ) as load:  # fmt: skip
        try:
            yield
        finally:
            load.terminate()


def pairs(count: int, interval_us: int, seconds: int, *options: str) -> list[tuple[Result, Result]]:
    """(ours with these options, theirs), alternating in who goes first."""
    results = []
    for pair in range(count):
        if pair % 2:
            second = theirs(interval_us, seconds)
            results.append((ours(interval_us, seconds, *options), second))
        else:
            first = ours(interval_us, seconds, *options)
            results.append((first, theirs(interval_us, seconds)))
    return results


def report(title: str, results: list[tuple[Result, Result]]) -> None:
    """Print the median paired ratio of each figure, and the medians themselves."""
    print(f"{title}, {len(results)} pairs of {results[0][0].samples} samples")
    for name in ("min_ns", "mean_ns", "cpu_ns_per_sample"):
        mine = [getattr(a, name) for a, _ in results]
        other = [getattr(b, name) for _, b in results]
        ratios = sorted(a / b for a, b in zip(mine, other, strict=True))
        low, high = median_interval(ratios)
        print(
            f"  {name:18} median ratio {statistics.median(ratios):.3f} ({low:.3f} to {high:.3f})"
            f"   rtscope {statistics.median(mine):9.1f}"
            f"   cyclictest {statistics.median(other):9.1f}",
            flush=True,
        )


def report_missed(title: str, count: int, interval_us: int, seconds: int) -> None:
    """Print the missed periods of alternating runs."""
    mine, other = [], []
    for pair in range(count):
        if pair % 2:
            other.append(theirs_missed(interval_us, seconds))
            mine.append(ours(interval_us, seconds).missed)
        else:
            mine.append(ours(interval_us, seconds).missed)
            other.append(theirs_missed(interval_us, seconds))
    print(
        f"{title}, missed periods in {count} pairs: medians rtscope {statistics.median(mine):.0f}, "
        f"cyclictest {statistics.median(other):.0f}; all rtscope {mine}, cyclictest {other}",
        flush=True,
    )


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--seconds", type=int, default=5)
    arguments = parser.parse_args()
    if os.geteuid():
        sys.exit("real-time priorities need root: run this bench as root")
    for load in (False, True):
        for interval_us, phase in itertools.product((1000, 200, 20), ("fixed", "sweep")):
            with loaded(load):
                report(
                    f"{'loaded' if load else 'idle'}, every {interval_us} us, {phase} phase",
                    pairs(arguments.pairs, interval_us, arguments.seconds, f"--phase={phase}"),
                )
        with loaded(load):
            report_missed(
                f"{'loaded' if load else 'idle'}, every 20 us",
                arguments.pairs, 20, arguments.seconds,
            )  # fmt: skip


if __name__ == "__main__":
    main()
