# SPDX-License-Identifier: GPL-2.0-only
"""The tests of boards, run in a chroot, leave the host and the chroot as they were."""

import json
import secrets
import subprocess
import sys
from pathlib import Path

import pytest

from tests.target.board import OWN_SPACES, furnish, needs_board

pytestmark = needs_board

CHECKOUT = Path(__file__).parents[2]
SSH_TESTS = [f"tests/target/test_{name}.py" for name in ("board", "ssh")]


@pytest.mark.parametrize(
    ("chroot", "tests"),
    [("folder", SSH_TESTS[:1]), pytest.param("mounted", SSH_TESTS, marks=pytest.mark.kernels)],
)
def test_canaries_outside_the_boards_are_intact(
    tmp_path: Path, agent_path: Path, chroot: str, tests: list[str]
) -> None:
    """With the chroot a mount point, as schroot has it, and with it a mere folder."""
    furnish(tmp_path)
    command = ["-m", "tests.target.jail", f"{tmp_path}/board", secrets.token_hex()]
    done = subprocess.run(
        ["setpriv", "--pdeathsig=KILL", "unshare", *OWN_SPACES, sys.executable, *command,
         str(CHECKOUT), sys.base_prefix, chroot, *tests],
        cwd=CHECKOUT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["canaries"]
    assert found["dead"] == [], done.stderr
    assert found["tests"] > 0
    assert [found[name] for name in ("errors", "failures", "skipped")] == [0, 0, 0], done.stderr
