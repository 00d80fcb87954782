# SPDX-License-Identifier: GPL-2.0-only
"""A worktree of rtscope's own in the user's repository, and `git bisect` in it.

Git keeps the state of a bisection (BISECT_LOG, refs/bisect) per worktree, so that neither the
user's checkout nor a bisection there is touched. With --no-checkout only commits that have to be
built are checked out: files that they share keep their times, and make compiles the rest.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal

import msgspec

from rtscope.model.errors import RtscopeError

Mark = Literal["good", "bad", "skip"]

_OPTIONS: Final = (
    "-c", "core.hooksPath=/dev/null", "-c", "advice.detachedHead=false", "-c", "gc.auto=0",
)  # fmt: skip
"""no hook of the user's runs for checkouts that the user did not ask for"""
_LOCAL_VARIABLES: Final = frozenset({
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX", "GIT_NAMESPACE", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
})  # fmt: skip
_FORMAT: Final = "--format=%H%x00%T%x00%s%x00%an <%ae>%x00%aI%x00%P"
_FIRST_BAD: Final = re.compile(r"^([0-9a-f]{40,64}) is the first bad commit$", re.MULTILINE)
_SKIPPED_LEFT: Final = 2
"""git's exit status where only skipped commits are left"""


class Commit(msgspec.Struct, frozen=True):
    """One commit."""

    id: str
    content: str
    """hash of its files"""
    subject: str
    author: str
    date: str
    """ISO 8601"""
    parents: list[str] = []

    @property
    def short(self) -> str:
        """Its abbreviated id."""
        return self.id[:12]


class Left(msgspec.Struct, frozen=True):
    """The rest of a bisection."""

    commits: int
    """candidates for the first bad commit"""
    steps: int
    """commits to test, approximately"""


class Bisection:
    """`git bisect` in a worktree of its own."""

    def __init__(self, tree: Path, worktree: Path) -> None:
        """`tree` is the user's; `worktree` is created by `begin`."""
        self._tree = tree
        self.worktree = worktree
        self.first_bad: str | None = None
        """the result, once there is one"""
        self._paths: list[str] = []
        self.only_skipped = False
        """whether it cannot be found, because the remaining commits could not be tested"""

    def commit(self, revision: str) -> Commit:
        """The commit of a revision. Raises RtscopeError."""
        words = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"]
        done = _git(self._tree, *words)
        if done.returncode:
            raise RtscopeError(f"there is no commit '{revision}' in {self._tree}{_said(done)}")
        line = self._read("log", "-1", "--no-show-signature", _FORMAT, done.stdout.strip())
        commit, content, subject, author, date, parents = line.rstrip("\n").split("\0")
        return Commit(commit, content, subject, author, date, parents.split())

    def begin(self, good: Commit, bad: Commit, paths: Sequence[str]) -> None:
        """Make the worktree, unless it is there, and begin. Raises RtscopeError if git refuses,
        for example because `good` is not older than `bad`.
        """
        self._paths = [*paths]
        self._make_worktree()
        self._reset()
        words = ["start", "--no-checkout", bad.id, good.id, "--", *paths]
        self._take(_git(self.worktree, "bisect", *words))

    def next(self) -> Commit:
        """The commit to test next."""
        return self.commit(self._read("rev-parse", "BISECT_HEAD", where=self.worktree).strip())

    def left(self) -> Left:
        """The rest."""
        text = self._read(
            "rev-list", "--bisect-vars", *self._range(),
            where=self.worktree,
        )  # fmt: skip
        found = dict(re.findall(r"^(bisect_\w+)=(\d+)$", text, re.MULTILINE))
        return Left(int(found["bisect_all"]), int(found["bisect_steps"]))

    def mark(self, commit: Commit, mark: Mark) -> None:
        """Report a verdict to git. Raises RtscopeError if git cannot go on, for example because
        the commit that both sides descend from is bad.
        """
        self._take(_git(self.worktree, "bisect", mark, commit.id))

    def candidates(self) -> list[Commit]:
        """The commits that may be the first bad one, the newest first."""
        text = self._read(
            "rev-list", *self._range(),
            where=self.worktree,
        )  # fmt: skip
        return [self.commit(one) for one in text.split()]

    def _range(self) -> list[str]:
        return ["refs/bisect/bad", "--not", "--glob=refs/bisect/good-*", "--", *self._paths]

    def check_out(self, commit: Commit) -> Path:
        """The files of a commit, in the worktree."""
        self._read("checkout", "--quiet", "--force", "--detach", commit.id, where=self.worktree)
        return self.worktree

    def remove(self) -> None:
        """Remove the worktree."""
        _git(self._tree, "worktree", "remove", "--force", "--force", str(self.worktree))
        shutil.rmtree(self.worktree, ignore_errors=True)
        _git(self._tree, "worktree", "prune")

    def _make_worktree(self) -> None:
        if (self.worktree / ".git").exists():
            # A git that was killed leaves its lock; the caller is alone in this worktree.
            lock = self._read("rev-parse", "--git-path", "index.lock", where=self.worktree).strip()
            (self.worktree / lock).unlink(missing_ok=True)
            return
        self.remove()
        self.worktree.parent.mkdir(parents=True, exist_ok=True)
        words = ["add", "--quiet", "--detach", "--no-checkout", str(self.worktree), "HEAD"]
        self._read("worktree", *words)

    def _reset(self) -> None:
        """Forget the marks: those of an interrupted bisection are given again, from its figures."""
        _git(self.worktree, "bisect", "reset")

    def _take(self, done: subprocess.CompletedProcess[str]) -> None:
        if found := _FIRST_BAD.search(done.stdout):
            self.first_bad = found[1]
        elif done.returncode == _SKIPPED_LEFT:
            self.only_skipped = True
        elif done.returncode:
            said = " ".join((done.stderr + done.stdout).split())
            raise RtscopeError(f"git bisect ended: {said}")

    def _read(self, *words: str, where: Path | None = None) -> str:
        done = _git(where or self._tree, *words)
        if done.returncode:
            raise RtscopeError(f"git {words[0]} failed in {where or self._tree}{_said(done)}")
        return done.stdout


def top_of(tree: Path) -> Path:
    """The top directory of a git tree. Raises RtscopeError if it is none."""
    if not shutil.which("git"):
        raise RtscopeError("a bisection needs git: install the package git")
    done = _git(tree, "rev-parse", "--show-toplevel")
    if done.returncode:
        raise RtscopeError(f"{tree} is not a git tree: give the kernel's with --tree{_said(done)}")
    return Path(done.stdout.rstrip("\n"))


def _git(where: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Git there, and not in the repository that the environment of a hook may name. Ctrl-C goes
    to rtscope alone.
    """
    kept = {name: value for name, value in os.environ.items() if name not in _LOCAL_VARIABLES}
    return subprocess.run(
        ["git", "-C", str(where), *_OPTIONS, *words],
        env=kept | {"LC_ALL": "C"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        start_new_session=True,
    )


def _said(done: subprocess.CompletedProcess[str]) -> str:
    lines = done.stderr.strip().splitlines()
    return f" (git: {lines[0].removeprefix('fatal: ')})" if lines else ""
