# SPDX-License-Identifier: GPL-2.0-only
"""The lab's waits: to the first sample, by a boot or restored, and for 100,000 idle ones at 1 ms.

    make bench
    .venv/bin/python bench/lab.py --kernel x86_64-rt

A kernel that the lab has not built yet is built first, in some minutes.
"""

import argparse
import os
import sys
import time

from rtscope.lab.build import build_kernel, plan_build
from rtscope.lab.kernels import list_kernels
from rtscope.lab.vm import VmTarget, vm_target
from rtscope.model.request import Request
from rtscope.target.protocol import AnyLine, Start

BOOT_S = 10.0
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

    with target.started_agent(Request(samples=samples)) as agent:
        for line in agent.lines(90):
            hear(line)
    return start - begun, time.monotonic() - begun


def main() -> None:
    """Print all beside what is wanted; exit 1 where it is not met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernel", default="x86_64-rt")
    options = parser.parse_args()
    if options.kernel not in {kernel.name for kernel in list_kernels()}:
        print(f"building {options.kernel}", file=sys.stderr)
        plan = plan_build(options.kernel, configs=[], patches=[])
        build_kernel(plan, os.cpu_count() or 1, lambda words, done, total: None)
    booted = vm_target(f"vm:{options.kernel},start=booted")
    boot = min(measured(booted, 10)[0] for _ in range(3))
    target = vm_target(f"vm:{options.kernel}")
    measured(target, 10)  # makes the snapshot
    start = min(measured(target, 10)[0] for _ in range(3))
    _, whole = measured(target, SAMPLES)
    print(f"to the first sample by a boot: {boot:.1f} s, at most {BOOT_S:g} s are wanted")
    print(f"to the first sample, restored: {start:.2f} s, at most {FIRST_SAMPLE_S:g} s are wanted")
    print(f"{SAMPLES:,} samples: {whole:.1f} s, at most {SAMPLES_S:g} s are wanted")
    sys.exit(int(boot > BOOT_S or start > FIRST_SAMPLE_S or whole > SAMPLES_S))


if __name__ == "__main__":
    main()
