# SPDX-License-Identifier: GPL-2.0-only
"""Git trees of tests."""

import os
import subprocess
from pathlib import Path


def git(tree: Path, *words: str) -> str:
    """Run git there as a user without a configuration, and return its output."""
    roles = ("AUTHOR", "COMMITTER")
    who = {f"GIT_{role}_{key}": "dev" for role in roles for key in ("NAME", "EMAIL")}
    done = subprocess.run(
        ["git", "-C", str(tree), *words],
        env={**os.environ, **who, "GIT_CONFIG_GLOBAL": "/dev/null"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def commit_all(tree: Path, subject: str) -> str:
    """Commit everything and return the commit."""
    git(tree, "add", "--all", "--force")
    git(tree, "commit", "--quiet", "--allow-empty", "--message", subject)
    return git(tree, "rev-parse", "HEAD")
