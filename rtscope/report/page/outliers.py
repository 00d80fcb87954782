# SPDX-License-Identifier: GPL-2.0-only
"""The worst samples of a run, and how those with an explanation came about."""

from typing import Final, NamedTuple

import msgspec

from rtscope.model.run import Run, Sample, Thread
from rtscope.wording.run import moment_text, monotonic_text
from rtscope.wording.values import thread_name, times_texts

_SHOWN: Final = 20


class Worst(NamedTuple):
    """One of the worst samples."""

    where: str
    """the thread or CPU"""
    text: str
    """the value"""
    sample: Sample
    monotonic: str
    """seconds of CLOCK_MONOTONIC"""
    moment: str
    """in UTC"""


def worst_samples(run: Run) -> list[Worst]:
    """The worst samples of all threads, the worst first."""
    found: list[tuple[Thread, Sample]] = [(t, sample) for t in run.threads for sample in t.worst]
    found.sort(key=lambda pair: (-pair[1].latency_ns, pair[1].time_ns))
    shown = found[:_SHOWN]
    texts = times_texts([sample.latency_ns for _, sample in shown])
    return [
        Worst(
            thread_name(
                thread if sample.cpu is None else msgspec.structs.replace(thread, cpu=sample.cpu)
            ),
            text,
            sample,
            monotonic_text(run, sample.time_ns),
            moment_text(run, sample.time_ns),
        )
        for (thread, sample), text in zip(shown, texts, strict=True)
    ]
