# SPDX-License-Identifier: GPL-2.0-only
"""Each format of --emit: its own reader finds each case in the state that the table names."""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Final, get_args

import junitparser
import pytest
from kcidb_io.schema import LATEST as KCIDB_SCHEMA  # type: ignore[import-untyped]
from kcidb_io.schema import V5_0
from msgspec.structs import replace
from prometheus_client.parser import text_string_to_metric_families
from tap.line import Result  # type: ignore[import-untyped]
from tap.parser import Parser  # type: ignore[import-untyped]

from rtscope.model.budget import parse_limit
from rtscope.model.run import Run, Status
from rtscope.report.exchange.case import (
    Case,
    cases_of_audit,
    cases_of_cells,
    cases_of_comparisons,
    cases_of_gate,
)
from rtscope.report.exchange.formats import WRITERS
from rtscope.report.exchange.junit import cases_junit_report, junit_report
from rtscope.report.exchange.states import FORMATS, WORDS, Format, State, states_table, with_table
from rtscope.statistics.cells import CellResult
from rtscope.statistics.comparison import compare
from rtscope.statistics.verdict import judge
from tests.measured import run_of, thread_of
from tests.report.test_audit import AUDIT
from tests.report.views import gated
from tests.statistics.test_response import stalled

FORMATS_PAGE: Final = Path(__file__).parents[2] / "docs/reference/formats.md"
HOSTILE: Final = '<LAVA_SIGNAL_X Y=1>a%2C,\\n#\\b %<c> (d), é:="\x1b[2J\n::error::x\nok 9\u2028'
"""what means something in one of the formats"""


def cell(name: str, *limits: str, status: Status = "complete") -> CellResult:
    run: Run = replace(run_of(thread_of([2000] * 50), probe="cyc li.c\n"), status=status)
    return CellResult(name, run, judge(run, [parse_limit(text) for text in limits]))


CELLS: Final[dict[State, CellResult]] = {
    "pass": cell(HOSTILE, "max<10us"),
    "measured": cell("::error::without limits"),
    "fail": cell("slow", "max<=1us"),
    "inconclusive": cell(f"{HOSTILE} too", "p99.9<1s"),
    "agent failed": CellResult("refused", failure=HOSTILE),
    "boot failed": CellResult("panicked", failure="no init", boot_failed=True),
    "not begun": CellResult("left"),
}
CASES: Final = [
    *cases_of_cells([*CELLS.values()]),
    Case("gate", "p99.9999", "not applicable", "too few samples"),
]


def by_tap(document: bytes) -> list[str]:
    lines = [line for line in Parser().parse_text(document.decode()) if isinstance(line, Result)]
    assert [line.description for line in lines] == [
        f"- {case.name}".replace("\\", "_").replace("#", "_") for case in CASES
    ]
    return [f"{'ok' if line.ok else 'not ok'}{' # SKIP' if line.skip else ''}" for line in lines]


def by_kcidb(document: bytes) -> list[str]:
    """KCIDB's own library validates it, and upgrades it to its latest version; no object that is
    named is missing.
    """
    report = V5_0.validate(json.loads(document))
    latest = KCIDB_SCHEMA.validate(KCIDB_SCHEMA.upgrade(report))
    builds = {build["id"]: build["checkout_id"] for build in latest["builds"]}
    assert {*builds.values()} == {checkout["id"] for checkout in latest["checkouts"]}
    assert {*builds} == {test["build_id"] for test in latest["tests"]}
    assert len({test["id"] for test in latest["tests"]}) == len(CASES)
    assert [test["comment"] for test in latest["tests"]] == [case.name for case in CASES]
    assert latest["tests"][0]["number"] == {"value": 2e-6, "unit": "s", "prefix": "metric"}
    return [test["status"] for test in latest["tests"]]


def by_lava(document: bytes) -> list[str]:
    """As lava_dispatcher/actions/test/shell.py reads a console."""
    results: dict[str, str] = {}
    for name, parameters in re.findall(r"<LAVA_SIGNAL_(\S+) ([^>]+)>", document.decode()):
        assert name == "TESTCASE"
        parts = [parameter.split("=") for parameter in parameters.split()]
        values = dict(parts)
        assert "MEASUREMENT" not in values or float(values["MEASUREMENT"]) == 2
        results[values["TEST_CASE_ID"]] = values["RESULT"]
    assert "slow-max-le-1us" in results
    return [*results.values()]


def by_ptest(document: bytes) -> list[str]:
    """As meta/lib/oeqa/utils/logparser.py of openembedded-core reads a log: it ends a name
    at #, and that of a failed test at a parenthesis.
    """
    found = [
        match
        for line in document.decode().split("\n")
        if (match := re.match(r"(FAIL):([^(#]+)|(PASS|SKIP):([^#]+)", line))
    ]
    names = [(match[2] or match[4]).strip() for match in found]
    assert names == [case.name.translate(str.maketrans("()#", "[]_")) for case in CASES]
    return [match[1] or match[3] for match in found]


def by_github(document: bytes) -> list[str]:
    """As ActionCommand.cs of actions/runner reads a line."""
    words = []
    for line, case in zip(document.decode().split("\n"), CASES, strict=False):
        command = re.fullmatch(r"(::\w+) ([^:]+)::(.*)", line)
        words.append(command[1] if command else "plain line")
        if command is None:
            assert not line.lstrip().startswith("::")
            continue
        key, _, title = command[2].partition("=")
        assert (key, "," in title, unescaped(title)) == ("title", False, case.name)
        assert unescaped(command[3]) == case.reason
    return words


def unescaped(text: str) -> str:
    for sign in (":", ",", "%"):
        text = text.replace(f"%{ord(sign):02X}", sign)
    return text


def by_gitlab(document: bytes) -> list[str]:
    """With what app/validators/json_schemas/codeclimate.json of GitLab requires, and the severities
    that it knows.
    """
    severities = {}
    for finding in json.loads(document):
        assert isinstance(finding["location"]["path"], str)
        assert isinstance(finding["location"]["lines"]["begin"], int)
        assert re.fullmatch("[0-9a-f]{64}", finding["fingerprint"])
        assert finding["severity"] in ("info", "minor", "major", "critical", "blocker")
        severities[finding["description"]] = finding["severity"]
    return [severities.get(f"{case.name}: {case.reason}", "no finding") for case in CASES]


def by_prometheus(document: bytes) -> list[str]:
    families = {one.name: one for one in text_string_to_metric_families(document.decode())}
    samples = [one for family in families.values() for one in family.samples]
    series = [(one.name, *sorted(one.labels.items())) for one in samples]
    assert len({*series}) == len(series)
    assert {(one.type, bool(one.documentation)) for one in families.values()} == {("gauge", True)}
    assert not any(one.timestamp for one in samples)
    assert {one.value for one in families["rtscope_case_value_seconds"].samples} == {2e-6}
    assert {one.labels["quantile"] for one in families["rtscope_latency_quantile_seconds"].samples}
    states: dict[str, list[str]] = {case.name: [] for case in CASES}
    for one in families["rtscope_case_state"].samples:
        states[one.labels["case"]] += [one.labels["state"]] * int(one.value)
    return [state for (state,) in states.values()]


def test_prometheus_has_the_response_times_of_a_run_with_missed_periods() -> None:
    run = stalled([5_000] * 1950 + [50_000_000], 49)
    document = WRITERS["prometheus"](cases_of_cells([CellResult("stalled", run)])).decode()
    families = {one.name: one for one in text_string_to_metric_families(document)}
    plain, filled = (
        {one.labels["quantile"]: one.value for one in families[name].samples}
        for name in ("rtscope_latency_quantile_seconds", "rtscope_response_quantile_seconds")
    )
    assert plain.keys() == filled.keys() == {"0.5", "0.99"}
    assert plain["0.99"] == 5e-6
    assert filled["0.99"] == pytest.approx(30e-3, rel=0.001)
    assert [one.value for one in families["rtscope_missed_periods"].samples] == [49]


READERS: Final[dict[Format, Callable[[bytes], list[str]]]] = {
    "tap": by_tap,
    "kcidb": by_kcidb,
    "lava": by_lava,
    "ptest": by_ptest,
    "github": by_github,
    "gitlab": by_gitlab,
    "prometheus": by_prometheus,
}
"""A reader returns the word of the table for each of CASES."""


@pytest.mark.parametrize("format", READERS)
def test_a_reader_of_the_format_finds_each_state_as_the_table_has_it(format: Format) -> None:
    assert READERS[format](WRITERS[format](CASES)) == [WORDS[case.state][format] for case in CASES]


def test_junit_has_each_state_as_the_table_has_it() -> None:
    suites = junitparser.JUnitXml.fromstring(junit_report("title", [*CELLS.values()]))
    found = []
    for suite in suites:
        for case in suite:
            kinds = {type(one).__name__.lower() for one in case.result}
            found.append(" ".join(kinds) or "passed")
    assert found == [WORDS[state]["junit"] for state in CELLS]


def test_junit_of_other_commands_has_each_state_as_the_table_has_it() -> None:
    (suite,) = junitparser.JUnitXml.fromstring(cases_junit_report("title", CASES))
    found = [" ".join(type(one).__name__.lower() for one in case.result) for case in suite]
    assert [one or "passed" for one in found] == [WORDS[case.state]["junit"] for case in CASES]


def test_all_states_and_formats_are_in_the_table_and_tested() -> None:
    assert set(WORDS) == set(get_args(State)) == {case.state for case in CASES}
    assert {*READERS, "junit"} == {*WRITERS, "junit"} == {*FORMATS}
    page = FORMATS_PAGE.read_text()
    assert states_table() in page
    assert with_table(page) == page


def test_only_what_passed_or_was_measured_is_called_so() -> None:
    good: tuple[State, ...] = ("pass", "measured")
    for format in FORMATS:
        successes = {WORDS[state][format] for state in good}
        others = {words[format] for state, words in WORDS.items() if state not in good}
        assert not successes & others, format


def test_kcidb_takes_the_build_and_the_origin_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("KCIDB_ORIGIN", "ourlab")
    monkeypatch.setenv("KCIDB_BUILD_ID", "maestro:6f00")
    report = V5_0.validate(json.loads(WRITERS["kcidb"](CASES)))
    assert {"checkouts", "builds"}.isdisjoint(report)
    assert {(one["origin"], one["build_id"]) for one in report["tests"]} == {
        ("ourlab", "maestro:6f00")
    }


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.state)
def test_prove_succeeds_only_for_what_is_ok(case: Case, tmp_path: Path) -> None:
    file = tmp_path / "one.tap"
    file.write_bytes(WRITERS["tap"]([case]))
    done = subprocess.run(["prove", "-e", "cat", str(file)], capture_output=True, check=False)
    assert (done.returncode == 0) == WORDS[case.state]["tap"].startswith("ok"), done


def test_a_run_that_breaks_off_passes_no_limit() -> None:
    states = {
        status: [one.state for one in cases_of_cells([cell("c", "max<10us", status=status)])]
        for status in get_args(Status)
    }
    assert states == {
        "complete": ["pass"],
        "interrupted": ["inconclusive"],
        "threshold": ["inconclusive"],
        "watchdog": ["inconclusive"],
        "failed": ["agent failed"],
    }
    bare = [cases_of_cells([cell("c", status=status)])[0].state for status in get_args(Status)]
    assert bare == ["measured", *["inconclusive"] * 3, "agent failed"]


def test_names_are_distinct() -> None:
    names = [case.name for case in cases_of_cells([cell("c", "max<1ms", "max<1ms"), cell("c")])]
    assert names == ["c: max<1ms", "c: max<1ms (2)", "c"]


def test_gates_and_comparisons_are_cases() -> None:
    verdict = gated("7.2")
    cases = cases_of_gate(verdict)
    assert [case.state for case in cases[: len(verdict.rows)]] == [
        row.outcome for row in verdict.rows
    ]
    assert {case.state for case in cases[len(verdict.rows) :]} == {"not applicable"}
    fast, slow = (run_of(thread_of([ns] * 5000)) for ns in (1000, 2000))
    other = run_of(thread_of([1000] * 5000), probe="pi")
    pairs = [(fast, slow), (slow, fast), (fast, fast), (fast, other)]
    states = [cases_of_comparisons([compare(*pair)])[0].state for pair in pairs]
    assert states == ["fail", "pass", "inconclusive", "not applicable"]


def test_rules_of_an_audit_are_cases() -> None:
    states = {one.name: one.state for one in cases_of_audit(AUDIT, "medium")}
    severe = [one.rule for one in AUDIT.findings if one.severity != "info"]
    assert {name for name, state in states.items() if state == "fail"} == {*severe}
    unseen = {one.rule for one in AUDIT.unseen}
    assert {name for name, state in states.items() if state == "not applicable"} == unseen
    assert {state for name, state in states.items() if name in AUDIT.sound} == {"pass"}
