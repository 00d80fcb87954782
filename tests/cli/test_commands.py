# SPDX-License-Identifier: GPL-2.0-only
"""What all commands have in common, and the small ones."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import COMMAND, Rtscope, environment_of


@pytest.fixture(scope="module")
def store_of_two(agent_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("two")
    here = environment_of(agent_path, folder)
    for load in ("idle", "cpu:1"):
        words = [*COMMAND, "measure", "-D", "300ms", "--load", load, "--no-report"]
        done = subprocess.run(words, capture_output=True, text=True, check=False, env=here)
        assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def measured(rtscope: Rtscope, environment: dict[str, str], store_of_two: Path) -> Rtscope:
    """The command line with two runs in its store."""
    shutil.copytree(store_of_two, environment["XDG_DATA_HOME"])
    return rtscope


@pytest.mark.parametrize(
    ("words", "environment", "shown"),
    [
        (["--help"], {}, "compare"),
        ([], {"_RTSCOPE_COMPLETE": "complete_bash", "COMP_WORDS": "rtscope ch"}, "check"),
    ],
)
def test_help_and_completion_of_commands_import_none(
    words: list[str], environment: dict[str, str], shown: str
) -> None:
    code = """if True:
        import atexit, json, sys, rtscope.cli.main
        atexit.register(lambda: print(json.dumps(list(sys.modules)), file=sys.stderr))
        sys.argv[0] = "rtscope"
        rtscope.cli.main.main()
        """
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment | {"COMP_CWORD": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert shown in done.stdout.split()
    imported = set(json.loads(done.stderr))
    assert not imported & {"numpy", "scipy", "jinja2", "sqlite3", "msgspec", "rich"}
    ours = {
        name.removeprefix("rtscope.cli.") for name in imported if name.startswith("rtscope.cli.")
    }
    assert ours == {"groups", "main"}


def test_an_empty_store_says_what_to_do(rtscope: Rtscope) -> None:
    assert "rtscope measure" in rtscope("list").stderr
    done = rtscope("show")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_show_judges_by_any_budget(measured: Rtscope) -> None:
    assert measured("show").returncode == 0
    assert measured("show", "last~1", "--budget", "max<1ns").returncode == 1
    assert json.loads(measured("show", "--json").stdout)["load"] == "cpu:1"


def test_a_report_of_several_runs_is_written_once(measured: Rtscope, tmp_path: Path) -> None:
    page = tmp_path / "both.html"
    assert measured("report", "last~1", "last", "-o", str(page)).returncode == 0
    assert "cpu:1" in page.read_text()
    again = measured("report", "last", "-o", str(page))
    assert again.returncode == 2
    assert "--force" in again.stderr
    assert measured("report", "last", "-o", str(page), "--force").returncode == 0


@pytest.mark.parametrize("kind", ["run", "cyclictest-json", "cyclictest-histogram"])
def test_what_is_exported_can_be_imported(measured: Rtscope, tmp_path: Path, kind: str) -> None:
    file = tmp_path / "exported"
    assert measured("export", "last", "-F", kind, "-o", str(file)).returncode == 0
    done = measured("import", str(file))
    assert done.returncode == 0, done.stderr
    run_id = done.stdout.split()[0]
    counts = [
        sum(
            thread["count"]
            for thread in json.loads(measured("show", name, "--json").stdout)["threads"]
        )
        for name in (run_id, "last")
    ]
    assert counts[0] == counts[1]


def test_nothing_is_imported_unless_every_file_is_good(measured: Rtscope, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    measured("export", "last", "-F", "cyclictest-json", "-o", str(good))
    bad.write_text("{}")
    done = measured("import", str(good), str(bad))
    assert done.returncode == 2
    assert "bad.json" in done.stderr
    assert len(measured("list", "--json").stdout.splitlines()) == 2


def test_an_import_replaces_a_stored_run_only_by_force(measured: Rtscope, tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    measured("export", "last", "-o", str(file))
    assert measured("import", str(file)).returncode == 0
    file.write_text(json.dumps(json.loads(file.read_text()) | {"load": "\u009b\u202e\U000e0041"}))
    assert measured("import", str(file)).returncode == 2
    assert json.loads(measured("show", "--json").stdout)["load"] == "cpu:1"
    assert measured("import", "--force", str(file)).returncode == 0
    shown = measured("show", "--json").stdout
    assert json.loads(shown)["load"] == "\u009b\u202e\U000e0041"
    assert shown.isascii(), "the load's name could steer the terminal"


def test_a_measurement_whose_report_cannot_be_written_does_not_look_like_a_failed_budget(
    rtscope: Rtscope, tmp_path: Path
) -> None:
    reports = tmp_path / "data" / "rtscope" / "reports"
    reports.parent.mkdir(parents=True)
    reports.write_text("in the way")
    assert rtscope("measure", "-l10", "-i1ms", "--budget", "max<10s").returncode == 2


def test_removed_runs_are_gone(measured: Rtscope) -> None:
    run_id = json.loads(measured("list", "--json").stdout.splitlines()[0])["id"]
    assert measured("rm", run_id[:10]).stdout.split() == ["removed", run_id]
    assert len(measured("list", "--json").stdout.splitlines()) == 1
    assert measured("rm", "last").returncode == 0
    assert measured("rm", "last").returncode == 2


def test_the_report_goes_with_its_run(rtscope: Rtscope, tmp_path: Path) -> None:
    reports = tmp_path / "data" / "rtscope" / "reports"
    for _ in range(2):
        assert rtscope("measure", "-D", "200ms").returncode == 0
    assert len(list(reports.iterdir())) == 2
    (page,) = rtscope("rm", "last").stdout.splitlines()[1:]
    assert page.startswith(f"removed {reports}/")
    (left,) = reports.iterdir()
    assert left.stem == json.loads(rtscope("list", "--json").stdout)["id"]


ESCAPE = "\x1b]0;pwned\x07"


def changed(measured: Rtscope, file: Path, **fields: object) -> str:
    """The last run as a file with another id and these fields."""
    value = json.loads(measured("show", "--json").stdout) | {"id": "00112233445566aa"} | fields
    file.write_text(json.dumps(value))
    return str(file)


def test_no_file_steers_the_terminal(measured: Rtscope, tmp_path: Path) -> None:
    run = changed(measured, tmp_path / "run.json", source=ESCAPE, probe=ESCAPE, load=ESCAPE)
    other = changed(measured, tmp_path / "b.json", id="00112233445566ab", load=ESCAPE)
    bad = tmp_path / "bad.json"
    bad.write_text(
        json.dumps({
            "file_version": 1, "cmdline:": "cyclictest", "num_threads": 1,
            "thread": {"0": {"histogram": {ESCAPE: 1}, "cycles": 1, "min": 1, "max": 1, "avg": 1,
                             "cpu": 0}},
        })
    )  # fmt: skip
    imports = [("import", file) for file in (run, other, str(bad))]
    for command in [*imports, ("show", "0011"), ("list",)]:
        done = measured(*command)
        assert done.stdout or done.stderr
        assert "\x1b" not in done.stdout + done.stderr, command
        assert "\x07" not in done.stdout + done.stderr, command
    assert "pwned" in measured("import", str(bad)).stderr
    assert "pwned" in measured("show", "0011").stderr


def test_a_run_with_a_budget_that_cannot_be_read_can_be_seen(
    measured: Rtscope, tmp_path: Path
) -> None:
    asked = json.loads(measured("show", "--json").stdout)["asked"]
    run = changed(measured, tmp_path / "run.json", asked=asked | {"budget": ["fast!", "max<1h"]})
    done = measured("show", run)
    assert done.returncode == 1
    assert "fast!: inconclusive, rtscope cannot read this limit" in done.stdout
    assert "max<1h: pass" in done.stdout
    assert measured("report", run, "-o", str(tmp_path / "page.html")).returncode == 0


def test_a_hostile_run_file_is_a_sentence(rtscope: Rtscope, tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    file.write_text('{"format":"rtscope-run","version":7}')
    for command in (("show",), ("report",), ("import",), ("export",)):
        done = rtscope(*command, str(file))
        assert done.returncode == 2
        assert "newer" in done.stderr
        assert "Traceback" not in done.stderr


def test_a_disk_that_is_full_is_a_sentence(measured: Rtscope) -> None:
    for command in (("export", "last"), ("report", "last")):
        done = measured(*command, "-o", "/dev/full", "--force")
        assert done.returncode == 2, done.stderr
        assert "Traceback" not in done.stderr
        assert "space" in done.stderr
