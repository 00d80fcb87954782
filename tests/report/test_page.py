# SPDX-License-Identifier: GPL-2.0-only
"""The page has all charts, works in a browser, needs no network, and runs nothing of a run's."""

import html
import json
import re
import shutil
import subprocess
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rtscope.model.budget import parse_limit
from rtscope.model.errors import RtscopeError
from rtscope.model.histogram import Histogram
from rtscope.model.machine import Cache, Cpu, IdleState, Interrupt, Machine
from rtscope.model.run import Asked, LoadWork, Phase, Run, RunWarning, Thread
from rtscope.model.timeline import Call, Explanation, FunctionTime, Stretch
from rtscope.references.library import reference_named
from rtscope.report.page.bins import drawing
from rtscope.report.page.chart import GREY
from rtscope.report.page.distribution import Lines, shared_charts
from rtscope.report.page.marks import marks_of, view_of
from rtscope.report.page.probe_charts import Labelled, charts_of
from rtscope.report.page.reference_charts import samples_chart
from rtscope.report.page.report import html_report
from rtscope.statistics.reference import beside, tables_beside
from rtscope.statistics.verdict import judge
from tests.measured import latencies, run_of, thread_of
from tests.strategies import runs

ATTACK = (
    "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
    "<!--<script>\u2028{{7*7}}&lt;b id=owned>"
)


def measured_run(spikes: float = 2.0, **fields: object) -> Run:
    rng = np.random.default_rng(5)
    return run_of(
        *(thread_of(latencies(rng, "independent", spikes=spikes), cpu) for cpu in (0, 1)),
        asked=Asked(["rtscope", "measure", "--load", "cmd:make -j4"], 200_000),
        **fields,
    )


def hostile_run() -> Run:
    names = ["hostname", "architecture", "cpu_model", "board", "kernel_release", "kernel_version"]
    names += ["command_line", "preemption", "preemption_evidence", "clock_source", "virtualisation"]
    machine = dict.fromkeys(names, ATTACK) | {
        "cpus": [Cpu(0, governor=ATTACK, driver=ATTACK)],
        "caches": [Cache(1, ATTACK, 32768, [0])],
        "clock_sources": [ATTACK],
        "idle_states": [IdleState(ATTACK)],
        "interrupts": [Interrupt(1, ATTACK, ATTACK)],
    }
    calls = [Call(0, 9, 0, ATTACK)]
    stretches = [Stretch(0, 9, ATTACK)]
    explanation = Explanation(
        0, 5, 9, ATTACK, calls, calls, [FunctionTime(ATTACK, 9)], stretches, stretches,
        notes=[ATTACK],
    )  # fmt: skip
    run = measured_run()
    metrics = {ATTACK: 1.5, "cost_ns": 20.0, "cpu0": 3.0}
    return msgspec.structs.replace(
        run,
        **dict.fromkeys(["probe", "load", "source", "target", "agent_version"], ATTACK),
        machine=msgspec.structs.replace(Machine(), **machine),
        loads=[LoadWork(ATTACK, 1, 1, 1.0, {ATTACK: 4})],
        warnings=[RunWarning(ATTACK, ATTACK)],
        explanations=[explanation],
        threads=[
            msgspec.structs.replace(thread, policy=ATTACK, name=ATTACK, metrics=metrics)
            for thread in run.threads
        ],
        asked=Asked(["rtscope", ATTACK], 200_000, options={ATTACK: ATTACK}),
    )


@pytest.fixture(scope="module")
def chromium() -> str:
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.fail("no chromium: the report can only be tested in a browser; install chromium")
    return path


def dom(chromium: str, page: str, folder: Path) -> str:
    """The document after its scripts have run, as HTML."""
    file = folder / "report.html"
    file.write_text(page, encoding="utf-8")
    command = [
        chromium,
        *["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"],
        *["--disable-background-networking", "--disable-component-update", "--disable-sync"],
        "--disable-dev-shm-usage",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        f"--user-data-dir={folder / 'profile'}",
        "--virtual-time-budget=5000",
        "--dump-dom",
        file.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, timeout=120, check=True)
    shutil.rmtree(folder / "profile", ignore_errors=True)
    return done.stdout.decode()


def without_scripts(page: str) -> str:
    return re.sub(r"<script\b.*?</script>", "", page, flags=re.DOTALL)


def marks(page: str, figure: str, panel: str = "log") -> list[tuple[str, str, str]]:
    """Key, classes and path of each mark in a figure's panels of one kind."""
    part = page.split(f'id="{figure}"', 1)[1].split("</figure>", 1)[0]
    panels = re.findall(rf'<div class="panel {panel}">.*?class="drawn".*?</svg>', part, re.DOTALL)
    found = re.findall(r'<path class="([^"]*)" data-k="(\d+)"[^>]* d="([^"]*)"', "".join(panels))
    return [(key, classes, path) for classes, key, path in found]


def lines(page: str, figure: str) -> int:
    """How many marks of a figure are lines of more than two points."""
    return sum("dots" not in classes and len(path) > 20 for _, classes, path in marks(page, figure))


def test_the_charts_of_one_run_have_a_line_for_each_cpu_and_one_for_all() -> None:
    page = html_report([measured_run()])
    assert lines(page, "histogram") == lines(page, "percentiles") == 3
    assert lines(page, "time") == 6
    for figure in ("histogram", "percentiles", "time"):
        shown = [classes.split()[1] for _, classes, path in marks(page, figure)]
        assert set(shown) == {"each", "all"}
        linear = marks(page, figure, "linear")
        assert [key for key, *_ in linear] == [key for key, *_ in marks(page, figure)]
    worst = max(thread.max_ns or 0 for thread in measured_run().threads) / 1000
    assert f"worst: {worst:.2f} us, CPU " in page


ACTS = """<script>
Element.prototype.setPointerCapture = () => {};
const $ = (selector) => document.querySelector(selector);
const shown = (selector) => [...document.querySelectorAll(selector)].filter((one) =>
  getComputedStyle(one).display !== "none").length;
const area = () => $("#histogram .log .drawn");
const pointer = (type, across, down) => {
  const box = area().getBoundingClientRect();
  const [clientX, clientY] = [box.left + across * box.width, box.top + down * box.height];
  area().dispatchEvent(new PointerEvent(type, { bubbles: true, clientX, clientY }));
};
const state = () => ({
  each: shown("#histogram .log path.each[data-k]"), all: shown("#histogram .log path.all[data-k]"),
  log: shown("#histogram .panel.log"), linear: shown("#histogram .panel.linear"),
  box: area().getAttribute("viewBox").split(" ").map(Number),
  ticks: [...document.querySelectorAll("#histogram .log .x text")].map((one) => one.textContent),
});
const seen = { first: state() };
$("input[value=all]").click(); $("input[value=linear]").click();
seen.switched = state();
$("input[value=each]").click(); $("input[value=log]").click();
$("#histogram .keys button").click();
seen.hidden = state();
$("#histogram .keys button").click();
const dot = area().querySelector("path.dots.each").getAttribute("d").match(/\\d+/g);
pointer("pointermove", dot[0] / 20000, dot[1] / 20000);
seen.reading = $("#histogram .reading")?.textContent;
pointer("pointerdown", 0.25, 0.2); pointer("pointermove", 0.5, 0.7); pointer("pointerup", 0.5, 0.7);
seen.zoomed = state();
$("#histogram .whole").click();
seen.whole = state();
const pre = document.createElement("pre");
pre.id = "seen"; pre.textContent = JSON.stringify(seen); document.body.append(pre);
</script>"""


def test_a_reader_can_switch_hide_read_and_zoom(chromium: str, tmp_path: Path) -> None:
    run = measured_run()
    page = re.sub(r"<meta http-equiv[^>]*>", "", html_report([run]))
    document = dom(chromium, page.replace("</body>", f"{ACTS}</body>"), tmp_path)
    found = re.search(r'<pre id="seen">(.*?)</pre>', document)
    assert found
    seen = json.loads(html.unescape(found[1]))
    first, switched, zoomed = seen["first"], seen["switched"], seen["zoomed"]
    assert (first["each"], first["all"], first["log"], first["linear"]) == (4, 0, 1, 0)
    assert (switched["each"], switched["all"], switched["log"], switched["linear"]) == (0, 2, 0, 1)
    assert seen["hidden"]["each"] == 2
    assert seen["reading"] == f"CPU 0: worst: {(run.threads[0].max_ns or 0) / 1000:.2f} us"
    assert zoomed["box"] == pytest.approx([5000, 4000, 5000, 10_000], rel=0.02)
    assert zoomed["ticks"] != first["ticks"]
    assert len(zoomed["ticks"]) >= 3
    assert seen["whole"] == first


def test_a_hostile_run_executes_nothing(chromium: str, tmp_path: Path) -> None:
    run = hostile_run()
    page = html_report([run, run], [judge(run, [parse_limit("max<1us")])])
    document = dom(chromium, page, tmp_path)
    assert lines(document, "histogram") == 6
    assert "<title>No evidence that B differs from A</title>" in document
    shown = without_scripts(document)
    assert "<img" not in shown
    assert not re.search(r"<b[^>]*id=", shown)
    assert document.count("<script") == page.count("<script") == 1
    assert html.escape("{{7*7}}") in shown


def probe_run(probe: str) -> Run:
    """A run as the probe's: its names, metrics and options, with latencies around 3 us."""
    rng = np.random.default_rng(7)
    names = {
        "gtod": ["gettimeofday", "CLOCK_TAI", "rdtsc"],
        "loop": ["relative", "absolute"],
        "event": ["sigio", "sigwait"],
        "pi": ["inherit", "none"],
        "migrate": ["rank 1", "rank 2"],
        "daq": ["module 1", "module 2"],
    }.get(probe, ["", ""])
    metrics = {"cost_ns": 20.5, "cpu0": 7.0, "cpu1": 5.0} if probe in ("gtod", "migrate") else {}
    options: dict[str, str | int | float | bool] = {
        "low_ns": 2900, "high_ns": 3100, "hold_ns": 2000, "medium_ns": 9000,
        "deadline_ns": 5000, "threshold_ns": 1000, "criterion_ns": 6000, "tolerance_ns": 4000,
    }  # fmt: skip
    threads = [
        msgspec.structs.replace(
            thread_of(latencies(rng, "independent", 5000), cpu), name=name, metrics=metrics
        )
        for cpu, name in enumerate(names)
    ]
    return run_of(*threads, probe=probe, asked=Asked(interval_ns=3000, options=options))


@pytest.mark.parametrize(
    ("probe", "quantity", "thresholds", "title"),
    [
        ("gtod", "time between two reads", [], "Cost of reading each clock"),
        ("noise", "gap", ["threshold 1.00 us"], "Stolen time"),
        ("loop", "period", ["low 2.90 us", "asked 3.00 us", "high 3.10 us"],
         "Periods within 5 % of the period asked for"),
        ("event", "delay", ["deadline 5.00 us"], "Side by side"),
        ("pi", "wait", ["hold 2.00 us", "hold and medium 11.00 us"], "Side by side"),
        ("migrate", "latency", ["tolerance 4.00 us"], "Which thread ran where"),
        ("daq", "latency", [], "Side by side"),
        ("sched", "delay", ["criterion 6.00 us"], None),
        ("cyclic", "latency", [], "Each CPU"),
    ],
)  # fmt: skip
def test_each_probe_has_its_word_its_thresholds_and_its_chart(
    probe: str, quantity: str, thresholds: list[str], title: str | None
) -> None:
    run = probe_run(probe)
    shared = shared_charts(Lines(drawing([run]), [""], view_of([run]).quantity, marks_of([run])))
    assert [chart.title for chart in shared] == ["Histogram", "Percentiles", "Over time"]
    for chart in shared:
        for panel in chart.panels:
            axis = panel.x if chart.title == "Histogram" else panel.y
            assert quantity in axis.title
            assert [mark.name for mark in panel.marks if mark.colour == GREY] == thresholds
    own = charts_of([Labelled("", run)])
    assert [chart.title for chart in own] == ([title] if title else [])
    if title == "Side by side":
        assert [mark.name for mark in own[0].marks] == ["min", "mean", "p99", "max", *thresholds]
    assert f"{quantity} (us)" in html_report([run])


def test_the_published_chart_is_drawn_from_our_data() -> None:
    runs_of = [
        msgspec.structs.replace(measured_run(load=load), id=f"{number:016x}")
        for number, load in enumerate(["idle", "network:1", "files:50", "idle"])
    ]
    reference = reference_named("loongson-2f")
    [table] = tables_beside(reference, runs_of)
    chart = samples_chart(table, beside(reference, table, runs_of), runs_of, "reference-0")
    assert chart
    assert [panel.title for panel in chart.panels] == ["idle", "ping", "find"]
    for panel in chart.panels:
        names = [mark.name for mark in panel.marks]
        assert names == ["max here", "mean here", "published Max", "published Avg."]
    page = html_report(runs_of, reference=reference)
    assert "15.553 us" in page
    assert page.index("Beside Porting") > page.index('<section class="run">')
    many = html_report(runs_of * 2, reference=reference)
    assert many.index("Beside Porting") < many.index('<section class="run">')
    with pytest.raises(RtscopeError, match="no table of slac-microtca"):
        html_report(runs_of, reference=reference_named("slac-microtca"))


def test_what_all_runs_share_is_reported_once_and_many_are_folded() -> None:
    caveat = RunWarning("no-memlock", "memory is not locked")
    other = RunWarning("rt-throttling", "throttled")
    first = measured_run(warnings=[caveat, other])
    page = html_report([first, *[measured_run(warnings=[caveat])] * 4])
    assert page.count("memory is not locked") == 1
    assert page.count("<li>A: throttled</li>") == 1
    assert page.count('<details class="folded">') == 5
    assert '<details class="folded">' not in html_report([first])


def test_the_page_shows_when_the_load_ran_with_the_latency_over_time() -> None:
    phases = [Phase("load alone", -20_000_000, 0), Phase(ATTACK, 0, 10**9)]
    run = measured_run(loads=[LoadWork("cpu", 1, 1, 1.0)], phases=phases)
    page = without_scripts(html_report([run] * 2))
    assert page.count("load alone −20ms to 0 s; ") == 2
    assert ATTACK not in page
    found = run.threads[0].worst[0].time_ns / 1e9
    page = without_scripts(html_report([measured_run(start_monotonic_ns=6_978_000_000_000)]))
    assert f"<td>{6978 + found:.6f} s</td>" in page, "as a trace dates it"


def test_the_policy_stops_a_script_even_if_one_got_in(chromium: str, tmp_path: Path) -> None:
    page = html_report([measured_run()])
    holed = page.replace(
        "<h1>",
        "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\"><h1>",
        1,
    )
    assert "<title>rtscope report</title>" in dom(chromium, holed, tmp_path)
    open_page = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", holed)
    assert "<title>owned</title>" in dom(chromium, open_page, tmp_path)


def test_nothing_is_loaded_from_anywhere() -> None:
    page = html_report([hostile_run()])
    assert not re.search(
        r"<(link|iframe|object|embed|base)\b|\ssrc=[\"']?(?!x)", without_scripts(page)
    )
    assert "@import" not in page
    assert "url(" not in page
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'; script-src 'sha256-")
    assert "connect-src" not in policy[1]


ALL_BEYOND = Thread(0, 0, "fifo", 80, 50, Histogram([], [], [], 50, 3000), 3000, 9000, 4e3)
HALF_BEYOND = Thread(0, 0, "fifo", 80, 50, Histogram([0], [9], [24], 26, 3000), 1, 9000)


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (run_of(thread_of([], 0), thread_of([], 1)), "This run has no samples."),
        (run_of(thread_of([1000] * 90, 0), thread_of([], 1)), "No sample came from CPU 1."),
        (run_of(ALL_BEYOND), "kept no histogram"),
        (run_of(HALF_BEYOND), "≥ 3.00 us"),
    ],
)
def test_poor_runs_give_a_sensible_page(run: Run, words: str) -> None:
    page = html_report([run])
    shown = without_scripts(page)
    assert words in shown
    assert "nan" not in " ".join(re.findall(r' (?:d|style)="([^"]*)"', shown))
    has_lines = any(thread.histogram.count for thread in run.threads)
    assert (' id="histogram"' in shown and lines(page, "histogram") >= 1) is has_lines


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(runs(), max_size=3))
def test_any_run_that_can_be_stored_can_be_shown(many: list[Run]) -> None:
    page = html_report(many, [judge(run, [parse_limit("p99<5us")]) for run in many])
    drawn = [text for *_, text in marks(page, "histogram")] if ' id="histogram"' in page else []
    assert all(re.fullmatch(r"[MhvlHV0-9 -]*", text) for text in drawn)


def test_pages_are_small() -> None:
    rng = np.random.default_rng(6)
    threads = [thread_of(latencies(rng, "bursts", 20_000), cpu, windows=2000) for cpu in range(64)]
    assert len(html_report([run_of(*threads)])) < 1_200_000
    assert len(html_report([run_of(*threads[:4])])) < 200_000
