# SPDX-License-Identifier: GPL-2.0-only
"""The commits of a kernel tree as kernels of the lab: built in one directory of objects, so that
each step compiles only what differs from the last, and measured once for each content.
"""

import fcntl
import hashlib
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from rtscope.lab.bisect.figures import Figures
from rtscope.lab.bisect.repository import Bisection, Commit, top_of
from rtscope.lab.bisect.search import Result, UntestableError
from rtscope.lab.boards import find_board
from rtscope.lab.build import (
    Plan,
    Said,
    build_kernel,
    built_kernel,
    objects_folder,
    plan_build,
)
from rtscope.lab.kernels import Kernel, cache_directory, list_kernels, remove_kernel
from rtscope.lab.machine import parse_spec, qemu_version
from rtscope.lab.recipes import find_recipe
from rtscope.lab.source import Source
from rtscope.model.errors import BootError, RtscopeError, SourceError
from rtscope.model.request import Request
from rtscope.model.run import Run
from rtscope.target.local import agent_path

MeasureSeeds = Callable[[str, Sequence[int], Callable[[Run], None]], None]
"""Measures on the target of this name with each seed, and passes each run on as it ends. Raises
RtscopeError.
"""
Counted = Callable[[int, int], None]
"""Called with the number of measured seeds, and of all."""

_BUILT: Final = "kernels"
"""directory with a file for each kernel that this bisection has built"""


class Wanted(msgspec.Struct, frozen=True):
    """The kernel that is made of each commit, and the measurement on it."""

    tree: Path
    """the user's"""
    machine: str
    """a recipe and the options of the VM: x86_64-rt,mips=500"""
    request: Request
    """without a seed"""
    configs: list[Path] = []
    patches: list[Path] = []

    @property
    def recipe(self) -> str:
        """Name of the recipe."""
        return parse_spec(self.machine).kernel


def measurement_of(wanted: Wanted) -> object:
    """Everything that determines a run on a commit besides its kernel and the seed: a change of
    the budget measures nothing again. Raises RtscopeError.
    """
    spec = parse_spec(wanted.machine)
    recipe = find_recipe(spec.kernel)
    return [
        msgspec.structs.replace(spec, seed=0),
        msgspec.structs.replace(wanted.request, seed=None, budget=[], command=[]),
        hashlib.sha256(agent_path(recipe.arch).read_bytes()).hexdigest(),
        qemu_version(find_board(recipe.board, recipe.arch)),
        [_content(Path(file.split(":")[0]).expanduser()) for file in spec.files],
    ]


class Workplace:
    """The worktree and the directory of objects of one tree and recipe."""

    def __init__(self, wanted: Wanted) -> None:
        """Raises RtscopeError if the tree is no kernel's, or the recipe or the VM is unknown."""
        top = top_of(wanted.tree)
        spec = parse_spec(wanted.machine)
        find_recipe(spec.kernel)
        if spec.mode != "exact":
            raise RtscopeError(
                f"--kernel {wanted.machine}: a bisection compares exact figures, which need one "
                "CPU and mode=exact"
            )
        if any("/" in name for name in spec.loads):
            raise RtscopeError(
                f"--kernel {wanted.machine}: load= takes modules of the kernel itself here"
            )
        self._wanted = wanted
        self._spec = spec
        self._top = top
        content = [str(top), spec.kernel, list(map(str, [*wanted.configs, *wanted.patches]))]
        key = hashlib.sha256(msgspec.json.encode(content)).hexdigest()[:12]
        self._name = f"bisect-{key}"
        self._folder = cache_directory() / "bisect" / key
        self.bisection = Bisection(top, self._folder / "tree")

    @property
    def first_seed(self) -> int:
        """The seed of the VM's options."""
        return self._spec.seed

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Lock it against other bisections. Raises RtscopeError if there is one."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with (self._folder / "lock").open("w") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                yield
        except BlockingIOError:
            raise RtscopeError(
                f"another rtscope bisects {self._top} for {self._spec.kernel}: wait until it has "
                "ended"
            ) from None

    def plan(self, commit: Commit) -> Plan:
        """The build of a commit. Raises RtscopeError."""
        source = Source(
            words=f"{self._top}, commit {commit.short}",
            identity=f"git-{commit.content}",
            place=self.bisection.worktree,
            lineage=str(self.bisection.worktree),
        )
        return plan_build(
            self._spec.kernel,
            name=f"{self._spec.kernel}-{commit.short}",
            source=source,
            configs=self._wanted.configs,
            patches=self._wanted.patches,
            workspace=self._name,
        )

    def target(self, kernel: Kernel) -> str:
        """The name of its VM."""
        return "vm:" + kernel.name + self._wanted.machine.removeprefix(self._spec.kernel)

    def build(self, plan: Plan, commit: Commit, jobs: int, said: Said) -> Kernel:
        """Its kernel, built unless it is stored. Raises RtscopeError."""
        if kernel := built_kernel(plan):
            return kernel
        said("checking out", 0, 0)
        self.bisection.check_out(commit)
        kernel = build_kernel(plan, jobs, said)
        (self._folder / _BUILT).mkdir(exist_ok=True)
        (self._folder / _BUILT / kernel.name).touch()
        return kernel

    def clear(self, result: Result) -> None:
        """Remove the worktree, the objects, and the kernels that were built for the search, but
        not those of the two sides of the result.
        """
        sides = [result.before, *([result.first_bad] if result.first_bad else [])]
        plans = [self.plan(one.commit) for one in sides]
        for path in (self._folder / _BUILT).glob("*"):
            if path.name not in {plan.name for plan in plans}:
                remove_kernel(path.name)
        shutil.rmtree(objects_folder(plans[0]), ignore_errors=True)
        self.bisection.remove()
        shutil.rmtree(self._folder, ignore_errors=True)

    def kernel_of(self, commit: Commit) -> Kernel | None:
        """The stored kernel of a commit."""
        name = self.plan(commit).name
        return next((one for one in list_kernels() if one.name == name), None)


class Commits:
    """Builds and measures commits, as far as they are not measured."""

    def __init__(
        self,
        workplace: Workplace,
        measurement: object,
        measure: MeasureSeeds,
        jobs: int,
        said: Said,
        counted: Counted,
    ) -> None:
        """`measurement` is what determines a run besides the kernel and the seed; `said` hears of
        the build, `counted` of the measurement.
        """
        self._workplace = workplace
        self._measurement = measurement
        self._measure = measure
        self._jobs = jobs
        self._said = said
        self._counted = counted

    def runs(self, commit: Commit, count: int) -> list[Run]:
        """The runs of a commit with `count` seeds. Raises UntestableError if its source does not
        build, or its kernel does not boot or finish a run, and RtscopeError for the rest.
        """
        workplace = self._workplace
        plan = workplace.plan(commit)
        figures = Figures([plan.key, self._measurement])
        if reason := figures.reason():
            raise UntestableError(reason)
        seeds = range(workplace.first_seed, workplace.first_seed + count)
        known = figures.stored(seeds)
        missing = [seed for seed in seeds if seed not in known]
        if missing:
            kernel = self._kernel(plan, commit, figures)

            def on_run(run: Run) -> None:
                seed = run.lab.seed if run.lab else 0
                if run.status != "complete":
                    raise UntestableError(f"its run with seed {seed} ended early ({run.status})")
                figures.store(seed, run)
                known[seed] = run
                self._counted(len(known), count)

            self._counted(len(known), count)
            try:
                self._measure(workplace.target(kernel), missing, on_run)
            except UntestableError:
                raise
            except BootError as error:
                figures.store_reason(str(error))
                raise UntestableError(str(error)) from None
            except RtscopeError as error:
                raise UntestableError(str(error)) from None
        return [known[seed] for seed in seeds]

    def _kernel(self, plan: Plan, commit: Commit, figures: Figures) -> Kernel:
        try:
            return self._workplace.build(plan, commit, self._jobs, self._said)
        except SourceError as error:
            figures.store_reason(str(error))
            raise UntestableError(str(error)) from None


def _content(path: Path) -> str:
    """A hash of a file, or of all files of a directory."""
    content = hashlib.sha256()
    for one in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if one.is_file():
            data = one.read_bytes()
            content.update(f"{one.relative_to(path)} {len(data)}\n".encode() + data)
    return content.hexdigest()
