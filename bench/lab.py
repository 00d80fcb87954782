"""The lab's two waits: from a command to its first sample, and 100,000 idle samples at 1 ms.

    make bench
    .venv/bin/python bench/lab.py --kernel x86_64-rt

The kernel must be among those that `rtscope lab kernel list` tells. Its snapshot is made first: how
long that takes is said too, and is not part of what is promised.
"""

import argparse
import sys
import time

from rtscope.experiment.measure import Request, agent_arguments
from rtscope.lab.kernels import list_kernels
from rtscope.lab.vm import VmTarget, vm_target
from rtscope.target.protocol import AnyLine, Start

FIRST_SAMPLE_S = 4.0
SAMPLES = 100_000
SAMPLES_S = 45.0


def measured(target: VmTarget, samples: int) -> tuple[float, float]:
    """Seconds until measuring began, and until it had ended."""
    begun = time.monotonic()
    start = begun

    def hear(line: AnyLine) -> None:
        nonlocal start
        if isinstance(line, Start):
            start = time.monotonic()

    with target.started_agent(agent_arguments(Request(samples=samples))) as agent:
        for line in agent.lines(90):
            hear(line)
    return start - begun, time.monotonic() - begun


def main() -> None:
    """Print both beside what is wanted; exit 1 where it is not met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernel", default="x86_64-rt")
    options = parser.parse_args()
    if options.kernel not in {kernel.name for kernel in list_kernels()}:
        print(f"there is no kernel {options.kernel}: nothing was timed", file=sys.stderr)
        return
    target = vm_target(f"vm:{options.kernel}")
    _, first = measured(target, 10)
    start = min(measured(target, 10)[0] for _ in range(3))
    _, whole = measured(target, SAMPLES)
    print(f"the first run with its snapshot, if there was none: {first:.1f} s")
    print(f"to the first sample: {start:.2f} s, at most {FIRST_SAMPLE_S:g} s are wanted")
    print(f"{SAMPLES:,} samples: {whole:.1f} s, at most {SAMPLES_S:g} s are wanted")
    sys.exit(int(start > FIRST_SAMPLE_S or whole > SAMPLES_S))


if __name__ == "__main__":
    main()
