"""One self-contained page of one or several runs, which opens with no network.

Untrusted text (host names, kernel command lines, imported files) reaches the page only through
jinja's autoescape; the figures' data are JSON in a block that is not a script, with nothing in it
that could end the block. A Content-Security-Policy allows the two scripts of the page by their
hashes and no connection at all, so that a hole in the above would still execute nothing.
"""

import base64
import hashlib
import json
import shlex
from collections.abc import Sequence
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import jinja2
import msgspec

from rtscope.model.errors import RtscopeError
from rtscope.model.run import Run, Sample, Thread
from rtscope.model.units import format_duration_ns
from rtscope.report import words
from rtscope.report.fingerprint import fingerprint
from rtscope.report.plots import drawing
from rtscope.statistics.figures import PERCENTS, Figures, figures, figures_of_run
from rtscope.statistics.verdict import Judgement

_WORST_SHOWN: Final = 20


class _Row(msgspec.Struct, frozen=True):
    name: str
    policy: str
    figures: Figures


class _View(msgspec.Struct, frozen=True):
    """One run as the template prints it."""

    label: str
    run: Run
    title: str
    subtitle: str
    doubts: list[str]
    judgements: Sequence[Judgement]
    rows: list[_Row]
    total: _Row
    missing: list[str]
    loads: list[str]
    worst: list[tuple[str, Sample, str]]
    command: str
    facts: list[tuple[str, str]]
    details: list[tuple[str, list[str]]]


def html_report(runs: Sequence[Run], judgements: Sequence[Sequence[Judgement]] = ()) -> str:
    """The page. `judgements` holds one list for each run, in order, or nothing.

    Raises RtscopeError where plotly's script is missing or a run's counts are impossible.
    """
    judged = [*judgements, *([()] * (len(runs) - len(judgements)))]
    views = [
        _view(_label(index), run, verdicts)
        for index, (run, verdicts) in enumerate(zip(runs, judged, strict=True))
    ]
    drawn = drawing(runs)
    lines = drawn["series"]
    data = {**drawn, "runs": [view.label for view in views], "each": len(runs) == 1}
    folder = files("rtscope.report") / "templates"
    plotly = _plotly_js()
    script = (folder / "report.js").read_text(encoding="utf-8")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    environment.filters.update(
        time=words.time_text,
        count=words.count_text,
        quantile=words.quantile_text,
        plain=words.plain,
    )
    template = environment.from_string((folder / "report.html.jinja").read_text(encoding="utf-8"))
    return template.render(
        views=views,
        percents=[words.percent_name(percent) for percent in PERCENTS],
        has_histogram=any(line["curve"]["x"] for line in lines),
        has_windows=any(line["time"]["t"] for line in lines),
        has_samples=any(thread.count for run in runs for thread in run.threads),
        data=json_in_html(data),
        style=(folder / "report.css").read_text(encoding="utf-8"),
        plotly=plotly,
        script=script,
        hashes=" ".join(f"'sha256-{_sha256(text)}'" for text in (plotly, script)),
    )


def json_in_html(value: object) -> str:
    """JSON that cannot end the script block it stands in nor start anything else there."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False, ensure_ascii=True)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _plotly_js() -> str:
    spec = find_spec("plotly")
    for place in (spec.submodule_search_locations or []) if spec else []:
        path = Path(place) / "package_data" / "plotly.min.js"
        if path.is_file():
            return path.read_text(encoding="utf-8")
    raise RtscopeError("the figures need the Python package plotly: run pip install 'plotly>=6'")


def _sha256(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _label(index: int) -> str:
    """A, B, ... Z, A2, B2 ..."""
    turn, letter = divmod(index, 26)
    return chr(ord("A") + letter) + (str(turn + 1) if turn else "")


def _view(label: str, run: Run, judgements: Sequence[Judgement]) -> _View:
    total = figures_of_run(run)
    facts, details = fingerprint(run)
    where = [run.machine.hostname, run.machine.cpu_model, run.machine.kernel_release]
    how = [f"{words.plain(run.probe)} under load {words.plain(run.load)}"]
    if run.asked.interval_ns:
        how.append(f"every {format_duration_ns(run.asked.interval_ns)}")
    if run.elapsed_ns is not None:
        how.append(f"for {words.span_text(run.elapsed_ns)}")
    return _View(
        label,
        run,
        ", ".join(how),
        " · ".join(words.plain(text) for text in where if text),
        words.doubts(run),
        judgements,
        [_Row(words.thread_name(t), words.policy_text(t), figures(t)) for t in run.threads],
        _Row("all", "", total),
        words.missing_quantiles(total.quantiles) if total.count else [],
        words.load_lines(run),
        _worst(run),
        words.plain(shlex.join(run.asked.command)),
        facts,
        details,
    )


def _worst(run: Run) -> list[tuple[str, Sample, str]]:
    """The worst samples of all threads: thread, sample, UTC time."""
    found: list[tuple[Thread, Sample]] = [(t, sample) for t in run.threads for sample in t.worst]
    found.sort(key=lambda pair: (-pair[1].latency_ns, pair[1].time_ns))
    return [
        (
            words.thread_name(thread) if sample.cpu is None else f"CPU {sample.cpu}",
            sample,
            words.moment_text(run, sample.time_ns),
        )
        for thread, sample in found[:_WORST_SHOWN]
    ]
