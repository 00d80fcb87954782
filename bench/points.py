# SPDX-License-Identifier: GPL-2.0-only
"""What a measurement point (rtscope/points.h) costs, against an empty pair of clock reads.

    .venv/bin/python bench/points.py --rounds 4001

One program holds three loops: an empty pair of clock reads, a point, and a point that is off. Its
rounds run all three in alternating order; what is said is the median over the rounds of the
difference to the same round's empty pairs. Rounds are short, so that few of them are interrupted;
those of two threads, which fight for the cache lines of one point, are long enough to overlap.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
INCLUDE = HERE.parent / "agent" / "include"
MOST_NS = 50.0


def built(directory: Path) -> Path:
    """The program, compiled as a user would."""
    program = directory / "points"
    subprocess.run(
        ["cc", "-O2", "-Wall", "-Wextra", "-Werror", f"-I{INCLUDE}", HERE / "points.c",
         "-o", program, "-pthread"],
        check=True,
    )  # fmt: skip
    return program


def median_ns(program: Path, rounds: int, passes: int, threads: int) -> tuple[float, float, float]:
    """Medians: the empty pair; the point less the pair; the point that is off, all of it."""
    done = subprocess.run(
        [program, str(rounds), str(passes), str(threads)],
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [[float(word) for word in line.split()] for line in done.stdout.splitlines()]
    return (
        statistics.median(empty for empty, _, _ in lines),
        statistics.median(on - empty for empty, on, _ in lines),
        statistics.median(off for _, _, off in lines),
    )


def main() -> None:
    """Run the comparison; fails where a point costs more than is promised."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=4001)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        program = built(Path(directory))
        costs = []
        for threads in sorted({1, min(2, len(os.sched_getaffinity(0)))}):
            rounds = arguments.rounds if threads == 1 else max(1, arguments.rounds // 20)
            passes = 1000 if threads == 1 else 20_000
            pair, on, off = median_ns(program, rounds, passes, threads)
            costs.append(on)
            print(
                f"points, {threads} thread{'s' if threads > 1 else ''} in one point, median of "
                f"{rounds} rounds: an empty pair of clock reads {pair:.1f} ns; a point "
                f"{on:+.1f} ns; a point that is off {off:.1f} ns in all",
                flush=True,
            )
    if costs[0] > MOST_NS:
        sys.exit(f"a point costs {costs[0]:.1f} ns, more than {MOST_NS:.0f} ns")


if __name__ == "__main__":
    main()
