# SPDX-License-Identifier: GPL-2.0-only
"""The search for the first bad commit: measure the ends, then what git chooses."""

from collections.abc import Callable, Sequence
from typing import Final, Literal

import msgspec

from rtscope.lab.bisect.repository import Bisection, Commit, Left, Mark
from rtscope.lab.bisect.rule import Figure, Rule
from rtscope.model.errors import RtscopeError
from rtscope.model.run import Run

MOST_TIMES: Final = 4
"""the seeds of an undecided commit, as a multiple of those of the others"""

Role = Literal["good end", "bad end", "step"]


class UntestableError(RtscopeError):
    """A commit that does not build or boot: the message says why."""


class Verdict(msgspec.Struct, frozen=True):
    """One commit with its verdict and its figures."""

    commit: Commit
    mark: Mark
    role: Role = "step"
    reason: str = ""
    """why it is skipped"""
    seeds: int = 0
    failing: int | None = None
    """of the seeds; None where they are judged together, or were not measured"""
    figures: list[Figure] = []
    """of the metrics that decide, the most telling first"""
    kernel: str = ""
    """name of its kernel in the lab, if that is kept"""
    run: str = ""
    """id of the stored run of all its seeds, if there is one"""


class Result(msgspec.Struct, frozen=True):
    """The end of a search."""

    first_bad: Verdict | None
    """None if only commits are left that could not be tested"""
    before: Verdict
    """the good commit before it: the last one that was measured"""
    candidates: list[Commit]
    """the commits that may be the first bad one, the newest first"""
    verdicts: list[Verdict]
    """of all commits, in the order of the search"""


class Observer:
    """Hears how a search goes on."""

    def began(self, commit: Commit, role: Role, left: Left) -> None:
        """A commit is to be built and measured."""

    def decided(self, verdict: Verdict) -> None:
        """It has a verdict."""


RunsOf = Callable[[Commit, int], Sequence[Run]]
"""Builds a commit and measures it with so many seeds. Raises UntestableError."""


def find_first_bad(
    bisection: Bisection,
    good: str,
    bad: str,
    paths: Sequence[str],
    rule: Rule,
    seeds: int,
    runs_of: RunsOf,
    observer: Observer,
) -> Result:
    """Find the first bad commit between two revisions. Raises RtscopeError if the ends do not
    differ, or git cannot go on.
    """
    return _Search(bisection, rule, seeds, runs_of, observer).result(
        bisection.commit(good), bisection.commit(bad), paths
    )


class _Search:
    def __init__(
        self, bisection: Bisection, rule: Rule, seeds: int, runs_of: RunsOf, observer: Observer
    ) -> None:
        self._bisection = bisection
        self._rule = rule
        self._seeds = seeds
        self._runs_of = runs_of
        self._observer = observer
        self._verdicts: list[Verdict] = []

    def result(self, good: Commit, bad: Commit, paths: Sequence[str]) -> Result:
        bisection = self._bisection
        bisection.begin(good, bad, paths)
        self._ends(good, bad)
        while not (bisection.first_bad or bisection.only_skipped):
            commit = bisection.next()
            self._observer.began(commit, "step", bisection.left())
            verdict = self._verdict(commit)
            self._keep(verdict)
            bisection.mark(commit, verdict.mark)
        known = {one.commit.id: one for one in self._verdicts}
        first_bad = known.get(bisection.first_bad or "")
        return Result(first_bad, self._before(first_bad), bisection.candidates(), self._verdicts)

    def _ends(self, good: Commit, bad: Commit) -> None:
        left = self._bisection.left()
        ends: list[tuple[Commit, Role]] = [(good, "good end"), (bad, "bad end")]
        runs = []
        for commit, role in ends:
            self._observer.began(commit, role, left)
            try:
                runs.append(self._runs_of(commit, self._seeds))
            except UntestableError as error:
                raise RtscopeError(
                    f"the {role} {commit.short} cannot be tested: {error}. Give another revision"
                ) from None
        self._rule.check_ends(*runs)
        marks: list[Mark] = ["good", "bad"]
        for (commit, role), mark, measured in zip(ends, marks, runs, strict=True):
            self._keep(self._measured(commit, mark, measured, role))

    def _verdict(self, commit: Commit) -> Verdict:
        seeds = self._seeds
        while seeds <= MOST_TIMES * self._seeds:
            try:
                runs = self._runs_of(commit, seeds)
                side = self._rule.side(runs)
            except UntestableError as error:
                return Verdict(commit, "skip", reason=str(error))
            if side:
                return self._measured(commit, side, runs)
            seeds *= 2
        undecided = self._measured(commit, "skip", runs)
        return msgspec.structs.replace(undecided, reason="the seeds do not decide")

    def _measured(
        self, commit: Commit, mark: Mark, runs: Sequence[Run], role: Role = "step"
    ) -> Verdict:
        rule = self._rule
        return Verdict(
            commit,
            mark,
            role,
            seeds=len(runs),
            failing=rule.failing(runs),
            figures=rule.figures(runs),
        )

    def _keep(self, verdict: Verdict) -> None:
        self._verdicts.append(verdict)
        self._observer.decided(verdict)

    def _before(self, first_bad: Verdict | None) -> Verdict:
        """The last good commit that was measured, a parent of the first bad one if there is one."""
        good = [one for one in self._verdicts if one.mark == "good"]
        parents = first_bad.commit.parents if first_bad else []
        return next((one for one in good if one.commit.id in parents), good[-1])
