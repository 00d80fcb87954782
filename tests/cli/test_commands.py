# SPDX-License-Identifier: GPL-2.0-only
"""What all commands have in common, and the small ones."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Rtscope, environment_of, started


@pytest.fixture(scope="module")
def store_of_two(agent_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("two")
    here = environment_of(agent_path, folder)
    words = ("measure", "-D", "300ms", "--load", "idle", "--load", "cpu:1", "--no-report")
    with started(here, *words) as process:
        _, said = process.communicate()
    assert process.returncode == 0, said
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
        capture_output=True, text=True, check=False,
        env=os.environ | environment | {"COMP_CWORD": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert shown in done.stdout.split()
    imported = set(json.loads(done.stderr))
    assert not imported & {"numpy", "scipy", "jinja2", "sqlite3", "msgspec", "rich"}
    ours = {name for name in imported if name.startswith("rtscope.cli.")}
    assert ours == {"rtscope.cli.completion", "rtscope.cli.groups", "rtscope.cli.main"}


def test_runs_are_shown_judged_reported_and_removed(measured: Rtscope, tmp_path: Path) -> None:
    assert measured("show").returncode == 0
    assert measured("show", "last~1", "--budget", "max<1ns").returncode == 1
    page = tmp_path / "both.html"
    report = ("report", "last~1", "last", "-o", str(page))
    assert measured(*report).returncode == 0
    assert "cpu:1" in page.read_text()
    again = measured(*report)
    assert again.returncode == 2
    assert "--force" in again.stderr
    assert measured(*report, "--force").returncode == 0
    run_id = json.loads(measured("list", "--json").stdout.splitlines()[0])["id"]
    assert measured("rm", run_id[:10]).stdout.split() == ["removed", run_id]
    assert [measured("rm", "last").returncode for _ in range(2)] == [0, 2]
    assert "rtscope measure" in measured("list").stderr


@pytest.mark.parametrize("kind", ["run", "cyclictest-json", "cyclictest-histogram"])
def test_what_is_exported_can_be_imported_with_no_bad_file(
    measured: Rtscope, tmp_path: Path, kind: str
) -> None:
    def count(run_id: str) -> int:
        run = json.loads(measured("show", run_id, "--json").stdout)
        return sum(thread["count"] for thread in run["threads"])

    file, bad = str(tmp_path / "exported"), tmp_path / "bad.json"
    assert measured("export", "last", "-F", kind, "-o", file).returncode == 0
    bad.write_text("{}")
    refused = measured("import", file, str(bad))
    assert refused.returncode == 2
    assert "bad.json" in refused.stderr
    assert len(measured("list", "--json").stdout.splitlines()) == 2
    done = measured("import", file)
    assert done.returncode == 0, done.stderr
    assert ("with --unit ns" in done.stderr) == (kind == "cyclictest-histogram")
    assert count(done.stdout.split()[0]) == count("last")


def test_a_newer_file_and_a_full_disk_are_sentences(measured: Rtscope, tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    file.write_text('{"format":"rtscope-run","version":7}')
    newer = [(command, str(file)) for command in ("show", "report", "import", "export")]
    full = [(command, "last", "-o", "/dev/full", "--force") for command in ("export", "report")]
    for words in (*newer, *full):
        done = measured(*words)
        assert done.returncode == 2
        assert ("newer" if words in newer else "space") in done.stderr
        assert "Traceback" not in done.stderr


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
