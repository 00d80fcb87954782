# SPDX-License-Identifier: GPL-2.0-only
"""--emit: where the results go, what is refused, and what a gate writes."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from rtscope.report.exchange.case import cases_of_gate
from rtscope.report.exchange.tap import tap_report
from rtscope.statistics.gate.gate import gate
from rtscope.store.runfile import write_run
from tests.cli.conftest import Rtscope
from tests.measured import run_of, thread_of
from tests.statistics.test_gate import side

SHORT = ("measure", "-D", "100ms", "--no-report")


def test_a_document_is_alone_on_standard_output(rtscope: Rtscope, tmp_path: Path) -> None:
    done = rtscope(*SHORT, "--budget", "max<1ns", "--emit", "tap", "--emit", "junit:j.xml")
    assert done.returncode == 1
    first, plan, case, why = done.stdout.splitlines()
    assert (first, plan, case[:10]) == ("TAP version 13", "1..1", "not ok 1 -")
    assert why.startswith("# max<1ns: fail, max is")
    assert "<failure" in (tmp_path / "j.xml").read_text()


def test_lines_follow_the_results_and_github_gets_its_summary(
    rtscope: Rtscope, tmp_path: Path
) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    limits = ("--budget", "max<1ns", "--budget", "max<1h")
    done = rtscope(*SHORT, *limits, "--emit", "github", GITHUB_STEP_SUMMARY=str(summary))
    *results, failed, passed = done.stdout.splitlines()
    assert any("p99" in line for line in results)
    assert failed.startswith("::error title=")
    assert passed.startswith("pass: ")
    lines = summary.read_text().splitlines()
    assert [line.split(" | ")[1] for line in lines if line.startswith("| ")] == [
        *("state", "fail", "pass"),
    ]


@pytest.mark.parametrize(
    ("options", "reported"),
    [
        (("--emit", "tapp"), "'tapp' is not FORMAT"),
        (("--emit", "tap:"), "'tap:' is not FORMAT"),
        (("--emit", "tap", "--emit", "junit"), "both go to standard output"),
        (("--emit", "tap", "--json"), "both go to standard output"),
        (("--emit", "tap:a", "--emit", "junit:a"), "name the same file"),
        (("--emit", "tap:none/a"), "no directory none"),
        (("--emit", "tap:kept"), "--force"),
    ],
)
def test_what_cannot_be_written_is_refused_first(
    rtscope: Rtscope, tmp_path: Path, options: tuple[str, ...], reported: str
) -> None:
    (tmp_path / "kept").write_text("mine")
    done = rtscope("measure", "-D", "1h", *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert reported in done.stderr
    assert (tmp_path / "kept").read_text() == "mine"


@pytest.mark.parametrize("command", [("measure", "-D", "1h"), ("run", "quick")])
def test_a_board_that_cannot_be_reached_is_a_boot_failure(
    rtscope: Rtscope, tmp_path: Path, command: tuple[str, ...]
) -> None:
    done = rtscope(*command, "--target", "ssh:root@127.0.0.1:1", "--emit", "kcidb:k.json")
    assert done.returncode == 2
    (test,) = json.loads((tmp_path / "k.json").read_text())["tests"]
    assert (test["status"], test["misc"]["state"]) == ("MISS", "boot failed")
    assert "cannot be reached" in test["log_excerpt"]


def test_show_compare_and_check_emit_their_verdicts(rtscope: Rtscope, tmp_path: Path) -> None:
    for name, ns in (("a", 1000), ("b", 2000)):
        write_run(replace(run_of(thread_of([ns] * 5000)), id=name * 16), tmp_path / f"{name}.json")
    judged = rtscope("show", "b.json", "--budget", "max<1500ns", "--emit", "tap")
    compared = rtscope("compare", "a.json", "b.json", "--emit", "tap", "--emit", "junit:c.xml")
    for done, status in ((judged, 1), (compared, 0)):
        assert done.returncode == status
        lines = done.stdout.splitlines()
        assert (lines[:2], lines[2][:6]) == (["TAP version 13", "1..1"], "not ok")
    assert 'failures="1"' in (tmp_path / "c.xml").read_text()
    checked = rtscope("check", "--fail-on", "info", "--emit", "tap")
    assert checked.returncode == int("\nnot ok" in checked.stdout)
    assert checked.stdout.startswith("TAP version 13\n1..")
    refused = rtscope("compare", "a.json", "--reference", "x", "--emit", "tap")
    assert (refused.returncode, "leave one out" in refused.stderr) == (2, True)


@pytest.mark.parametrize(
    ("name", "value"), [("KCIDB_ORIGIN", "Our Lab"), ("KCIDB_BUILD_ID", "6f00")]
)
def test_what_kcidb_would_refuse_is_refused_first(rtscope: Rtscope, name: str, value: str) -> None:
    done = rtscope("measure", "-D", "1h", "--emit", "kcidb", **{name: value})
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"rtscope: {name} '{value}' ")


def test_a_gate_emits_its_rows(rtscope: Rtscope, tmp_path: Path) -> None:
    runs = [side([30 + 0.1 * at for at in range(8)], first) for first in (0, 100)]
    names = [[f"{number}-{run.id}.json" for run in some] for number, some in enumerate(runs)]
    for some, files in zip(runs, names, strict=True):
        for run, name in zip(some, files, strict=True):
            write_run(run, tmp_path / name)
    done = rtscope("gate", *names[0], "--emit", "tap", "--", *names[1])
    assert done.stdout.encode() == tap_report(cases_of_gate(gate(runs[0], runs[1], 0.05)))
    assert done.returncode == int("\nnot ok" in done.stdout)
    refused = rtscope("gate", "--calibrate", *names[0], "--emit", "tap")
    assert (refused.returncode, "leave one out" in refused.stderr) == (2, True)
