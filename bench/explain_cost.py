# SPDX-License-Identifier: GPL-2.0-only
"""Instructions that --explain adds to a wake-up, counted in the exact lab.

    python bench/explain_cost.py [KERNEL...]

At 1000 MIPS a nanosecond of latency is an instruction. Each kernel is measured twice with the same
seed, without and with the kernel's trace; the differences of the quantiles are its cost.
"""

import sys

from rtscope.engine.measure import measure
from rtscope.lab.vm import vm_target
from rtscope.model.machine import Machine
from rtscope.model.request import Request
from rtscope.statistics.metrics import Metrics, metrics_of_run

_SAMPLES = 2000


def _measured(kernel: str, explain: int | None) -> Metrics:
    request = Request(samples=_SAMPLES, explain=explain)
    target = vm_target(f"vm:{kernel}")
    return metrics_of_run(
        measure(request, Machine(), lambda agent: None, lambda line: None, target)
    )


def _row(kernel: str) -> str:
    without, traced = _measured(kernel, None), _measured(kernel, 3)
    cells = []
    for one, two in (
        (without.min_ns, traced.min_ns),
        *zip(
            (quantile.value_ns for quantile in without.quantiles),
            (quantile.value_ns for quantile in traced.quantiles),
            strict=True,
        ),
        (without.max_ns, traced.max_ns),
    ):
        if one is not None and two is not None:
            cells.append(f"{one:,.0f} → {two:,.0f} (+{two - one:,.0f})")
    return f"| `{kernel}` | {' | '.join(cells)} |"


if __name__ == "__main__":
    print("| kernel | min | p50 | p99 | max |\n|---|---|---|---|---|")
    for name in sys.argv[1:] or ["x86_64-rt", "x86_64-std", "arm64-rt"]:
        print(_row(name))
