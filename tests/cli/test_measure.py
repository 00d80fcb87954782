# SPDX-License-Identifier: GPL-2.0-only
"""rtscope measure, from the command to the kept run."""

import json
import os
import re
import signal
import sqlite3
import subprocess
import time
from pathlib import Path

import pytest

from rtscope.store.importer import import_file
from tests.cli.conftest import COMMAND, Rtscope
from tests.terminal import on_terminal

SHORT = ("measure", "-D", "300ms", "-i", "500us")


def test_one_command_measures_shows_keeps_and_draws(rtscope: Rtscope, tmp_path: Path) -> None:
    done = rtscope(*SHORT, "--load", "idle", "--load", "cpu:1")
    assert done.returncode == 0, done.stderr
    assert "load idle" in done.stdout
    assert "iterations/s" in done.stdout
    assert " us" in done.stdout
    report = done.stdout.partition("report: ")[2].strip()
    assert Path(report).read_text().startswith("<!doctype html>")
    listed = rtscope("list", "--json").stdout.splitlines()
    assert [json.loads(line)["load"] for line in listed] == ["cpu:1", "idle"]


def test_the_run_holds_what_was_asked_and_what_happened(rtscope: Rtscope, tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    done = rtscope(*SHORT, "-p", "70", "--budget", "max<10s", "-o", str(file), "--no-report")
    assert done.returncode == 0, done.stderr
    (run,) = import_file(file)
    assert run.status == "complete"
    assert (run.asked.interval_ns, run.asked.duration_ns) == (500_000, 300_000_000)
    assert run.asked.priority == 70
    assert run.asked.options == {"distance_ns": 0, "method": "nanosleep", "phase": "sweep"}
    assert run.asked.budget == ["max<10s"]
    assert run.asked.command[:2] == ["rtscope", "measure"]
    assert run.machine.kernel_release == os.uname().release
    assert run.machine.high_resolution_timers is True
    for thread in run.threads:
        assert thread.histogram.total == thread.count > 100
        assert len(thread.windows.count) >= 1
        assert sum(thread.windows.count) <= thread.count


@pytest.mark.parametrize(
    ("budget", "code", "word"),
    [("max<1ns", 1, "fail"), ("p99.999<10s", 1, "inconclusive"), ("max<=1h", 0, "pass")],
)
def test_the_exit_status_is_the_verdict(
    rtscope: Rtscope, budget: str, code: int, word: str
) -> None:
    done = rtscope(*SHORT, "--budget", budget, "--no-report")
    assert done.returncode == code
    assert word in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("--budget", "max<50apples"),
        ("--interval", "5us"),
        ("--duration", "soon"),
        ("--load", "nonsense"),
        ("--cpus", "4000"),
        ("--policy", "rr"),
        ("--output", "/nonexistent/run.json"),
        ("nosuchprobe",),
        ("--load", "idle", "--load", "nonsense"),
        ("-O", "load=cpu"),
        ("-O", "cpus=0"),
        ("-O", "samples-file=samples"),
        ("--budget", "foo<1"),
        ("--budget", "p100<1us"),
    ],
)
def test_bad_use_exits_2_with_a_sentence_and_keeps_nothing(
    rtscope: Rtscope, arguments: tuple[str, ...], tmp_path: Path
) -> None:
    done = rtscope("measure", "-D", "200ms", *arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("rtscope: ")
    assert json.loads("[" + ",".join(rtscope("list", "--json").stdout.split()) + "]") == []


def test_an_unknown_probe_is_refused_first_with_the_probes_and_the_nearest(
    rtscope: Rtscope,
) -> None:
    done = rtscope("measure", "cyklik", "--target", "ssh:board.invalid", "--budget", "nonsense")
    assert done.returncode == 2
    listed, _, nearest = done.stderr.partition("Did you mean ")
    assert nearest.rstrip("?\n") == "cyclic"
    assert {"cyclic", "memory", "topology"} <= set(re.findall(r"\w+", listed))


def test_an_existing_file_is_refused_before_measuring(rtscope: Rtscope, tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    file.write_text("mine")
    done = rtscope("measure", "-D", "1h", "-o", str(file))
    assert done.returncode == 2
    assert "--force" in done.stderr
    assert file.read_text() == "mine"


def test_a_samples_file_that_exists_is_overwritten_only_by_force(
    rtscope: Rtscope, tmp_path: Path
) -> None:
    file = tmp_path / "samples.tsv"
    file.write_text("mine")
    done = rtscope(*SHORT, "--no-report", "--samples-file", str(file))
    assert done.returncode == 2
    assert "--force" in done.stderr
    assert file.read_text() == "mine"
    assert rtscope(*SHORT, "--no-report", "--samples-file", str(file), "-f").returncode == 0
    assert file.read_text() != "mine"


@pytest.mark.parametrize(("user", "command"), [("", "rtscope"), ("somebody", "sudo rtscope")])
def test_where_the_store_is_and_who_sees_it_is_told(
    rtscope: Rtscope, tmp_path: Path, user: str, command: str
) -> None:
    if os.geteuid() and user:
        pytest.skip("only root can have been called by sudo")
    done = rtscope(*SHORT, "--no-report", SUDO_USER=user)
    run = json.loads(rtscope("list", "--json").stdout)["id"]
    store = tmp_path / "data" / "rtscope" / "runs.sqlite"
    assert f"run {run} is in the store {store}: {command} show {run[:8]}\n" in done.stdout


@pytest.mark.parametrize(
    ("options", "cpus"),
    [
        (("-m", "-S", "--histogram", "100"), None),
        (("-t", "1"), "0"),
        (("-mSt2",), "0-1"),
        (("-t", "local", "-mt", "1"), "0"),
    ],
)
def test_cyclictests_options_are_accepted(
    rtscope: Rtscope, options: tuple[str, ...], cpus: str | None
) -> None:
    if cpus == "0-1" and not {0, 1} <= os.sched_getaffinity(0):
        pytest.skip("CPUs 0 and 1 are not both usable")
    done = rtscope("measure", *options, "-p", "80", "-i", "1000", "-l", "50", "--json", "-q")
    assert done.returncode == 0, done.stderr
    run = json.loads(done.stdout)
    assert run["asked"].get("cpus") == cpus
    assert len(run["threads"]) == (
        len(os.sched_getaffinity(0)) if cpus is None else len(cpus) // 2 + 1
    )


def test_cyclictests_threads_and_cpus_exclude_each_other(rtscope: Rtscope) -> None:
    assert rtscope("measure", "-t", "1", "-a", "0", "-l", "50").returncode == 2


def test_quiet_prints_only_the_result_and_each_warning_once(
    rtscope: Rtscope, tmp_path: Path
) -> None:
    report = tmp_path / "report.html"
    loads = ("-L", "idle", "-L", "cpu:1", "--idle-states", "default", "--report", str(report))
    loud = rtscope(*SHORT, *loads)
    quiet = rtscope(*SHORT, *loads, "--quiet", "--force")
    assert (loud.returncode, quiet.returncode) == (0, 0), quiet.stderr
    assert quiet.stderr == ""
    ids = [json.loads(line)["id"] for line in rtscope("list", "--json").stdout.splitlines()]
    assert [quiet.stdout.count(run) for run in ids[:2]] == [1, 1]
    assert "rtscope show" not in quiet.stdout
    assert report.name not in quiet.stdout
    assert report.name in loud.stdout
    run = json.loads(rtscope("export", "last").stdout)
    warnings = [" ".join(warning["text"].split()) for warning in run["warnings"]]
    shown = " ".join(quiet.stdout.split())
    assert [shown.count(text) for text in warnings] == [1] * len(warnings)

    line = rtscope(*SHORT, "--quiet", "--json")
    assert line.stderr == ""
    assert json.loads(line.stdout)["status"] == "complete"


def test_the_same_load_twice_gives_two_files(rtscope: Rtscope, tmp_path: Path) -> None:
    done = rtscope(*SHORT, "-L", "idle", "-L", "idle", "-o", str(tmp_path / "run.json"))
    assert done.returncode == 0, done.stderr
    assert {path.name for path in tmp_path.glob("run-*.json")} == {
        "run-1-idle.json",
        "run-2-idle.json",
    }


def test_json_goes_to_standard_output_and_nothing_else_does(rtscope: Rtscope) -> None:
    done = rtscope(*SHORT, "--load", "idle", "--load", "timers:1", "--json")
    runs = [json.loads(line) for line in done.stdout.splitlines()]
    assert [run["load"] for run in runs] == ["idle", "timers:1"]
    assert "report: " in done.stderr


def start(environment: dict[str, str], *arguments: str) -> subprocess.Popen[bytes]:
    """A measurement of an hour that has begun: its first progress is on standard error."""
    process = subprocess.Popen(
        [*COMMAND, "measure", "-D", "1h", *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    assert b" samples" in process.stderr.readline()
    return process


def children(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in text.split()]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_run_is_kept_and_marked(
    environment: dict[str, str], rtscope: Rtscope, number: signal.Signals
) -> None:
    with start(environment, "--load", "idle", "--load", "cpu") as process:
        process.send_signal(number)
        out, _ = process.communicate(timeout=30)
    assert process.returncode == 128 + number
    assert b"interrupted" in out
    (line,) = rtscope("list", "--json").stdout.splitlines()
    assert json.loads(line)["status"] == "interrupted"
    assert json.loads(line)["count"] > 0


def test_an_agent_that_is_killed_leaves_what_was_seen(
    environment: dict[str, str], rtscope: Rtscope
) -> None:
    with start(environment) as process:
        for child in children(process.pid):
            os.kill(child, signal.SIGKILL)
        out, _ = process.communicate(timeout=30)
    assert process.returncode == 1
    assert b"SIGKILL" in out
    (line,) = rtscope("list", "--json").stdout.splitlines()
    assert json.loads(line)["status"] == "failed"
    run = json.loads(rtscope("export", "last", "-o", "-").stdout)
    for thread in run["threads"]:
        assert sum(thread["histogram"]["count"]) == thread["count"] > 0
        assert thread["histogram"].get("beyond_count", 0) == 0


def test_no_agent_and_no_load_outlives_a_killed_rtscope(environment: dict[str, str]) -> None:
    with start(environment, "--load", "files:2+cpu:2") as process:
        descendants = children(process.pid)
        for pid in descendants:
            descendants += children(pid)
        assert len(descendants) >= 5
        process.kill()
    deadline = time.monotonic() + 10
    while any(map(alive, descendants)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(alive, descendants))


def test_a_locked_store_costs_no_run(
    environment: dict[str, str], rtscope: Rtscope, tmp_path: Path
) -> None:
    assert rtscope(*SHORT, "--no-report").returncode == 0
    with sqlite3.connect(tmp_path / "data" / "rtscope" / "runs.sqlite") as lock:
        lock.execute("BEGIN EXCLUSIVE")
        done = rtscope(*SHORT, "--no-report")
    assert done.returncode == 2
    assert "locked" in done.stderr
    assert "is in the store" not in done.stdout
    (rescued,) = tmp_path.glob("rtscope-*.json")
    assert import_file(rescued)[0].status == "complete"


def test_a_store_that_cannot_be_made_costs_no_run(rtscope: Rtscope, tmp_path: Path) -> None:
    (tmp_path / "blocked").write_text("a file where a directory should be")
    done = rtscope(*SHORT, XDG_DATA_HOME=str(tmp_path / "blocked"))
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    (rescued,) = tmp_path.glob("rtscope-*.json")
    assert import_file(rescued)[0].status == "complete"


def test_a_reader_that_goes_away_gets_no_traceback(environment: dict[str, str]) -> None:
    with subprocess.Popen(
        [*COMMAND, *SHORT, "--json"],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()


@pytest.mark.parametrize(("columns", "rows"), [(110, 30), (40, 10), (12, 4)])
def test_the_live_view_fits_any_terminal(
    environment: dict[str, str], columns: int, rows: int
) -> None:
    command = [*COMMAND, "measure", "-D", "1200ms", "--no-report"]
    with on_terminal(command, environment, columns=columns, rows=rows) as shown:
        assert shown.end() == 0, shown.text
    assert "Traceback" not in shown.text
    assert "left" in shown.text or columns < 40
