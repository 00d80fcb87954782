# SPDX-License-Identifier: GPL-2.0-only
"""rtscope lab kernel: the kernels that the lab boots by name."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from rtscope.cli.groups import CommandGroup
from rtscope.engine.interrupt import ended_by_signals
from rtscope.lab.build import Said, build_kernel, built_kernel, plan_build
from rtscope.lab.kernels import Kernel, add_file, add_package, list_kernels
from rtscope.lab.ours import give_modules
from rtscope.lab.recipes import find_recipe, recipes
from rtscope.model.errors import RtscopeError
from rtscope.report.terminal.console import output_console
from rtscope.report.terminal.streams import complain
from rtscope.target.local import agent_path

app = typer.Typer(
    cls=CommandGroup, help="Add, build and list the kernels of the lab.", no_args_is_help=True
)


@app.command("add")
def add(
    source: Annotated[
        str,
        typer.Argument(metavar="SOURCE", help="A kernel image, or debian:PACKAGE."),
    ],
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of the kernel. [default: the source's]")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Configuration of the kernel's build.")
    ] = None,
    modules: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Directory with the kernel's modules.")
    ] = None,
    load: Annotated[
        list[str] | None,
        typer.Option(metavar="MODULE", help="Load this module and its dependencies at boot."),
    ] = None,
    board: Annotated[
        str | None,
        typer.Option(metavar="BOARD", help="Board to boot it on. [default: the architecture's]"),
    ] = None,
) -> None:
    """Add a kernel under a name.

    A package is downloaded by apt and unpacked, not installed; no root is needed. Where its headers
    and a compiler are to be had, rtscope's own modules are built for it.

    \b
    rtscope lab kernel add debian:linux-image-6.12-rt-amd64
    rtscope lab kernel add arch/x86/boot/bzImage --name mine --config .config
    """
    with ended_by_signals():
        kernel = _added(source, name, config, modules, load or [], board)
    print(f"{kernel.name}: {_described(kernel)}")
    print(f"rtscope measure --target vm:{kernel.name} measures on it")


def _added(
    source: str,
    name: str | None,
    config: Path | None,
    modules: Path | None,
    load: list[str],
    board: str | None,
) -> Kernel:

    package = source.removeprefix("debian:")
    if package == source:
        return add_file(
            Path(source), name=name, config=config, modules=modules, load=load, board=board
        )
    if config or modules or board:
        raise RtscopeError(
            "--config, --modules and --board are for a kernel's file: a package has its own"
        )
    print(f"downloading {package}", file=sys.stderr)
    kernel = add_package(package, name=name, load=load)
    print(f"building rtscope's modules for {kernel.release}", file=sys.stderr)
    try:
        return give_modules(kernel)
    except RtscopeError as error:
        complain(f"{kernel.name} is added without rtscope's modules: {error}")
        return kernel


@app.command("list")
def show() -> None:
    """List the kernels."""
    found = list_kernels()
    for kernel in found:
        print(f"{kernel.name}: {_described(kernel)}")
    if not found:
        print(
            "no kernel yet: rtscope lab kernel add debian:linux-image-6.12-rt-amd64",
            file=sys.stderr,
        )
    others = recipes().kernels.keys() - {kernel.name for kernel in found}
    if others:
        print(f"rtscope lab kernel build NAME builds: {', '.join(sorted(others))}", file=sys.stderr)


@app.command("build")
def build(
    recipe: Annotated[
        str, typer.Argument(metavar="NAME", help="x86_64-rt, or another name of `list`.")
    ],
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="Name of the kernel. [default: NAME]"),
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="A kernel source tree (not modified) or a tarball. "
            "[default: the recipe's package of Debian, such as linux-source-6.12]",
        ),
    ] = None,
    config: Annotated[
        list[Path] | None,
        typer.Option(metavar="FRAGMENT", help="Additional configuration, after the recipe's."),
    ] = None,
    patches: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DIR", help="Patches to apply: those of the file `series`, or *.patch."
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", "-j", min=1, help="Parallel compiler jobs. [default: one per CPU]"),
    ] = None,
    force: Annotated[bool, typer.Option("--force", "-f", help="Build again from nothing.")] = False,
) -> None:
    """Build a kernel and add it under a name.

    A build takes several minutes. Its result is cached by source, configuration, patches and
    compiler.

    \b
    rtscope lab kernel build x86_64-rt
    rtscope lab kernel build x86_64-rt --name mine --source ~/linux --patches ~/my-series
    """
    with ended_by_signals():
        agent_path(find_recipe(recipe).arch)  # without it the kernel could measure nothing
    plan = plan_build(recipe, name=name, source=source, configs=config or [], patches=patches or [])
    kernel = None if force else built_kernel(plan)
    if kernel:
        print(f"{kernel.name} is built already: {_described(kernel)}; --force builds it anew")
        return
    jobs = jobs or len(os.sched_getaffinity(0))
    start = time.monotonic()
    with ended_by_signals(), _shown_build(plan.name) as said:
        kernel = build_kernel(plan, jobs, said, anew=force)
    took_s = time.monotonic() - start
    print(f"{kernel.name}: {_described(kernel)}, built in {took_s:.0f} s")
    print(f"rtscope measure --target vm:{kernel.name} measures on it")


@contextmanager
def _shown_build(name: str) -> Iterator[Said]:
    """Return the progress display: a live line on a terminal, else a line for each step."""
    console = output_console(sys.stderr)
    last = ""
    columns = [
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[objects]}"),
        TimeElapsedColumn(),
    ]
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as progress:
        task = progress.add_task(name, total=None, objects="")

        def said(step: str, done: int, total: int) -> None:
            nonlocal last
            if step != last and not console.is_terminal:
                console.print(f"{name}: {step}", markup=False, highlight=False)
            last = step
            objects = f"{done} of about {total} objects" if total else ""
            progress.update(
                task,
                description=f"{name}: {step}",
                completed=done,
                total=total or None,
                objects=objects,
            )

        yield said


def _described(kernel: Kernel) -> str:
    loaded = f", loads {', '.join(kernel.modules)}" if kernel.modules else ""
    return f"{kernel.release} for {kernel.arch}, from {kernel.source}{loaded}"
