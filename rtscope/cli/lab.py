"""rtscope lab: the kernels of the lab, and the proof that it repeats."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rtscope.cli.measure import Interrupt
from rtscope.model.errors import RtscopeError
from rtscope.model.units import parse_time_ns

if TYPE_CHECKING:
    from rtscope.lab.kernels import Kernel

app = typer.Typer(
    help="Real kernels on emulated machines whose time is counted in instructions.",
    no_args_is_help=True,
)
kernels = typer.Typer(help="The kernels that can be booted by name.", no_args_is_help=True)
app.add_typer(kernels, name="kernel")


@kernels.command("add")
def add(
    source: Annotated[
        str,
        typer.Argument(metavar="SOURCE", help="A kernel's file, or debian: and a package's name."),
    ],
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="What to call it. [default: the source's]")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The configuration it was built with.")
    ] = None,
    modules: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where its modules are, at any depth.")
    ] = None,
    load: Annotated[
        list[str] | None,
        typer.Option(metavar="MODULE", help="Load this one at boot, and what it needs."),
    ] = None,
) -> None:
    """Keep a kernel under a name.

    A package is downloaded by apt and unpacked, not installed; no root is needed.

    \b
    rtscope lab kernel add debian:linux-image-6.12-rt-amd64
    rtscope lab kernel add arch/x86/boot/bzImage --name mine --config .config
    """
    from rtscope.lab.kernels import add_file, add_package

    package = source.removeprefix("debian:")
    if package == source:
        kernel = add_file(Path(source), name=name, config=config, modules=modules, load=load or [])
    elif config or modules:
        raise RtscopeError("--config and --modules are for a kernel's file: a package has its own")
    else:
        print(f"downloading {package}", file=sys.stderr)
        kernel = add_package(package, name=name, load=load or [])
    print(f"{kernel.name}: {_told(kernel)}")
    print(f"rtscope measure --target vm:{kernel.name} measures on it")


@kernels.command("list")
def show() -> None:
    """Tell the kernels that have been added."""
    from rtscope.lab.kernels import list_kernels

    found = list_kernels()
    for kernel in found:
        print(f"{kernel.name}: {_told(kernel)}")
    if not found:
        print(
            "no kernel yet: rtscope lab kernel add debian:linux-image-6.12-rt-amd64",
            file=sys.stderr,
        )


@app.command("verify")
def verify(
    name: Annotated[str, typer.Argument(metavar="KERNEL", help="As vm:KERNEL takes it.")],
    probe: Annotated[str, typer.Option(metavar="PROBE", help="What to measure.")] = "cyclic",
    load: Annotated[str, typer.Option("--load", "-L", metavar="LOAD")] = "idle",
    samples: Annotated[int, typer.Option("--samples", "-l", min=1)] = 1000,
    interval: Annotated[str | None, typer.Option("--interval", "-i", metavar="TIME")] = None,
) -> None:
    """Measure three times, the last beside a busy host, and compare every sample.

    Exit status: 0 when all are the same to the bit, 1 when they part, and where.
    """
    from rtscope.experiment.measure import Request, agent_arguments
    from rtscope.lab.verify import first_difference, repeat
    from rtscope.lab.vm import vm_target

    target = vm_target(f"vm:{name}")
    interval_ns = parse_time_ns(interval, "us") if interval else None
    request = Request(probe=probe, load=load, samples=samples, interval_ns=interval_ns)
    interrupt = Interrupt()
    first = None
    with interrupt.installed():
        for number, one in enumerate(
            repeat(target, agent_arguments(request), 3, interrupt.watch), 1
        ):
            if interrupt.signal is not None:
                raise typer.Exit(128 + interrupt.signal)
            print(f"run {number}, beside {one.beside}: samples {one.sha256}", flush=True)
            first = first or one
            if parted := first_difference(first, one):
                print(f"rtscope: runs 1 and {number} part: {parted}", file=sys.stderr)
                raise typer.Exit(1)
    print("the samples of all runs are the same, bit for bit")


def _told(kernel: "Kernel") -> str:
    loaded = f", loads {', '.join(kernel.modules)}" if kernel.modules else ""
    return f"{kernel.release} for {kernel.arch}, from {kernel.source}{loaded}"
