# SPDX-License-Identifier: GPL-2.0-only
"""Build a kernel from its recipe, once for each content."""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from rtscope.lab.kconfig import Asked, check_taken, fragment_text, read_fragments
from rtscope.lab.kernels import (
    Kernel,
    cache_directory,
    good_name,
    is_whole,
    keep_built,
    list_kernels,
)
from rtscope.lab.make import SAME_EVERYWHERE, run_make
from rtscope.lab.ours import copy_modules, modules_content
from rtscope.lab.patches import Series, apply_series, keep_unchanged, read_series
from rtscope.lab.recipes import Architecture, find_recipe, kernel_folder, recipes
from rtscope.lab.source import Source, find_source, source_tree, tree_version
from rtscope.model.errors import RtscopeError
from rtscope.store.files import write_file

Said = Callable[[str, int, int], None]
"""Called with the current step, the number of compiled objects, and their approximate total."""

_TOOLS: Final = {tool: tool for tool in ("make", "gcc", "flex", "bison", "bc")}
_COMPILED: Final = re.compile(r"  (?:CC|AS)(?: \[M\])? ")
_SYSTEM_SAID: Final = re.compile(r"\[Errno \d+\] ([^:]*)")
_USUAL_OBJECTS: Final = 1000


class Plan(msgspec.Struct, frozen=True):
    """Everything that determines the kernel."""

    name: str
    arch: str
    """named as the agents, by uname -m"""
    architecture: Architecture
    board: str | None
    options: list[str]
    """kernel parameters in every mode"""
    exact_options: list[str]
    """and in exact mode only"""
    source: Source
    series: list[Series]
    asked: dict[str, Asked]
    """the configuration, by symbol"""
    tools: str
    """prefix of the names of compiler and binutils"""
    key: str
    """the hash of all of this, including the compiler"""
    workspace: str
    """name of the directory of its objects"""


def plan_build(
    recipe: str,
    *,
    name: str | None = None,
    source: Path | Source | None = None,
    configs: list[Path],
    patches: list[Path],
    workspace: str | None = None,
) -> Plan:
    """Plan the build of a recipe with additional configuration and patches, without building.
    Plans of the same `workspace`, by default the name, share their objects. Raises RtscopeError
    if an input is missing.
    """
    chosen = find_recipe(recipe)
    folder = kernel_folder()
    architecture = recipes().architectures[chosen.arch]
    own = [folder / "configs" / f"{one}.config" for one in chosen.configs]
    asked = read_fragments([*own, *configs])
    directories = [folder / "patches" / one for one in chosen.patches]
    series = [read_series(one.absolute()) for one in [*directories, *patches]]
    native = os.uname().machine == chosen.arch
    tools = "" if native else architecture.cross
    compiler = _compiler(tools, "gcc" if native else architecture.package, patches=bool(series))
    found = source if isinstance(source, Source) else find_source(source, chosen.source)
    content = [
        found.identity,
        [one.sha256 for one in series],
        fragment_text(asked),
        modules_content(),
        msgspec.to_builtins(architecture),
        compiler,
        SAME_EVERYWHERE,
        *([chosen.board] if chosen.board else []),
        *([chosen.options] if chosen.options else []),
        *([chosen.exact_options] if chosen.exact_options else []),
    ]
    key = hashlib.sha256(msgspec.json.encode(content)).hexdigest()
    return Plan(
        name=good_name(name or recipe),
        arch=chosen.arch,
        architecture=architecture,
        board=chosen.board,
        options=[*architecture.options, *chosen.options],
        exact_options=[*architecture.exact_options, *chosen.exact_options],
        source=found,
        series=series,
        asked=asked,
        tools=tools,
        key=key,
        workspace=workspace or good_name(name or recipe),
    )


def built_kernel(plan: Plan) -> Kernel | None:
    """The stored kernel that equals the result of the plan, if any."""
    kept = {kernel.name: kernel for kernel in list_kernels()}
    kernel = kept.get(plan.name)
    return kernel if kernel and kernel.key == plan.key and is_whole(kernel) else None


def objects_folder(plan: Plan) -> Path:
    """The directory of the objects, which later builds use again."""
    return cache_directory() / "build" / plan.workspace


def build_kernel(plan: Plan, jobs: int, said: Said, *, anew: bool = False) -> Kernel:
    """Build the kernel and store it, completely or not at all. The objects stay in the cache, so
    that the next build of this name compiles only the changes; `anew` removes them first. No
    process survives this function. Raises RtscopeError.
    """
    folder = objects_folder(plan)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _alone(folder, plan.name):
            tree = _prepared_tree(plan, folder, said, anew=anew)
            config = _configure(plan, folder, tree, said)
            _compile(plan, folder, tree, jobs, said, modules="CONFIG_MODULES=y\n" in config)
            return _keep(plan, folder)
    except shutil.Error as error:  # copytree reports all failures at its end
        _, copy, why = error.args[0][0]
        raise RtscopeError(f"{plan.name} was not built: {copy}: {_said(why)}") from None
    except OSError as error:
        raise RtscopeError(
            f"{plan.name} was not built: {error.filename or folder}: {error.strerror}"
        ) from None


@contextmanager
def module_words(kernel: Kernel) -> Iterator[list[str]]:
    """The words with which make builds modules against a kernel of the lab, whose objects are
    locked meanwhile. Raises RtscopeError if the objects are not those of the stored kernel.
    """
    folder = cache_directory() / "build" / kernel.name
    objects = folder / "objects"
    needed = [objects / name for name in (".config", "Module.symvers", "source")]
    if not all(path.exists() for path in needed) or _hash(needed[0]) != kernel.config_sha256:
        raise RtscopeError(
            f"modules cannot be built for {kernel.name}, because the objects of its build are not "
            f"in {objects} any more: build the kernel again with `rtscope lab kernel build "
            f"{kernel.name} --force`"
        )
    architecture = recipes().architectures[kernel.arch]
    tools = "" if os.uname().machine == kernel.arch else architecture.cross
    with _alone(folder, kernel.name):
        make = f"ARCH={architecture.make}"
        yield ["-C", str(objects), make, f"CROSS_COMPILE={tools}", f"-j{os.cpu_count()}"]


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _said(why: str) -> str:
    """The system's message, without the number and the files in an OSError's text."""
    found = _SYSTEM_SAID.match(why)
    return found[1] if found else why


def _compiler(tools: str, package: str, *, patches: bool) -> str:
    """The versions of the compiler and the linker. Raises RtscopeError if a tool is missing."""
    needed = _TOOLS | {f"{tools}gcc": package, f"{tools}ld": package.replace("gcc", "binutils", 1)}
    needed |= {"patch": "patch"} if patches else {}
    missing = {tool: one for tool, one in needed.items() if not shutil.which(tool)}
    if missing:
        packages = " ".join(dict.fromkeys(missing.values()))
        raise RtscopeError(
            f"cannot build a kernel without {', '.join(missing)}: install {packages}"
        )
    versions = [
        subprocess.run([f"{tools}{tool}", "--version"], capture_output=True, text=True, check=False)
        for tool in ("gcc", "ld")
    ]
    return " and ".join(done.stdout.split("\n")[0] for done in versions)


@contextmanager
def _alone(folder: Path, name: str) -> Iterator[None]:
    """Lock this name against other builds."""
    with (folder / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RtscopeError(
                f"{name} is being built by another rtscope: wait for it, or give a --name"
            ) from None
        yield


def _prepared_tree(plan: Plan, folder: Path, said: Said, *, anew: bool) -> Path:
    """Prepare the patched source, and remove objects of another source. Other patches on the
    same source keep the objects of unchanged files. The user's own tree may change without
    notice, so a patched copy of it is not reused.
    """
    tree = source_tree(plan.source, lambda words: said(words, 0, 0))
    stamp = folder / "source.json"
    lineage = plan.source.lineage
    own = plan.source.place == tree and not lineage
    identity = str(plan.source.place if own else plan.source.identity)
    family = [lineage or identity]
    series = [one.sha256 for one in plan.series]
    content = msgspec.json.encode([*family, series, *([identity] if lineage else [])])
    before = stamp.read_bytes() if stamp.exists() else b""
    patched = folder / "source"
    same = before == content and not (plan.series and own)
    if same and not anew:
        return patched if plan.series else tree
    alike: list[object] = [*family]
    if plan.series:
        kept = not own and patched.exists()
    else:
        alike = [lineage, []]
        kept = bool(lineage)
    unfinished = msgspec.json.encode(alike)
    kept = kept and before.startswith(unfinished.removesuffix(b"]"))
    if kept and not anew:
        stamp.write_bytes(unfinished)
    else:
        stamp.unlink(missing_ok=True)
        shutil.rmtree(folder / "objects", ignore_errors=True)
        shutil.rmtree(patched, ignore_errors=True)
    if plan.series:
        _patch(plan, tree, folder, said)
    stamp.write_bytes(content)
    return patched if plan.series else tree


def _patch(plan: Plan, tree: Path, folder: Path, said: Said) -> None:
    said("copying and patching the source", 0, 0)
    partial = folder / "patching"
    shutil.rmtree(partial, ignore_errors=True)
    # patch(1) replaces a file, so a copy may share files with a source that is not the user's.
    own = plan.source.place == tree and not plan.source.lineage
    copy = shutil.copy2 if own else os.link
    try:
        shutil.copytree(
            tree, partial, symlinks=True, copy_function=copy, ignore=shutil.ignore_patterns(".git")
        )
        for series in plan.series:
            apply_series(series, partial, f"Linux {tree_version(tree)} ({plan.source.words})")
        if (folder / "source").exists():
            keep_unchanged(folder / "source", partial)
            shutil.rmtree(folder / "source")
        partial.rename(folder / "source")
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _configure(plan: Plan, folder: Path, tree: Path, said: Said) -> str:
    """Write the .config: the requested options, and no others that can be left out."""
    said("configuring", 0, 0)
    (folder / "log").write_text("")
    wanted = folder / "asked.config"
    wanted.write_text(fragment_text(plan.asked))
    _make(plan, folder, tree, ["allnoconfig", f"KCONFIG_ALLCONFIG={wanted}"])
    config = (folder / "objects" / ".config").read_text()
    check_taken(plan.asked, config, tree_version(tree))
    return config


def _compile(plan: Plan, folder: Path, tree: Path, jobs: int, said: Said, *, modules: bool) -> None:
    known = folder / "objects.count"
    last = _objects_built(known)
    fresh = not (folder / "objects" / plan.architecture.image).exists()
    count = 0

    def on_line(line: str) -> None:
        nonlocal count
        if _COMPILED.match(line):
            count += 1
            said("compiling", count, max(last, count))

    said("compiling", 0, last)
    image = Path(plan.architecture.image).name
    _make(plan, folder, tree, [f"-j{jobs}", image, *(["modules"] if modules else [])], on_line)
    if fresh:
        write_file(str(count).encode(), known, "how many objects there are", overwrite=True)
    ours = folder / "modules"
    shutil.rmtree(ours, ignore_errors=True)
    if modules:
        copy_modules(ours)
        _make(plan, folder, tree, [f"-j{jobs}", f"M={ours}", "modules"])


def _objects_built(known: Path) -> int:
    try:
        return int(known.read_bytes())
    except (FileNotFoundError, ValueError):
        return _USUAL_OBJECTS


def _make(
    plan: Plan,
    folder: Path,
    tree: Path,
    words: list[str],
    on_line: Callable[[str], None] = lambda line: None,
) -> None:
    own = [f"ARCH={plan.architecture.make}", f"CROSS_COMPILE={plan.tools}"]
    run_make(
        ["-C", str(tree), f"O={folder / 'objects'}", *own, *words],
        plan.name,
        folder / "log",
        on_line,
    )


def _keep(plan: Plan, folder: Path) -> Kernel:
    objects = folder / "objects"
    image = objects / plan.architecture.image
    if image.read_bytes()[:4] == b"\x7fELF":
        stripped = folder / image.name
        strip = [f"{plan.tools}strip", "-o", str(stripped), str(image)]
        done = subprocess.run(strip, capture_output=True, text=True, errors="replace", check=False)
        if done.returncode:
            raise RtscopeError(
                f"{plan.name} was not built: {done.stderr.strip() or f'{strip[0]} failed'}"
            )
        image = stripped
    return keep_built(
        plan.name,
        source=plan.source.words,
        image=image,
        config=objects / ".config",
        system_map=objects / "System.map",
        modules=[*objects.rglob("*.ko"), *(folder / "modules").rglob("*.ko")],
        board=plan.board,
        key=plan.key,
        patches=[str(one) for one in plan.series],
        options=plan.options,
        exact_options=plan.exact_options,
    )
