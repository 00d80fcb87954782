# SPDX-License-Identifier: GPL-2.0-only
"""Periods of a kernel loop in a VM, measured by the emulator.

On a machine of one CPU nobody else could watch the loop. Where time counts instructions, the
emulator does, and costs the machine nothing.
"""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from rtscope.lab.plugins import built_plugin, with_plugin
from rtscope.lab.recording import kernel_symbols
from rtscope.lab.vm import vm_target
from rtscope.model.request import Request
from rtscope.model.run import Run
from rtscope.target.agent import Agent, Target

_EDGE: Final = "rtloop_edge"
_NOBODY_WATCHED: Final = "loop-no-observer"


@contextmanager
def seen_from_outside(
    request: Request, target: Target, on_start: Callable[[Agent], None]
) -> Iterator[tuple[Target, Callable[[Run], Run]]]:
    """Return the target, and the function that adds the emulator's metrics to its run.

    Others than a single loop in the kernel of a machine in exact mode are as they were. Raises
    RtscopeError.
    """
    single = request.loops_in_kernel and request.options.get("method", "all") != "all"
    if not single or not target.capabilities.exact_time:
        yield target, lambda run: run
        return
    machine = vm_target(target.name).fitted(request)
    address = kernel_symbols(machine, on_start).address(_EDGE)
    if address is None:
        yield target, lambda run: run
        return
    with tempfile.TemporaryDirectory(prefix="rtscope-edges-") as name:
        output = Path(name) / "edges"
        words = [f"edge={address:#x}", f"output={output}"]
        machine = with_plugin(machine, built_plugin("edges.c"), words)
        yield machine, lambda run: _with_metrics(run, np.fromfile(output, np.int64))


def _with_metrics(run: Run, edges_ns: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Run:
    """Return the run with the emulator's lengths of the periods that its thread counted.

    Where the emulator saw fewer, nothing is added.
    """
    (thread,) = run.threads
    periods_ns = np.diff(edges_ns)[: thread.count]
    if not thread.count or len(periods_ns) < thread.count:
        return run
    low, high = (run.asked.options[key] for key in ("low_ns", "high_ns"))
    metrics = {
        "outside_in_range": np.sum((periods_ns >= low) & (periods_ns <= high)),
        "outside_over": np.sum(periods_ns > high),
        "outside_under": np.sum(periods_ns < low),
        "outside_longest_ns": periods_ns.max(),
        "outside_shortest_ns": periods_ns.min(),
    }
    values = {key: float(value) for key, value in metrics.items()}
    thread = msgspec.structs.replace(thread, metrics=thread.metrics | values)
    warnings = [warning for warning in run.warnings if warning.code != _NOBODY_WATCHED]
    return msgspec.structs.replace(run, threads=[thread], warnings=warnings)
