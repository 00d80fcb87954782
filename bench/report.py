# SPDX-License-Identifier: GPL-2.0-only
"""How long `rtscope report` takes for 64 CPUs and 10^9 samples, and `rtscope --help`.

.venv/bin/python bench/report.py --times 5
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from rtscope.model.histogram import Histogram
from rtscope.model.machine import Machine
from rtscope.model.run import Run, Thread, Windows
from rtscope.store.runfile import write_run

CPUS = 64
SAMPLES = 10**9
RTSCOPE = [sys.executable, "-m", "rtscope.cli.main"]


def bucket_width(latencies_ns: NDArray[np.int64]) -> NDArray[np.int64]:
    """As agent/base/histogram.h: 1 ns below 2048 ns, then 1024 buckets a power of two."""
    return 1 << np.maximum(np.floor(np.log2(np.maximum(latencies_ns, 1))).astype(np.int64) - 10, 0)


def large_run() -> Run:
    """A run of heavy-tailed latencies in the agent's own buckets."""
    rng = np.random.default_rng(1)
    threads = []
    for cpu in range(CPUS):
        latencies = (rng.lognormal(8, 0.4, 20_000) * (1 + rng.pareto(2.5, 20_000))).astype(int)
        width = bucket_width(latencies)
        lower, count = np.unique(latencies // width * width, return_counts=True)
        count = count * (SAMPLES // CPUS // count.sum())
        widths = bucket_width(lower)
        total = int(count.sum())
        windows = Windows(
            [(index + 1) * 10**9 for index in range(2000)],
            [total // 2000] * 2000,
            rng.normal(4000, 100, 2000).tolist(),
            rng.choice(latencies, 2000).tolist(),
        )
        threads.append(
            Thread(
                cpu, cpu, "fifo", 80, total,
                Histogram(lower.tolist(), widths.tolist(), count.tolist()),
                int(latencies.min()), int(latencies.max()),
                float(latencies.mean()), float(latencies.std()), windows=windows,
            )
        )  # fmt: skip
    return Run(
        "0" * 16, "2026-11-21T00:00:00+00:00", "cyclic", "complete", "idle", Machine(), threads
    )


def median_seconds(times: int, command: list[str]) -> float:
    """Median wall-clock seconds of a command."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=os.environ)
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def main() -> None:
    """Time both."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--times", type=int, default=5)
    times = parser.parse_args().times
    run = large_run()
    samples = sum(thread.count for thread in run.threads)
    buckets = sum(len(thread.histogram.count) for thread in run.threads)
    with tempfile.TemporaryDirectory() as directory:
        file, page = Path(directory) / "run.json", Path(directory) / "report.html"
        write_run(msgspec.structs.replace(run), file)
        seconds = median_seconds(times, [*RTSCOPE, "report", str(file), "-f", "-o", str(page)])
    print(f"report of {CPUS} CPUs, {samples:.3g} samples, {buckets} buckets: {seconds:.2f} s")
    print(f"rtscope --help: {median_seconds(times, [*RTSCOPE, '--help']):.2f} s")


if __name__ == "__main__":
    main()
