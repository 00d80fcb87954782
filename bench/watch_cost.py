# SPDX-License-Identifier: GPL-2.0-only
"""CPU time of the agent's housekeeping thread while it decodes the kernel's trace, as `watch` does.

    sudo python bench/watch_cost.py [SECONDS]

Pairs of threads that wake each other make events. The thread reads, decodes and counts all of them
(--league). Its CPU time is that of the process's main thread; the events are those of the rings
that were read.
"""

import re
import subprocess
import sys
import time
from pathlib import Path

from rtscope.target.local import agent_path

_TRACEFS = Path("/sys/kernel/tracing")
_PAIRS = 2


def _cpu_s(pid: int) -> float:
    """CPU time of the main thread, in user and kernel mode."""
    ns = Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[0]
    return int(ns) / 1e9


def _events_read(pid: int) -> int:
    (instance,) = (_TRACEFS / "instances").glob(f"rtscope-{pid}-*")
    stats = [path.read_text() for path in instance.glob("per_cpu/cpu*/stats")]
    return sum(int(found[1]) for one in stats if (found := re.search(r"read events: (\d+)", one)))


def main(seconds: float) -> None:
    """Measure once and print the result."""
    words = ["cyclic", "--json", "--league", "--above=1s", "--explain-stream", "--interval=1ms"]
    words += [f"--load=ipc:{_PAIRS}", "--duration=1h", "--progress=1s"]
    with subprocess.Popen(
        [agent_path(), *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as agent:
        try:
            assert agent.stdout is not None
            for line in agent.stdout:
                if b'"progress"' in line:
                    break
            begun_s, cpu_s, events = time.monotonic(), _cpu_s(agent.pid), _events_read(agent.pid)
            time.sleep(seconds)
            took_s = time.monotonic() - begun_s
            cpu_s, events = _cpu_s(agent.pid) - cpu_s, _events_read(agent.pid) - events
        finally:
            agent.kill()
    rate = events / took_s
    print(
        f"{rate:,.0f} events/s: housekeeping thread {100 * cpu_s / took_s:.2f} % of a CPU, "
        f"{1e9 * cpu_s / max(events, 1):.0f} ns an event, "
        f"{100 * 50_000 * cpu_s / max(events, 1):.2f} % at 50,000 events/s"
    )


if __name__ == "__main__":
    if not (_TRACEFS / "tracing_on").exists():
        sys.exit("mount tracefs on /sys/kernel/tracing first: mount -t tracefs tracefs "
                 "/sys/kernel/tracing")  # fmt: skip
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 10.0)
