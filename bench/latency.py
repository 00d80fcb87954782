# SPDX-License-Identifier: GPL-2.0-only
"""Load latencies of the probe memory beside lmbench's lat_mem_rd, on the same CPU: within 10 %.

lat_mem_rd -t follows pointers in a random order too, one to each 64 bytes. Both have huge pages,
and both are ordinary threads, for lat_mem_rd waits for itself by spinning. With --pages ordinary
its loads take longer where there are somewhat more pages than the TLB holds: it goes through all
pages in the same order again and again, and so finds none there, where the probe's random order
finds some.

lmbench is in Debian's non-free: it is downloaded and unpacked, not installed.

.venv/bin/python bench/latency.py --mib 64
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from ratios import median_interval

AGENT = Path(__file__).parents[1] / "build" / "native" / "rtscope-agent"
ROUNDS = 10
REPEATS = 3
WITHIN = 1.1
STEP = 1.15
PAGES_OF_MALLOC = {"huge": "glibc.malloc.hugetlb=1", "ordinary": "glibc.malloc.hugetlb=0"}
SECONDS = 600


def debian() -> str:
    """Where this machine has Debian from, and its release, as apt's sources name them."""
    targets = "Identifier: Packages", "Component: main", "Origin: Debian", "Label: Debian"
    done = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE)", *targets],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = [line for line in done.stdout.splitlines() if not line.endswith("-updates")]
    if not found:
        sys.exit("apt knows no source of Debian here, whose lmbench this compares with")
    return found[0]


def fetched_lat_mem_rd(directory: Path) -> Path:
    """The program, unpacked in `directory`."""
    for place in ("lists/partial", "cache/archives/partial"):
        (directory / place).mkdir(parents=True)
    (directory / "sources.list").write_text(f"deb {debian()} non-free\n")
    own = (
        f"-oDir::Etc::SourceList={directory}/sources.list", "-oDir::Etc::SourceParts=-",
        f"-oDir::State::Lists={directory}/lists", f"-oDir::Cache={directory}/cache",
        "-oAPT::Sandbox::User=root",
    )  # fmt: skip
    for command in (["update", "-q"], ["download", "-q", "lmbench"]):
        subprocess.run(["apt-get", *own, *command], cwd=directory, check=True, stdout=sys.stderr)
    (package,) = directory.glob("*.deb")
    subprocess.run(["dpkg-deb", "-x", package, directory / "files"], check=True)
    (program,) = directory.glob("files/usr/lib/lmbench/bin/*/lat_mem_rd")
    return program


def theirs_ns(program: Path, cpu: int, mib: int, pages: str) -> dict[int, float]:
    """Nanoseconds of a load by KiB of the working set."""
    done = subprocess.run(
        ["taskset", "-c", str(cpu), program, "-t", "-N", str(REPEATS), str(mib), "64"],
        capture_output=True, text=True, check=True, timeout=SECONDS,
        env={**os.environ, "ENOUGH": "20000", "GLIBC_TUNABLES": PAGES_OF_MALLOC[pages]},
    )  # fmt: skip
    rows = [line.split() for line in done.stderr.splitlines() if line and line[0].isdigit()]
    return {round(float(size) * 1024): float(ns) for size, ns in rows}


def ours_ns(cpu: int, mib: int, pages: str) -> dict[int, float]:
    """The same of the probe: the median of its repeats."""
    done = subprocess.run(
        [AGENT, "memory", "--json", "--policy=other", "-a", str(cpu), f"--largest={mib}",
         f"-l{REPEATS}", "--slot=20ms", f"--pages={pages}"],
        capture_output=True, text=True, check=True, timeout=SECONDS,
    )  # fmt: skip
    lines = map(json.loads, done.stdout.splitlines())
    found = next(line for line in lines if line.get("name") == "latency")
    return {
        int(size) // 1024: ns for size, ns in zip(found["columns"], found["value"][0], strict=True)
    }


def beside_steps(curves: list[list[float]]) -> set[int]:
    """Where one of the curves rises: there a few lines of a cache decide, and others' work."""
    return {
        beside
        for curve in curves
        for i in range(1, len(curve))
        if curve[i] > STEP * curve[i - 1]
        for beside in (i - 1, i)
    }


def main() -> None:
    """Measure in turn, and compare size by size."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--mib", type=int, default=16, help="of the largest working set")
    parser.add_argument("--pages", choices=[*PAGES_OF_MALLOC], default="huge")
    asked = parser.parse_args()
    cpu = max(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as directory:
        program = fetched_lat_mem_rd(Path(directory))
        rounds = [
            (ours_ns(cpu, asked.mib, asked.pages), theirs_ns(program, cpu, asked.mib, asked.pages))
            for _ in range(ROUNDS)
        ]
    sizes = sorted(rounds[0][0].keys() & rounds[0][1].keys())
    curves = [
        [statistics.median(one[side][kib] for one in rounds) for kib in sizes] for side in (0, 1)
    ]
    steps = beside_steps(curves)
    near = apart = 0
    for i, kib in enumerate(sizes):
        ratios = sorted(ours[kib] / theirs[kib] for ours, theirs in rounds)
        ratio, (low, high) = statistics.median(ratios), median_interval(ratios)
        print(
            f"{kib:6} KiB: memory {curves[0][i]:6.2f} ns, lat_mem_rd {curves[1][i]:6.2f} ns, "
            f"ratio {ratio:.3f} ({low:.3f} to {high:.3f}){' beside a step' if i in steps else ''}"
        )
        if i not in steps:
            near += 1 / WITHIN < ratio < WITHIN
            apart += high < 1 / WITHIN or low > WITHIN
    print(
        f"within 10 % in {near} of {len(sizes) - len(steps)} working sets that are beside no step"
    )
    if apart:
        sys.exit(f"more than 10 % apart in {apart}")


if __name__ == "__main__":
    main()
