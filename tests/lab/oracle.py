# SPDX-License-Identifier: GPL-2.0-only
"""Injected delays, explained by the guest's own trace and by the emulator's plugin.

    python -m tests.lab.oracle > docs/results/explain-oracle.md

The module rtdelay keeps the CPU in one of several ways. In the exact lab the plugin sees every
instruction, so it knows how long that took within each sample. The same samples are explained from
the trace that the agent recorded in the guest.
"""

import statistics
from pathlib import Path
from typing import Final

import msgspec

from rtscope.engine.explain import Received, explained
from rtscope.engine.measure import measure
from rtscope.engine.traced import Windows, explained_by_trace
from rtscope.lab.vm import vm_target
from rtscope.model.machine import Machine
from rtscope.model.request import Request
from rtscope.model.timeline import Explanation, TermKind
from rtscope.target.protocol import AnyLine

DELAY_US: Final = 200
OUTLIERS: Final = 40
RTFAULT: Final = Path(__file__).parent / "rtfault"
LEAST_NS: Final = 20_000
"""shorter delays within a sample are not outliers"""

TERMS: Final[dict[str, tuple[TermKind, ...]]] = {
    "interrupts": ("timer-late",),
    "preemption": ("preemption-off", "timer-late", "hard-interrupt"),
    "thread": ("thread", "timer-late", "hard-interrupt"),
    "hardirq": ("hard-interrupt",),
    "softirq": ("soft-interrupt",),
    "work": ("preemption-off", "timer-late", "hard-interrupt"),
}
"""the terms of each way to keep the CPU; the first is the cause"""
KERNELS: Final = {
    "x86_64-rt": ("interrupts", "preemption", "thread", "hardirq"),
    "arm64-rt": ("interrupts", "preemption", "thread", "hardirq"),
    "x86_64-std": ("interrupts", "preemption", "thread", "hardirq", "softirq"),
}


class Outlier(msgspec.Struct, frozen=True):
    """One sample with an injected delay, explained twice."""

    right: bool
    """the trace names the cause"""
    traced_ns: int
    seen_ns: int
    """by the plugin"""
    unexplained_ns: int


def outliers(kernel: str, by: str, count: int = OUTLIERS) -> list[Outlier]:
    """Measure with injected delays; the worst samples in which they took long."""
    module = f"{RTFAULT} on=0" if by == "work" else "rtdelay"
    target = vm_target(f"vm:{kernel},load={module} delay_us={DELAY_US} by={by}")
    received, windows = Received(), Windows()

    def receive(line: AnyLine) -> None:
        received.receive(line)
        windows.receive(line)

    request = Request(samples=count * 40, explain=count, worst=count)
    run = measure(request, Machine(), lambda agent: None, receive, target)
    traced = explained_by_trace(run, windows).explanations
    seen = explained(run, received, request, target, count, lambda agent: None).explanations
    assert [one.latency_ns for one in traced] == [one.latency_ns for one in seen]
    found = [_outlier(one, oracle, by) for one, oracle in zip(traced, seen, strict=True)]
    return [one for one in found if one.seen_ns >= LEAST_NS]


def _outlier(traced: Explanation, oracle: Explanation, by: str) -> Outlier:
    terms = dict.fromkeys(TERMS[by], 0)
    for term in traced.ledger:
        if term.kind in terms:
            terms[term.kind] += term.ns
    first = traced.ledger[0]
    unexplained = sum(term.ns for term in traced.ledger if term.kind == "unexplained")
    return Outlier(first.kind == TERMS[by][0], sum(terms.values()), _seen(oracle, by), unexplained)


def _seen(oracle: Explanation, by: str) -> int:
    """How long the injected delay kept the CPU, by the instructions that were executed."""
    if by in {"interrupts", "hardirq"}:
        return max((one.ns for one in oracle.interrupts_off or []), default=0)
    if by in {"preemption", "work"}:
        return max((one.ns for one in oracle.preemption_off or []), default=0)
    if by == "thread":
        return sum(one.ns for one in oracle.tasks or [] if one.name.startswith("rtdelay/"))
    calls = [call for call in oracle.calls if call.function.endswith("[rtdelay]")]
    outer = min((call.depth for call in calls), default=0)
    return sum(call.ns for call in calls if call.depth == outer)


def _row(kernel: str, by: str) -> str:
    found = outliers(kernel, by)
    differences = [abs(one.traced_ns - one.seen_ns) for one in found]
    return (
        f"| `{kernel}` | {by} | {len(found)} | {sum(one.right for one in found)} | "
        f"{statistics.median(one.seen_ns for one in found) / 1000:.1f} us | "
        f"{statistics.median(differences) / 1000:.2f} us | {max(differences) / 1000:.2f} us | "
        f"{statistics.median(one.unexplained_ns for one in found) / 1000:.2f} us |"
    )


if __name__ == "__main__":
    print("| kernel | by | outliers | cause right | median delay | median difference | "
          "largest difference | median unexplained |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|")
    for name, ways in KERNELS.items():
        for way in ways:
            print(_row(name, way), flush=True)
