# SPDX-License-Identifier: GPL-2.0-only
"""rtscope measure, from the command to the kept run."""

import json
import os
import signal
import sqlite3
import subprocess
import time
from pathlib import Path

import msgspec
import pytest

from rtscope.model.run import Asked, Run
from rtscope.store.importer import import_file
from tests.cli.conftest import COMMAND, Rtscope, started
from tests.terminal import on_terminal

SHORT = ("measure", "-D", "300ms", "-i", "500us")


def test_one_command_measures_shows_keeps_and_draws(rtscope: Rtscope, tmp_path: Path) -> None:
    words = ("-L", "idle", "-L", "idle", "-L", "cpu:1", "-p", "70", "--budget", "max<10s")
    done = rtscope(*SHORT, *words, "-o", "run.json", SUDO_USER="somebody")
    assert done.returncode == 0, done.stderr
    assert "iterations/s" in done.stdout
    report = done.stdout.partition("report: ")[2].strip()
    assert Path(report).read_text().startswith("<!doctype html>")
    listed = [json.loads(line) for line in rtscope("list", "--json").stdout.splitlines()]
    assert [run["load"] for run in listed] == ["cpu:1", "idle", "idle"]
    store, run_id = tmp_path / "data" / "rtscope" / "runs.sqlite", listed[0]["id"]
    sudo = "" if os.geteuid() else "sudo "
    assert f"run {run_id} is in the store {store}: {sudo}rtscope show {run_id[:8]}\n" in done.stdout
    first, second = sorted(tmp_path.glob("run-*-idle.json"))
    (run,), (other,) = import_file(first), import_file(second)
    assert run.id != other.id
    assert run.status == "complete"
    assert msgspec.structs.replace(run.asked, command=run.asked.command[:2]) == Asked(
        ["rtscope", "measure"], 500_000, 300_000_000, policy=run.asked.policy, priority=70,
        loads=["idle"], budget=["max<10s"],
        options={"distance_ns": 0, "method": "nanosleep", "phase": "sweep"},
    )  # fmt: skip
    assert run.machine.kernel_release == os.uname().release
    assert run.machine.high_resolution_timers is True
    for thread in run.threads:
        assert thread.histogram.total == thread.count > 100
        assert 1 <= sum(thread.windows.count) <= thread.count


@pytest.mark.parametrize(
    "arguments",
    [
        ("--budget", "max<50apples"),
        ("--budget", "foo<1"),
        ("--duration", "soon"),
        ("--cpus", "4000"),
        ("--output", "/nonexistent/run.json"),
        ("--load", "idle", "--load", "nonsense"),
        ("-O", "samples-file=samples"),
        ("-t", "1", "-a", "0"),
    ],
)
def test_bad_use_exits_2_with_a_sentence_and_keeps_nothing(
    rtscope: Rtscope, arguments: tuple[str, ...], tmp_path: Path
) -> None:
    done = rtscope("measure", "-D", "200ms", *arguments)
    assert (done.returncode, done.stderr[:9]) == (2, "rtscope: ")
    assert "Traceback" not in done.stderr
    assert rtscope("list", "--json").stdout == ""


@pytest.mark.parametrize(
    ("limit", "code", "decided"), [("p90<10s", 0, "proven"), ("p90<1ns", 1, "hopeless")]
)
def test_a_measurement_ends_by_itself_once_its_limit_is_proven_or_hopeless(
    rtscope: Rtscope, limit: str, code: int, decided: str
) -> None:
    words = ("--until", limit, "-D", "10m", "--cpus", "first", "--no-report", "--json")
    done = rtscope("measure", *words)
    run = msgspec.json.decode(done.stdout, type=Run)

    assert (done.returncode, run.status) == (code, "complete")
    assert f"until-{decided}" in {warning.code for warning in run.warnings}
    assert 10 <= run.threads[0].count < 60_000
    shown = rtscope("show", "last", "--until", limit, "--json")
    (told,) = json.loads(shown.stdout)["until"]
    assert (shown.returncode, told["decision"]) == (code, decided)
    assert json.loads(shown.stdout)["responses"][0]["threads"] == [0]
    assert rtscope("measure", "--until", "max<1s", "--no-report").returncode == 2
    assert rtscope("show", "last", "--until", "max<1s").returncode == 2


def test_an_unknown_probe_is_refused_first_with_the_nearest(rtscope: Rtscope) -> None:
    done = rtscope("measure", "cyklik", "--target", "ssh:board.invalid", "--budget", "nonsense")
    assert done.returncode == 2
    assert done.stderr.endswith("Did you mean cyclic?\n")


@pytest.mark.parametrize("option", ["-o", "--samples-file", "--report", "--junit"])
def test_an_existing_file_is_overwritten_only_by_force(
    rtscope: Rtscope, tmp_path: Path, option: str
) -> None:
    file = tmp_path / "kept"
    file.write_text("mine")
    done = rtscope("measure", "-D", "1h", option, str(file))
    assert done.returncode == 2
    assert "--force" in done.stderr
    assert file.read_text() == "mine"
    assert rtscope(*SHORT, option, str(file), "-f").returncode == 0
    assert file.read_text() != "mine"


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


def test_quiet_prints_only_the_result_and_each_warning_once(rtscope: Rtscope) -> None:
    loads = ("-L", "idle", "-L", "cpu:1", "--idle-states", "default")
    done = rtscope(*SHORT, *loads, "--quiet", "--report", "page.html")
    assert (done.returncode, done.stderr) == (0, "")
    ids = [json.loads(line)["id"] for line in rtscope("list", "--json").stdout.splitlines()]
    assert [done.stdout.count(run) for run in ids] == [1, 1]
    assert "rtscope show" not in done.stdout
    assert "page.html" not in done.stdout
    run = json.loads(rtscope("export", "last").stdout)
    warnings = [" ".join(warning["text"].split()) for warning in run["warnings"]]
    shown = " ".join(done.stdout.split())
    assert [shown.count(text) for text in warnings] == [1] * len(warnings)


def start(environment: dict[str, str], *arguments: str) -> subprocess.Popen[str]:
    """A measurement of an hour that has begun: its first progress is on standard error."""
    process = started(environment, "measure", "-D", "1h", *arguments)
    assert process.stderr is not None
    assert " samples" in process.stderr.readline()
    return process


def children(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in text.split()]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGKILL"])
def test_a_run_that_ends_early_is_kept_and_marked(
    environment: dict[str, str], rtscope: Rtscope, name: str
) -> None:
    """SIGKILL is sent to the agent, the others to rtscope."""
    number, to_agent = signal.Signals[name], name == "SIGKILL"
    loads = ("--load", "idle") if to_agent else ("--load", "idle", "--load", "cpu")
    with start(environment, *loads) as process:
        for pid in children(process.pid) if to_agent else [process.pid]:
            os.kill(pid, number)
        out, _ = process.communicate(timeout=30)
    assert process.returncode == (1 if to_agent else 128 + number)
    assert ("SIGKILL" if to_agent else "interrupted") in out
    run = json.loads(rtscope("export", "last", "-o", "-").stdout)
    assert run["status"] == ("failed" if to_agent else "interrupted")
    for thread in run["threads"]:
        assert sum(thread["histogram"]["count"]) == thread["count"] > 0


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


@pytest.mark.parametrize("obstacle", ["lock", "file"])
def test_a_store_that_cannot_be_written_costs_no_run(
    rtscope: Rtscope, tmp_path: Path, obstacle: str
) -> None:
    folder = tmp_path / "data" / "rtscope"
    if obstacle == "lock":
        assert rtscope(*SHORT, "--no-report").returncode == 0
        with sqlite3.connect(folder / "runs.sqlite") as lock:
            lock.execute("BEGIN EXCLUSIVE")
            done = rtscope(*SHORT, "--no-report")
        assert "locked" in done.stderr
    else:
        folder.parent.write_text("a file where a directory should be")
        done = rtscope(*SHORT)
    assert done.returncode == 2
    assert "is in the store" not in done.stdout
    assert "Traceback" not in done.stderr
    (rescued,) = tmp_path.glob("rtscope-*.json")
    assert import_file(rescued)[0].status == "complete"


def test_a_report_that_cannot_be_written_does_not_look_like_a_failed_budget(
    rtscope: Rtscope, tmp_path: Path
) -> None:
    (tmp_path / "data" / "rtscope").mkdir(parents=True)
    (tmp_path / "data" / "rtscope" / "reports").write_text("in the way")
    assert rtscope(*SHORT, "--budget", "max<10s").returncode == 2


@pytest.mark.parametrize(("columns", "rows"), [(110, 30), (40, 10), (12, 4)])
def test_the_live_view_fits_any_terminal(
    environment: dict[str, str], columns: int, rows: int
) -> None:
    command = [*COMMAND, "measure", "-D", "1200ms", "--no-report"]
    with on_terminal(command, environment, columns=columns, rows=rows) as shown:
        assert shown.end() == 0, shown.text
    assert "Traceback" not in shown.text
    assert "left" in shown.text or columns < 40
