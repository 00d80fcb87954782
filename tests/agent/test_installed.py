"""What `pip install` leaves behind works on its own, away from the checkout."""

import subprocess
import sys
from pathlib import Path

import pytest

from rtscope import __version__


def test_an_installed_rtscope_finds_the_agent_that_came_with_it(tmp_path: Path) -> None:
    found = subprocess.run(
        [
            sys.executable,
            "-I",
            "-c",
            "from rtscope.target.local import agent_path as a; print(a())",
        ],
        cwd=tmp_path,
        env={},
        capture_output=True,
        text=True,
        check=False,
    )
    if "No module named 'rtscope'" in found.stderr:
        pytest.fail("rtscope is not installed in this environment: run `make check`")
    assert found.returncode == 0, found.stderr
    agent = Path(found.stdout.strip())

    assert agent.is_relative_to(sys.prefix)
    told = subprocess.run([agent, "--version"], capture_output=True, text=True, check=True)
    assert told.stdout.startswith(f"rtscope-agent {__version__} ")


def test_an_installed_rtscope_is_the_version_that_it_says() -> None:
    told = subprocess.run(
        [
            sys.executable,
            "-I",
            "-c",
            "from importlib.metadata import version as v; print(v('rtscope'))",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.strip() == __version__
