# SPDX-License-Identifier: GPL-2.0-only
"""Standard output that is closed, full, without a reader or poor in letters costs nobody a run."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.conftest import COMMAND, Rtscope, started

MEASURE = ("measure", "-D", "200ms", "-a", "0", "--load", "idle", "--load", "cpu:1")


def loads(rtscope: Rtscope) -> list[str]:
    """What the store has, the newest first."""
    return [json.loads(line)["load"] for line in rtscope("list", "--json").stdout.splitlines()]


def shell(environment: dict[str, str], arguments: tuple[str, ...], ending: str) -> tuple[int, str]:
    """Exit status and standard error of rtscope in a shell that redirects its output so."""
    done = subprocess.run(
        ["bash", "-c", f'"$@" {ending}', "bash", *COMMAND, *arguments],
        env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("ending", "code"),
    [
        (">/dev/full", 2),
        (">&-", 0),
        ("2>&- >/dev/null", 0),
        ("2>&1 | head -c1 >/dev/null; exit ${PIPESTATUS[0]}", 0),
    ],
)
def test_both_loads_are_measured_and_drawn_though_nothing_can_be_shown(
    environment: dict[str, str], rtscope: Rtscope, tmp_path: Path, ending: str, code: int
) -> None:
    page = tmp_path / "page.html"
    status, said = shell(environment, (*MEASURE, "--report", str(page)), ending)
    assert status == code
    assert "Traceback" not in said
    assert ("standard output cannot be written: No space left" in said) == (code == 2)
    assert loads(rtscope) == ["cpu:1", "idle"]
    assert page.exists()


@pytest.mark.parametrize(
    "letters",
    [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}],
)  # fmt: skip
def test_a_terminal_with_few_letters_gets_what_it_can_show(
    rtscope: Rtscope, letters: dict[str, str]
) -> None:
    done = rtscope(*MEASURE, "--no-report", **letters)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("is in the store") == 2


def test_a_command_whose_output_fails_says_so(
    environment: dict[str, str], rtscope: Rtscope
) -> None:
    assert rtscope(*MEASURE[:5], "--no-report").returncode == 0
    status, said = shell(environment, ("show",), ">/dev/full")
    assert (status, said.count("\n")) == (2, 1)
    assert said.startswith("rtscope: standard output cannot be written: No space left")
    for command in ("show", "list"):
        status, said = shell(environment, (command,), ">&-")
        assert (status, said) == (0, "")
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [*COMMAND, "show"], env=environment, stdout=write, stderr=subprocess.PIPE, check=False
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (141, b""), "as SIGPIPE ends a command"


def test_ctrl_c_while_rtscope_starts_is_quiet(environment: dict[str, str], tmp_path: Path) -> None:
    # A package that takes its time to load, found before the real one.
    (tmp_path / "typer.py").write_text(
        "print('loading', flush=True)\nimport time\ntime.sleep(60)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "rtscope", "list"],
        env=environment | {"PYTHONPATH": f"{tmp_path}:{environment['PYTHONPATH']}"},
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == b"loading\n"
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert (process.returncode, said) == (130, b"")


def test_ctrl_c_while_the_machine_is_read_ends_it_all(
    environment: dict[str, str], rtscope: Rtscope, tmp_path: Path
) -> None:
    slow, reading = tmp_path / "agent", tmp_path / "reading"
    slow.write_text(
        f'#!/bin/sh\n[ "$1" = machine ] && {{ trap "" INT; touch {reading}; sleep 1; }}\n'
        f'exec {environment["RTSCOPE_AGENT"]} "$@"\n'
    )
    slow.chmod(0o755)
    slowed = environment | {"RTSCOPE_AGENT": str(slow)}
    with started(slowed, "measure", "-D", "1h", "-L", "idle", "-L", "cpu:1") as process:
        deadline = time.monotonic() + 30
        while not reading.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in said
    assert loads(rtscope) == []
