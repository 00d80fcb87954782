# SPDX-License-Identifier: GPL-2.0-only
"""Ratios, CPUs and laws of placement series in words."""

from collections.abc import Sequence

from rtscope.model.cpulist import cpus_named
from rtscope.model.placement_finding import Times
from rtscope.model.units import format_ns
from rtscope.statistics.placing import Curve, Ratio
from rtscope.statistics.scaling import Fit
from rtscope.wording.plain import plain


def ratio_text(one: Ratio | Times) -> str:
    """1.87 (1.85 to 1.90)."""
    if one.low is None or one.high is None:
        return f"{one.value:.2f}"
    return f"{one.value:.2f} ({one.low:.2f} to {one.high:.2f})"


def curve_name(curve: Curve) -> str:
    """A workload and the order of its CPUs."""
    return f"{plain(curve.workload)}, {curve.order.name}"


def law_text(law: Fit) -> str:
    """A fit's parameters: serial fraction 5.2 % (5.0 to 5.4)."""
    contention = "serial fraction" if law.law == "Amdahl" else "contention"
    parts = [f"one thread {format_ns(law.one_thread_ns.value)}"]
    parts.append(f"{contention} {_percent(law.contention.value, 2)} %{_within(law, 'contention')}")
    least = law.contention.value if law.contention.low is None else law.contention.low
    if least > 1:
        parts[-1] += ": more than all, for several threads are slower than one"
    if law.coherency:
        parts.append(f"coherency {_percent(law.coherency.value, 3)} %{_within(law, 'coherency')}")
    if law.fastest is not None and law.coherency and (law.coherency.low or 0) > 0:
        parts.append(f"fastest with {law.fastest:.0f} threads")
    return ", ".join(parts)


def _within(law: Fit, name: str) -> str:
    parameter = getattr(law, name)
    if parameter.low is None:
        return ""
    places = 2 if name == "contention" else 3
    return f" ({_percent(parameter.low, places)} to {_percent(parameter.high, places)})"


def _percent(share: float, places: int) -> str:
    text = f"{share * 100:.{places}f}".replace("-", "−")
    return text if float(text.replace("−", "-")) else f"{0:.{places}f}"


def jitter_text(share: float | None) -> str:
    """, with 2.5 % jitter; empty where it is not known."""
    return "" if share is None else f", with {share * 100:.1f} % jitter"


def threads_text(workload: str, count: int = 1) -> str:
    """Thread, scalar thread, or threads."""
    kind = f"{workload} " if workload in ("scalar", "vector") else ""
    return f"{kind}thread{'s' if count > 1 else ''}"


def cpus_text(cpus: Sequence[int]) -> str:
    """CPU 3, or CPUs 0-3, 8."""
    return cpus_named(cpus).replace(",", ", ")
