# SPDX-License-Identifier: GPL-2.0-only
"""Metrics for Prometheus: of the newest complete run of each machine, probe and load.

Names are those of `--emit prometheus`. The number of series is bounded: a run is a new value of a
series, never a new one, and MOST machines, probes and loads are written, those measured last.
"""

from typing import Final

from rtscope.report.exchange.prometheus import Series, exposition
from rtscope.serve.entry import Entry
from rtscope.serve.heatmap import seconds
from rtscope.serve.index import Index
from rtscope.wording.plain import plain

MOST: Final = 2000
_LONGEST: Final = 200
_HELP: Final = {
    "rtscope_latency_quantile_seconds": "Quantile of the newest run's samples.",
    "rtscope_latency_max_seconds": "Largest sample of the newest run.",
    "rtscope_missed_periods": "Periods that the newest run missed.",
    "rtscope_samples": "Number of the newest run's samples.",
    "rtscope_run_start_time_seconds": "Start of the newest run since the epoch.",
    "rtscope_indexed_runs": "Runs of the store that the index has.",
    "rtscope_left_out": "Machines, probes and loads that are left out, measured longest ago.",
}


def exported(index: Index) -> bytes:
    """The text that Prometheus reads."""
    newest: dict[tuple[str, str, str], Entry] = {}
    for series in index.all_series():
        entry = series.newest
        newest.setdefault((entry.machine, entry.probe, entry.load), entry)
    families: dict[str, Series] = {name: [] for name in _HELP}
    for names, entry in list(newest.items())[:MOST]:
        _add(families, names, entry)
    families["rtscope_indexed_runs"].append(({}, index.state().runs))
    families["rtscope_left_out"].append(({}, max(0, len(newest) - MOST)))
    return exposition(families, _HELP)


def _add(families: dict[str, Series], names: tuple[str, str, str], entry: Entry) -> None:
    machine, probe, load = (plain(name)[:_LONGEST] for name in names)
    labels = {"machine": machine, "probe": probe, "load": load}
    for quantile, ns in (("0.99", entry.p99_ns), ("0.9999", entry.p9999_ns)):
        if ns is not None:
            families["rtscope_latency_quantile_seconds"].append(
                (labels | {"quantile": quantile}, ns / 1e9)
            )
    if entry.max_ns is not None:
        families["rtscope_latency_max_seconds"].append((labels, entry.max_ns / 1e9))
    if entry.missed is not None:
        families["rtscope_missed_periods"].append((labels, entry.missed))
    families["rtscope_samples"].append((labels, entry.count))
    families["rtscope_run_start_time_seconds"].append((labels, seconds(entry.created)))
