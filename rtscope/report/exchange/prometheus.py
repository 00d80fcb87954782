# SPDX-License-Identifier: GPL-2.0-only
"""Metrics in the text format of Prometheus, for node_exporter's textfile collector.

Each case has one series for each state, of which one is 1, so that a rule can ask for a state by
name: `rtscope_case_state{state="fail"} == 1`. Times are seconds, as is usual there. There are no
time stamps, which the collector refuses: the start of a run is a metric.
"""

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from rtscope.model.quantity import PERIODIC
from rtscope.model.run import Run
from rtscope.report.exchange.case import Case
from rtscope.report.exchange.states import WORDS
from rtscope.statistics.metrics import metrics_of_run, quantiles_or_reason
from rtscope.statistics.response import Responses, responses_of_run
from rtscope.wording.plain import plain

_HELP: Final = {
    "rtscope_case_state": "1 for the present state of the case, 0 for the others.",
    "rtscope_case_value_seconds": "The value that decided the case.",
    "rtscope_case_value": "The value that decided the case, a count or a ratio.",
    "rtscope_latency_quantile_seconds": "Quantile of a run's samples.",
    "rtscope_response_quantile_seconds": "Quantile of a run's response times: the samples, with "
    "missed periods filled in.",
    "rtscope_latency_max_seconds": "Largest sample of a run.",
    "rtscope_missed_periods": "Periods of a run without a sample.",
    "rtscope_samples": "Number of a run's samples.",
    "rtscope_run_start_time_seconds": "Start of a run since the epoch.",
}
Series = list[tuple[dict[str, str], float]]


def prometheus_metrics(cases: Sequence[Case]) -> bytes:
    """The text: all series of a metric together, behind its help and type."""
    families: dict[str, Series] = {name: [] for name in _HELP}
    for case in cases:
        labels = {"group": case.group, "case": case.name}
        for words in WORDS.values():
            state = words["prometheus"]
            present = state == WORDS[case.state]["prometheus"]
            families["rtscope_case_state"].append((labels | {"state": state}, int(present)))
        if case.value is not None and case.in_ns:
            families["rtscope_case_value_seconds"].append((labels, case.value / 1e9))
        elif case.value is not None:
            families["rtscope_case_value"].append((labels, case.value))
    for run in {_name(case.run): case.run for case in cases if case.run}.values():
        _add_run(families, run)
    return exposition(families, _HELP)


def exposition(families: Mapping[str, Series], helps: Mapping[str, str]) -> bytes:
    """Gauges as text: of each family that has any, all series behind its help and type."""
    lines = []
    for name, series in families.items():
        if series:
            lines += [f"# HELP {name} {helps[name]}", f"# TYPE {name} gauge"]
            lines += [f"{name}{_labels(labels)} {_number(value)}" for labels, value in series]
    return "".join(f"{line}\n" for line in lines).encode()


def _add_run(families: dict[str, Series], run: Run) -> None:
    labels = {"group": plain(run.probe), "cell": _name(run)}
    metrics = metrics_of_run(run)
    families["rtscope_samples"].append((labels, metrics.count))
    started = datetime.fromisoformat(run.created).timestamp()
    families["rtscope_run_start_time_seconds"].append((labels, started))
    if metrics.max_ns is not None:
        families["rtscope_latency_max_seconds"].append((labels, metrics.max_ns / 1e9))
    if metrics.missed is not None:
        families["rtscope_missed_periods"].append((labels, metrics.missed))
    answered = responses_of_run(run, run.threads) if run.probe in PERIODIC else None
    found = {"rtscope_latency_quantile_seconds": metrics.quantiles}
    if isinstance(answered, Responses):
        histogram = answered.histogram
        found["rtscope_response_quantile_seconds"] = quantiles_or_reason(
            histogram, histogram.total, metrics.max_ns
        )
    for family, quantiles in found.items():
        for quantile in quantiles:
            if quantile.value_ns is not None and not quantile.at_least:
                with_quantile = labels | {"quantile": f"{quantile.percent / 100:.9g}"}
                families[family].append((with_quantile, quantile.value_ns / 1e9))


def _name(run: Run) -> str:
    """The name of its cell, which stays the same from run to run, as that of a series must."""
    return plain(run.cell or run.probe)


def _labels(labels: dict[str, str]) -> str:
    return "{" + ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items()) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _number(value: float) -> str:
    return f"{value:.12g}" if math.isfinite(value) else "NaN"
