# SPDX-License-Identifier: GPL-2.0-only
"""The agent tells where the kernel's functions are, and nothing where it may not know."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from rtscope.target.protocol import End, Symbols, check_hello, decode_line
from tests.agent.probing import AGENT


def symbols(agent: Path, *before: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*before, agent, "symbols", "--json"], capture_output=True, timeout=60, check=False
    )


@pytest.mark.skipif(
    os.geteuid() != 0 or not Path("/proc/kallsyms").exists(), reason="needs root and kallsyms"
)
def test_functions_are_named_with_their_addresses() -> None:
    done = symbols(AGENT)
    lines = [decode_line(line) for line in done.stdout.splitlines()]
    check_hello(lines[0])
    reported = [line.text for line in lines if isinstance(line, Symbols)]
    kernel = Path("/proc/kallsyms").read_text().splitlines()
    shown = {" ".join(line.split()[::2]) for line in kernel}

    assert done.returncode == 0
    assert isinstance(lines[-1], End)
    assert all(len(text) < 65536 and text.endswith("\n") for text in reported)
    rows = "".join(reported).splitlines()
    assert all(re.fullmatch(r"[0-9a-f]+ [^ ]+( \[[^ ]+\])?", row) for row in rows)
    assert sum(row.endswith(" schedule") for row in rows) == 1
    for row in rows[::997]:
        address, name = row.split()[:2]
        assert f"{int(address, 16):016x} {name}" in shown


def test_missing_rights_to_read_it_are_reported(public_agent: Path) -> None:
    drop = ["setpriv", "--reuid=65534", "--clear-groups", "--"] if os.geteuid() == 0 else []
    done = symbols(public_agent, *drop)

    assert done.returncode == 1
    assert b"run as root" in done.stderr
    assert b'"status":"failed"' in done.stdout
