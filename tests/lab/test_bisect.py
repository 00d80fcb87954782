# SPDX-License-Identifier: GPL-2.0-only
"""The search for the first bad commit, in real git trees, with figures that the tests give."""

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest

from rtscope.lab.bisect.repository import Bisection, Commit, Left
from rtscope.lab.bisect.rule import BudgetRule, MarginRule, Rule
from rtscope.lab.bisect.search import Observer, Result, Role, UntestableError, find_first_bad
from rtscope.model.budget import parse_limit
from rtscope.model.errors import RtscopeError
from rtscope.model.run import Asked, Lab, Run
from tests.lab.git_tree import commit_all, git
from tests.measured import run_of, thread_of

SEEDS = 10
LIMIT = "p99<8us"


def run_with(p99_us: float, seed: int) -> Run:
    """A run of 2000 samples, 2 % of which take `p99_us`, and a little more for each seed."""
    late_ns = round(p99_us * 1000) + 10 * seed
    run = run_of(thread_of([3000 + seed] * 1960 + [late_ns] * 40))
    lab = Lab("exact", 1000.0, 1, seed, "7.2", [], "k", "", "", None, "")
    changes = {"id": os.urandom(8).hex(), "asked": Asked(interval_ns=10**6), "lab": lab}
    return msgspec.structs.replace(run, **changes)


class Tree:
    """A git tree whose commits hold their figures: the file `p99` has a latency in us for each
    seed, or `broken`.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / "tree"
        self.path.mkdir()
        self.worktree = folder / "cache" / "tree"
        self.bisection = Bisection(self.path, self.worktree)
        self.commits: list[str] = []
        self.measured: list[tuple[str, int]] = []
        git(self.path, "init", "--quiet", "--initial-branch=main")

    def add(self, p99_us: float | Sequence[float] | None) -> str:
        values = [p99_us] if isinstance(p99_us, float | int) else p99_us
        (self.path / "p99").write_text("broken" if values is None else " ".join(map(str, values)))
        self.commits.append(commit_all(self.path, f"commit {len(self.commits)}"))
        return self.commits[-1]

    def runs(self, commit: Commit, count: int) -> list[Run]:
        self.measured.append((commit.id, count))
        text = git(self.path, "show", f"{commit.id}:p99")
        if text == "broken":
            raise UntestableError("it does not build")
        values = [float(one) for one in text.split()]
        return [run_with(values[seed % len(values)], seed) for seed in range(count)]

    def search(self, rule: Rule | None = None, observer: Observer | None = None) -> Result:
        rule = rule or BudgetRule([parse_limit(LIMIT)])
        good, bad = self.commits[0], self.commits[-1]
        return find_first_bad(
            self.bisection, good, bad, [], rule, SEEDS, self.runs, observer or Observer()
        )


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def test_the_first_bad_commit_is_found_by_the_count_of_seeds(tree: Tree) -> None:
    """A seed of each side is on the other one's, and which one changes with each commit."""
    random = np.random.default_rng(3)

    def seeds(usual: float, rare: float) -> list[float]:
        values = [usual] * SEEDS
        values[int(random.integers(SEEDS))] = rare
        return values

    for _ in range(6):
        tree.add(seeds(5, 11))
    culprit = tree.add(seeds(11, 5))
    for _ in range(5):
        tree.add(seeds(11, 5))

    result = tree.search()
    assert result.first_bad is not None
    assert (result.first_bad.commit.id, result.first_bad.commit.subject) == (culprit, "commit 6")
    assert [one.id for one in result.candidates] == [culprit]
    assert result.before.commit.id == tree.commits[5]
    assert [(one.failing, one.seeds) for one in (result.before, result.first_bad)] == [
        (1, 10),
        (9, 10),
    ]
    figures = [one.figures[0] for one in (result.before, result.first_bad)]
    assert [one.metric for one in figures] == ["p99", "p99"]
    assert [round(one.median, -3) for one in figures] == [5000, 11000]
    assert len(result.verdicts) <= 2 + 4


def test_the_users_checkout_and_bisection_stay_as_they_are(tree: Tree) -> None:
    for p99 in (5, 5, 5, 9, 9):
        tree.add(p99)
    git(tree.path, "bisect", "start", tree.commits[3], tree.commits[1])
    (tree.path / "p99").write_text("of the user")
    hooked = tree.path.parent / "hooked"
    hook = tree.path / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {hooked}\n")
    hook.chmod(0o755)

    def state() -> list[str]:
        commands = [
            "status --porcelain",
            "bisect log",
            "rev-parse HEAD",
            "show-ref",
            "worktree list",
        ]
        return [git(tree.path, *command.split()) for command in commands]

    before = state()
    result = tree.search()
    tree.bisection.check_out(result.before.commit)
    assert (tree.worktree / "p99").read_text() == "5"
    assert [*state()[:4]] == before[:4]
    tree.bisection.remove()
    assert state() == before
    assert not tree.worktree.exists()
    assert not hooked.exists()
    assert result.first_bad is not None
    assert result.first_bad.commit.id == tree.commits[3]


def test_a_commit_that_cannot_be_tested_is_skipped(tree: Tree) -> None:
    for p99 in (5, 5, None, 5, 9, 9):
        tree.add(p99)
    result = tree.search()
    assert result.first_bad is not None
    assert result.first_bad.commit.id == tree.commits[4]

    marks = {one.commit.id: (one.mark, one.reason) for one in result.verdicts}
    assert marks.get(tree.commits[2], ("skip", "it does not build")) == (
        "skip",
        "it does not build",
    )
    assert any(mark == "skip" for mark, _ in marks.values())


def test_candidates_are_named_where_only_untestable_commits_are_left(tree: Tree) -> None:
    for p99 in (5, 5, None, None, 9, 9):
        tree.add(p99)
    result = tree.search()
    assert result.first_bad is None
    assert [one.id for one in result.candidates] == tree.commits[4:1:-1]
    assert result.before.commit.id == tree.commits[1]


def test_more_seeds_are_measured_where_the_count_is_between_the_ends(tree: Tree) -> None:
    """Five of ten do not decide; of twenty four of this commit fail."""
    between = tree.add(5), tree.add([9] * 5 + [5] * 35), tree.add(9)
    result = tree.search()
    assert result.first_bad is not None
    assert result.first_bad.commit.id == between[2]
    assert [count for commit, count in tree.measured if commit == between[1]] == [10, 20]


def test_a_commit_that_stays_undecided_is_skipped(tree: Tree) -> None:
    tree.add(5)
    tree.add([9, 5])
    tree.add(9)
    result = tree.search()
    assert result.first_bad is None
    (skipped,) = [one for one in result.verdicts if one.mark == "skip"]
    assert (skipped.commit.id, skipped.failing, skipped.seeds) == (tree.commits[1], 20, 40)


@pytest.mark.parametrize(
    ("good", "bad", "limit", "sentence"),
    [
        (
            5,
            7,
            LIMIT,
            r"0 of 10 seeds fail at the good end and 0 of 10 .*p99 5\.\d+ us and 7\.\d+ us",
        ),
        (9, 10, LIMIT, "10 of 10 seeds fail at the good end"),
        (9, 5, LIMIT, "10 of 10 seeds fail at the good end and 0 of 10"),
        ([5], [9] * 5 + [5] * 5, LIMIT, "0 of 10 .* 5 of 10"),
        (5, 9, "p99.9<8us", "too few, give --samples 10000"),
    ],
)
def test_ends_that_do_not_differ_are_refused(
    tree: Tree, good: float, bad: float, limit: str, sentence: str
) -> None:
    for p99 in (good, good, bad):
        tree.add(p99)
    with pytest.raises(RtscopeError, match=sentence):
        tree.search(BudgetRule([parse_limit(limit)]))


def test_a_good_commit_that_is_not_older_is_refused(tree: Tree) -> None:
    tree.add(5)
    tree.add(9)
    tree.commits.reverse()
    with pytest.raises(RtscopeError, match=r"git bisect ended: .*not ancestors"):
        tree.search()
    with pytest.raises(RtscopeError, match="there is no commit 'v9' in"):
        find_first_bad(
            tree.bisection, "v9", "HEAD", [], BudgetRule([]), SEEDS, tree.runs, Observer()
        )


def test_without_a_budget_a_margin_decides(tree: Tree) -> None:
    for p99 in (5, 5.1, 5, 5.4, 5.4, 5.3):
        tree.add(p99)
    result = tree.search(MarginRule(0.05))
    assert result.first_bad is not None
    assert result.first_bad.commit.id == tree.commits[3]
    assert result.first_bad.failing is None
    assert result.first_bad.figures[0].metric == "p99"
    with pytest.raises(
        RtscopeError, match=r"worse than the good end by more than 10 %: p99 .* 1\.0"
    ):
        tree.search(MarginRule(0.1))


class Announcements(Observer):
    """Keeps what is announced."""

    def __init__(self) -> None:
        self.left: list[tuple[Role, int]] = []

    def began(self, commit: Commit, role: Role, left: Left) -> None:
        self.left.append((role, left.commits))


def test_the_commits_left_are_announced(tree: Tree) -> None:
    for p99 in [5] * 8 + [9] * 8:
        tree.add(p99)
    seen = Announcements()
    tree.search(observer=seen)
    assert seen.left == [
        ("good end", 15), ("bad end", 15), ("step", 15), ("step", 8), ("step", 4), ("step", 2)
    ]  # fmt: skip
