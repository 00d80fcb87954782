# SPDX-License-Identifier: GPL-2.0-only
"""The jobs of docs/how-to/ci.md: each is valid by its schema, and its measurement is run."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree as ET

import pytest
from ruamel.yaml import YAML

from tests.cli.documented import ROOT, as_run

PAGE: Final = ROOT / "docs" / "how-to" / "ci.md"
TEXTS: Final = re.findall(r"^```yaml\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
GITHUB, GITLAB, LAVA, LAVA_JOB = (YAML(typ="safe").load(text) for text in TEXTS)
COMMANDS: Final = Path(sys.executable).parent


def run_step(script: str, folder: Path, **environment: str) -> tuple[int, str]:
    """A step as the system runs it, on this computer and for a short time."""
    (folder / "my-driver").symlink_to(ROOT / "examples" / "driver")
    joined = as_run(script.replace("\\\n", " ")).replace("examples/driver", "./my-driver")
    script = joined.replace('--target "ssh:$BOARD"', "")
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script], cwd=folder, capture_output=True, text=True,
        check=False, timeout=600,
        env=os.environ | environment | {
            "PATH": f"{COMMANDS}:{os.environ['PATH']}", "XDG_DATA_HOME": str(folder / "data"),
        },
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout


@pytest.mark.parametrize(
    ("text", "schema"), [(TEXTS[0], "vendor.github-workflows"), (TEXTS[1], "vendor.gitlab-ci")]
)
def test_a_job_is_valid_by_the_schema_of_its_system(text: str, schema: str, tmp_path: Path) -> None:
    file = tmp_path / "job.yml"
    file.write_text(text)
    check = [f"{COMMANDS}/check-jsonschema", "--builtin-schema", schema]
    done = subprocess.run([*check, str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.kernels
def test_the_job_of_github_measures_and_makes_what_it_uploads(tmp_path: Path) -> None:
    steps: list[dict[str, Any]] = GITHUB["jobs"]["latency"]["steps"]
    (measure,) = [one["run"] for one in steps if one.get("name") == "Measure"]
    (upload,) = [one["with"]["path"] for one in steps if "upload" in one.get("uses", "")]
    summary = tmp_path / "summary.md"
    status, output = run_step(measure, tmp_path, GITHUB_STEP_SUMMARY=str(summary))
    assert "| state |" in summary.read_text()
    assert status == int(bool(re.search("^::(error|warning) ", output, re.MULTILINE)))
    assert all((tmp_path / name).is_file() for name in upload.split())


def test_the_job_of_gitlab_measures_and_makes_its_artifacts(tmp_path: Path) -> None:
    job: dict[str, Any] = GITLAB["latency"]
    status, _ = run_step("\n".join(job["script"]), tmp_path)
    artifacts = job["artifacts"]
    assert all((tmp_path / name).is_file() for name in artifacts["paths"])
    reports = artifacts["reports"]
    failures = ET.parse(tmp_path / reports["junit"]).findall(".//failure")
    findings = json.loads((tmp_path / reports["codequality"]).read_text())
    assert len(failures) == len(findings) > 0  # the short time is inconclusive
    assert status == 1


def test_the_test_definition_of_lava_sends_a_signal_for_each_limit(tmp_path: Path) -> None:
    assert LAVA["metadata"]["format"] == "Lava-Test Test Definition 1.0"
    (step,) = LAVA["run"]["steps"]
    for budget, result in (("p99.9<5ms", "unknown"), ("max<1ns", "fail"), ("max<1h", "pass")):
        folder = tmp_path / result
        folder.mkdir()
        status, output = run_step(step, folder, **(LAVA["params"] | {"BUDGET": budget}))
        assert (status, re.findall("RESULT=([a-z]+)", output)) == (0, [result])
    definitions = LAVA_JOB[0]["test"]["definitions"]
    assert [one["name"] for one in definitions] == [LAVA["metadata"]["name"]]


def test_what_keeps_rtscope_from_measuring_is_a_failed_case_of_lava(tmp_path: Path) -> None:
    (step,) = LAVA["run"]["steps"]
    lava = tmp_path / "bin"
    lava.mkdir()
    (lava / "lava-test-case").write_text('#!/bin/sh\necho "case $*"\n')
    (lava / "lava-test-case").chmod(0o755)
    path = f"export PATH={lava}:$PATH\n"
    status, output = run_step(path + step, tmp_path, DURATION="300ms", BUDGET="nonsense")
    assert (status, output) == (0, "case rtscope --result fail\n")
