# SPDX-License-Identifier: GPL-2.0-only
"""The commits of a bisection are built in one directory of objects, and measured once."""

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest

from rtscope.lab.bisect.commits import Commits, Wanted, Workplace
from rtscope.lab.bisect.rule import BudgetRule
from rtscope.lab.bisect.search import Observer, Result, find_first_bad
from rtscope.lab.kernels import find_kernel, kernel_file, list_kernels
from rtscope.model.budget import parse_limit
from rtscope.model.errors import BootError, RtscopeError
from rtscope.model.request import Request
from rtscope.model.run import Lab, Run
from tests.lab.git_tree import commit_all, git
from tests.lab.tiny_kernel import tiny_kernel
from tests.measured import run_of, thread_of

SEEDS = 5


class Board:
    """Measures a kernel of the lab: its file says what."""

    def __init__(self) -> None:
        self.measured: list[tuple[str, int]] = []
        self.ends_after: int | None = None
        """Ctrl-C comes with this measurement."""

    def measure(self, target: str, seeds: Sequence[int], on_run: Callable[[Run], None]) -> None:
        content = kernel_file(find_kernel(target.removeprefix("vm:"))).read_bytes()
        if b"panic" in content:
            raise BootError("the kernel panicked")
        latency_ns = 9000 if b"slow" in content else 5000
        for seed in seeds:
            if len(self.measured) == self.ends_after:
                self.ends_after = None
                raise SystemExit(130)
            self.measured.append((target, seed))
            lab = Lab("exact", 1000.0, 1, seed, "7.2", [], "k", "", "", None, "")
            run = run_of(thread_of([latency_ns] * 2000))
            on_run(msgspec.structs.replace(run, id=f"{len(self.measured):016x}", lab=lab))


class Bench:
    """A kernel tree, and a bisection of it with a cache of its own."""

    def __init__(self, folder: Path) -> None:
        self.tree = tiny_kernel(folder / "linux")
        git(self.tree, "init", "--quiet", "--initial-branch=main")
        self.commits = [commit_all(self.tree, "base")]
        self.board = Board()
        self.patches: list[Path] = []
        self.built: list[str] = []
        self.budget = "p99<8us"

    def add(self, text: str, file: str = "init/main.c") -> None:
        (self.tree / file).write_text(text)
        self.commits.append(commit_all(self.tree, f"commit {len(self.commits)}"))

    def workplace(self) -> Workplace:
        return Workplace(Wanted(self.tree, "arm64-rt", Request(), patches=self.patches))

    def steps(self, workplace: Workplace) -> Commits:
        def said(step: str, done: int, total: int) -> None:
            if step == "checking out":
                self.built.append(git(workplace.bisection.worktree, "rev-parse", "HEAD"))

        return Commits(
            workplace, "as always", self.board.measure, 1, said, lambda done, total: None
        )

    def search(self) -> Result:
        workplace = self.workplace()
        steps = self.steps(workplace)
        good, bad = self.commits[0], self.commits[-1]
        rule = BudgetRule([parse_limit(self.budget)])
        with workplace.alone():
            result = find_first_bad(
                workplace.bisection, good, bad, [], rule, SEEDS, steps.runs, Observer()
            )
            workplace.clear(result)
        return result


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Bench:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Bench(tmp_path)


@pytest.fixture
def cache(bench: Bench, tmp_path: Path) -> Path:
    return tmp_path / "cache" / "rtscope"


def six_commits(bench: Bench) -> None:
    for text in ("two", "three", "four slow", "five slow", "six slow"):
        bench.add(f"{text}\ntwo\nthree\nfour\n")


def test_only_the_kernels_of_both_sides_are_left(bench: Bench, cache: Path) -> None:
    six_commits(bench)
    result = bench.search()
    assert result.first_bad is not None
    assert result.first_bad.commit.id == bench.commits[3]

    sides = [f"arm64-rt-{commit[:12]}" for commit in bench.commits[2:4]]
    assert sorted(kernel.name for kernel in list_kernels()) == sorted(sides)
    assert find_kernel(sides[0]).source == f"{bench.tree}, commit {bench.commits[2][:12]}"
    assert sorted(path.name for path in (cache / "bisect").iterdir()) == ["figures"]
    assert not [*(cache / "build").iterdir()]
    assert len(git(bench.tree, "worktree", "list").splitlines()) == 1


def test_an_interrupted_search_measures_nothing_twice(bench: Bench) -> None:
    """Ctrl-C comes with the third seed of the third commit."""
    six_commits(bench)
    bench.board.ends_after = 2 * SEEDS + 2
    with pytest.raises(SystemExit):
        bench.search()
    assert len(bench.board.measured) == 2 * SEEDS + 2

    result = bench.search()
    assert result.first_bad is not None
    assert result.first_bad.commit.id == bench.commits[3]
    measured = bench.board.measured
    assert len(measured) == len(set(measured)) == len(result.verdicts) * SEEDS

    bench.budget = "p99<7us"
    assert bench.search().first_bad is not None
    assert bench.board.measured == measured


@pytest.mark.parametrize("patched", [False, True])
def test_a_step_keeps_the_objects_of_what_it_does_not_change(
    bench: Bench, cache: Path, tmp_path: Path, patched: bool
) -> None:
    """An object is compiled again if it is older than its source."""
    (bench.tree / "init" / "patched.c").write_text("one\ntwo\nthree\n")
    bench.add("one\n", "init/other.c")
    bench.add("other\ntwo\nthree\nfour\n")
    if patched:
        bench.patches = [tmp_path / "series"]
        bench.patches[0].mkdir()
        (bench.patches[0] / "1.patch").write_text(
            "--- a/init/patched.c\n+++ b/init/patched.c\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
        )
    workplace = bench.workplace()
    first, second = (workplace.bisection.commit(one) for one in bench.commits[1:])
    workplace.bisection.begin(first, second, [])
    steps = bench.steps(workplace)
    steps.runs(first, SEEDS)
    (folder,) = (cache / "build").iterdir()
    (folder / "objects" / "main.o").touch()
    steps.runs(second, SEEDS)

    source = folder / "source" if patched else workplace.bisection.worktree
    compiled = (folder / "objects" / "main.o").stat().st_mtime_ns
    times = {path.name: path.stat().st_mtime_ns for path in (source / "init").iterdir()}
    assert {name for name, time_ns in times.items() if time_ns > compiled} == {"main.c"}
    assert (source / "init" / "patched.c").read_text().count("2") == int(patched)
    assert (
        kernel_file(find_kernel(f"arm64-rt-{second.short}"))
        .read_bytes()
        .endswith(b"other\ntwo\nthree\nfour\n")
    )


@pytest.mark.parametrize("fault", ["compile", "configure", "boot"])
def test_a_faulty_commit_is_skipped_and_not_built_again(bench: Bench, fault: str) -> None:
    makefile = (bench.tree / "Makefile").read_text()
    bench.add("two\n")
    if fault == "compile":
        bench.add(
            makefile.replace("\tcat head", "\techo 'x.c:1: error: no'; false\n\tcat head"),
            "Makefile",
        )
    elif fault == "configure":
        bench.add("", "always.config")
    else:
        bench.add("panic\n")
    (bench.tree / "Makefile").write_text(makefile)
    (bench.tree / "always.config").write_text("CONFIG_HOTPLUG_CPU=y\n")
    bench.add("four\n")
    bench.add("five slow\n")
    bench.board.ends_after = 2 * SEEDS + 2
    with pytest.raises(SystemExit):
        bench.search()
    result = bench.search()

    assert result.first_bad is not None
    assert result.first_bad.commit.id == bench.commits[4]
    skipped = {one.commit.id: one.reason for one in result.verdicts if one.mark == "skip"}
    assert [*skipped] == [bench.commits[2]]
    said = {"compile": "error: no", "configure": "CONFIG_HOTPLUG_CPU", "boot": "panicked"}
    assert said[fault] in skipped[bench.commits[2]]


def test_a_build_that_the_computer_prevents_ends_the_search(bench: Bench) -> None:
    makefile = (bench.tree / "Makefile").read_text()
    bench.add("two\n")
    bench.add(makefile.replace("cat head", "cat head >/dev/full && cat head"), "Makefile")
    (bench.tree / "Makefile").write_text(makefile)
    bench.add("four slow\n")
    with pytest.raises(RtscopeError, match="No space left on device"):
        bench.search()


def test_what_cannot_be_bisected_is_refused(bench: Bench, tmp_path: Path) -> None:
    bench.add("slow\n")
    with pytest.raises(RtscopeError, match="is not a git tree: give the kernel's with --tree"):
        Workplace(Wanted(tmp_path, "arm64-rt", Request()))
    with pytest.raises(RtscopeError, match="need one CPU and mode=exact"):
        Workplace(Wanted(bench.tree, "arm64-rt,cpus=2", Request()))
    with pytest.raises(RtscopeError, match="there is no recipe for a kernel 'arm'"):
        Workplace(Wanted(bench.tree, "arm", Request()))
    with (
        bench.workplace().alone(),
        pytest.raises(RtscopeError, match="another rtscope bisects"),
        bench.workplace().alone(),
    ):
        pass
