# SPDX-License-Identifier: GPL-2.0-only
"""The agent's async and signal against rt-tests and LTP, in alternating triples: mean latency.

    .venv/bin/python bench/messages.py --pairs 5 --seconds 2
    .venv/bin/python bench/messages.py --ltp /srv/mirrors/ltp.git

LTP's program is made of its source at one commit, which git fetches and checks; where there is no
network, --ltp names a clone, or async_handler is left out, which is said.

Every program has one CPU, the same real-time priority and the same pause, and who goes first
alternates. What is said is the median of the paired ratios (ours / theirs) of the means and its
95 % interval; a warm ratio whose interval lies above 1 is a failure.

The instants are not quite the same:

- ptsematest, pmqtest and sigwaittest read the clock just before they unlock a mutex, send a message
  or kill a thread, and when the other thread's lock, receive or sigwait returns: so do we, with a
  semaphore in place of the mutex (which in all three is a futex), and with a signal to the process
  in place of one to a thread. Both of their readings are cut to whole us, so the mean is right.
- signaltest passes one signal round two threads without a pause: half of its round trip is
  compared, and 0.25 us added to it, as each of its differences is cut to whole us. It sometimes
  never starts (its main thread spins on a flag that the compiler read once): then it is run again.
- async_handler signals a condition with its mutex held and polls by usleep(10) around that; its
  differences are cut to whole us, so 0.5 us is added to its mean.

In rt-tests each measured message answers another, so it finds warm caches: `--cache warm` is like
for like. What `--cache cold`, our default, finds after a pause stands beside it.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from ratios import median_interval

AGENT = Path(__file__).parents[1] / "build" / "native" / "rtscope-agent"
CPU = max(os.sched_getaffinity(0))
INTERVAL_US = 1000
LTP = "https://github.com/linux-test-project/ltp"
LTP_COMMIT = "695827725f4fc14fe583043127e0335c29bbd52d"


class Contest(NamedTuple):
    """One of their programs, and our probe that measures the same."""

    theirs: str
    ours: tuple[str, ...]
    mean_us: Callable[[int], float]
    """of one run of theirs that lasts so many seconds"""


def output(command: list[str], seconds: int) -> str:
    """What a command writes that should take so long; ends this program where it fails."""
    for _ in range(10):
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=seconds + 5
            )
            break
        except subprocess.TimeoutExpired:
            continue
    else:
        sys.exit(f"{' '.join(command)} did not end ten times")
    if done.returncode:
        sys.exit(f"{command[0]} ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def ours_us(options: tuple[str, ...], cache: str, seconds: int) -> float:
    """Our mean, in microseconds."""
    lines = output(
        [str(AGENT), *options, "--json", f"--cache={cache}", f"-a{CPU}", f"-D{seconds}",
         f"-i{INTERVAL_US}"],
        seconds,
    )  # fmt: skip
    threads = [json.loads(line) for line in lines.splitlines() if '"type":"thread"' in line]
    return float(threads[0]["mean_ns"]) / 1000


def rt_tests(program: str, priority: int, seconds: int, *options: str) -> dict[str, Any]:
    """The first thread of a program of rt-tests."""
    with tempfile.NamedTemporaryFile() as file:
        output(
            [program, "-q", f"-a{CPU}", f"-p{priority}", f"-D{seconds}", f"--json={file.name}",
             *options],
            seconds,
        )  # fmt: skip
        thread: dict[str, Any] = json.load(file)["thread"]["0"]
    return thread


def receiver_us(program: str, priority: int, seconds: int) -> float:
    """The mean of a pair of threads."""
    thread = rt_tests(program, priority, seconds, "-t1", f"-i{INTERVAL_US}")
    return float(thread["receiver"]["avg"])


def round_trip_us(seconds: int) -> float:
    """Half of signaltest's mean, and what it cut off."""
    return (float(rt_tests("signaltest", 94, seconds, "-t2", "-m")["avg"]) + 0.5) / 2


def async_handler_us(path: Path, seconds: int) -> float:
    """LTP's mean, and what it cut off; it takes about 100 us an iteration."""
    with tempfile.TemporaryDirectory() as directory:
        done = subprocess.run(
            ["taskset", "-c", str(CPU), path.resolve(), f"-i{seconds * 10_000}"],
            capture_output=True, text=True, check=False, cwd=directory,
        )  # fmt: skip
    found = re.search(r"^Avg: ([\d.]+) us", done.stdout, re.MULTILINE)
    if not found:
        sys.exit(f"{path} told no average: {done.stdout}{done.stderr}")
    return float(found[1]) + 0.5


def async_handler(repository: str, directory: Path) -> Path | None:
    """LTP's program, made in this directory; None, and a line, where its source is not there."""
    git = ["git", "-C", str(directory)]
    subprocess.run([*git, "init", "-q"], check=True)
    fetch = [*git, "fetch", "-q", "--depth=1", repository, LTP_COMMIT]
    done = subprocess.run(fetch, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode:
        print(f"async_handler is left out: {repository} cannot be fetched: {done.stderr.strip()}")
        return None
    subprocess.run([*git, "checkout", "-q", LTP_COMMIT, "--", "testcases/realtime"], check=True)
    source = directory / "testcases" / "realtime"
    program = directory / "async_handler"
    subprocess.run(
        ["cc", "-O2", "-D_GNU_SOURCE", "-Iinclude", "func/async_handler/async_handler.c",
         *map(str, sorted((source / "lib").glob("*.c"))), "-o", program, "-lpthread", "-lm"],
        check=True, cwd=source,
    )  # fmt: skip
    return program


def contests(async_handler: Path | None) -> list[Contest]:
    """What can be compared here."""

    def same(via: str) -> tuple[str, ...]:
        return "async", "--place=same", f"--via={via}", "-p89"

    signal = ("signal", "--method=synchronous", "--busy=0", "-p94")
    found = [
        Contest("ptsematest", same("semaphore"), partial(receiver_us, "ptsematest", 89)),
        Contest("pmqtest", same("mqueue"), partial(receiver_us, "pmqtest", 89)),
        Contest("sigwaittest", signal, partial(receiver_us, "sigwaittest", 94)),
        Contest("signaltest", signal, round_trip_us),
    ]
    if async_handler:
        handler = partial(async_handler_us, async_handler)
        found.append(Contest("async_handler", same("cond"), handler))
    return found


def compare(contest: Contest, triples: int, seconds: int) -> bool:
    """Print the median paired ratios of warm and cold to theirs, and the medians themselves.

    False where our warm mean is worse: the ratio's whole 95 % interval lies above 1.
    """
    runs: dict[str, Callable[[], float]] = {
        "theirs": partial(contest.mean_us, seconds),
        "warm": partial(ours_us, contest.ours, "warm", seconds),
        "cold": partial(ours_us, contest.ours, "cold", seconds),
    }
    means: dict[str, list[float]] = {name: [] for name in runs}
    for triple in range(triples):
        names = list(runs) if triple % 2 else list(reversed(runs))
        for name in names:
            means[name].append(runs[name]())
    ratios = {
        name: sorted(a / b for a, b in zip(means[name], means["theirs"], strict=True))
        for name in ("warm", "cold")
    }
    middle = {name: statistics.median(values) for name, values in means.items()}
    low, high = median_interval(ratios["warm"])
    print(
        f"{contest.theirs:14} {middle['theirs']:6.2f} us   rtscope {' '.join(contest.ours[:3]):40}"
        f" warm {middle['warm']:6.2f} us, median ratio {statistics.median(ratios['warm']):.3f}"
        f" ({low:.3f} to {high:.3f})"
        f"   cold {middle['cold']:6.2f} us, {statistics.median(ratios['cold']):.3f}",
        flush=True,
    )
    return low <= 1


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--ltp", default=LTP, metavar="REPOSITORY")
    arguments = parser.parse_args()
    if os.geteuid():
        sys.exit("real-time priorities need root: run this bench as root")
    print(f"CPU {CPU}, {arguments.pairs} runs of {arguments.seconds} s each, means")
    with tempfile.TemporaryDirectory() as directory:
        worse = [
            contest.theirs
            for contest in contests(async_handler(arguments.ltp, Path(directory)))
            if not compare(contest, arguments.pairs, arguments.seconds)
        ]
    if worse:
        sys.exit(f"our mean is worse than that of {', '.join(worse)}")


if __name__ == "__main__":
    main()
