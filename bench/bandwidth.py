# SPDX-License-Identifier: GPL-2.0-only
"""Copies of the probe memory beside mbw's plain loop, on the same CPU, set and policy: within 10 %.

The compiler made a call of memcpy() of that loop, and glibc's copies large sets by stores that pass
by the caches, which saves reading what is overwritten. The probe measures ordinary stores, so glibc
is told to use those too.

.venv/bin/python bench/bandwidth.py --mib 128
"""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

AGENT = Path(__file__).parents[1] / "build" / "native" / "rtscope-agent"
ROUNDS = 5
NEVER = 0x7FFFFFFFFF
ORDINARY_STORES = (
    f"glibc.cpu.x86_non_temporal_threshold={NEVER}:glibc.cpu.x86_rep_movsb_threshold={NEVER}"
)


def mbw_bytes_per_s(cpu: int, mib: int) -> float:
    """Median of ten copies of `mib` MiB by mbw's method DUMB: a loop over longs."""
    done = subprocess.run(
        ["chrt", "-f", "80", "taskset", "-c", str(cpu), "mbw", "-q", "-t1", "-n10", str(mib)],
        capture_output=True, text=True, check=True,
        env={**os.environ, "GLIBC_TUNABLES": ORDINARY_STORES},
    )  # fmt: skip
    copies = re.findall(r"^[0-9]+\s.*Copy: ([0-9.]+) MiB/s", done.stdout, re.MULTILINE)
    return statistics.median(map(float, copies)) * 2**20


def ours_bytes_per_s(cpu: int, mib: int) -> float:
    """The same copy, whose working set is source and destination."""
    done = subprocess.run(
        [AGENT, "memory", "--json", "-a", str(cpu), f"--largest={2 * mib}", "-l1", "--slot=50ms"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    lines = map(json.loads, done.stdout.splitlines())
    copy = next(line for line in lines if line.get("name") == "copy" and line["type"] == "matrix")
    return float(copy["value"][0][-1])


def main() -> None:
    """Measure in turn, and compare the medians."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--mib", type=int, default=128, help="of each array")
    mib = parser.parse_args().mib
    if not shutil.which("mbw") or os.geteuid():
        sys.exit("this needs root and mbw: apt install mbw")
    cpu = max(os.sched_getaffinity(0))
    rounds = [(ours_bytes_per_s(cpu, mib), mbw_bytes_per_s(cpu, mib)) for _ in range(ROUNDS)]
    for ours, theirs in rounds:
        print(f"memory {ours / 1e9:.3f} GB/s, mbw {theirs / 1e9:.3f} GB/s")
    ours, theirs = (statistics.median(one[n] for one in rounds) for n in (0, 1))
    print(f"medians: memory {ours / 1e9:.3f} GB/s, mbw {theirs / 1e9:.3f} GB/s, ratio "
          f"{ours / theirs:.3f}")  # fmt: skip
    if not 0.9 < ours / theirs < 1.1:
        sys.exit("more than 10 % apart")


if __name__ == "__main__":
    main()
