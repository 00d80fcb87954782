# SPDX-License-Identifier: GPL-2.0-only
"""rtscope lab: virtual machines whose runs repeat exactly."""

import sys
from typing import Annotated

import typer

from rtscope.cli import bisect, kernels, patchstat
from rtscope.cli.groups import CommandGroup
from rtscope.cli.options import (
    GuestCommands,
    GuestFiles,
    GuestModules,
    Interval,
    KernelParameters,
    agent_option,
    time_ns,
    with_additions,
)
from rtscope.cli.probe_command import complete_probe
from rtscope.engine.interrupt import Interrupt, ended_by_signals
from rtscope.lab.console import run_shell, run_verb
from rtscope.lab.verify import first_difference, repeat
from rtscope.lab.vm import VmTarget, vm_target
from rtscope.model.request import Request

app = typer.Typer(cls=CommandGroup, no_args_is_help=True)
app.add_typer(kernels.app, name="kernel")
app.command("bisect")(bisect.bisect)
app.command("patchstat")(patchstat.patchstat)

KernelName = Annotated[
    str, typer.Argument(metavar="KERNEL", help="Name of a kernel, as in vm:KERNEL.")
]


@app.command("boot")
def boot(
    name: KernelName,
    verb: Annotated[
        list[str] | None,
        typer.Argument(help="Arguments of the agent. [default: cyclic --duration 5s]"),
    ] = None,
    module: GuestModules = None,
    file: GuestFiles = None,
    run: GuestCommands = None,
    append: KernelParameters = None,
) -> None:
    """Boot with the console on this terminal and run the agent; Ctrl-C or Ctrl-A x ends it.

    Time is the host's unless mode=exact says otherwise.

    \b
    rtscope lab boot 6.12-rt-amd64
    rtscope lab boot 6.12-rt-amd64,cpus=2 -- cyclic --duration 10s --load mixed
    rtscope lab boot x86_64-rt --append 'highres=off' -- cyclic --duration 5s
    """
    target = _for_a_person(with_additions(f"vm:{name}", module, file, run, append))
    with ended_by_signals():
        status = run_verb(target, verb or ["cyclic", "--duration=5s"])
    raise typer.Exit(status)


@app.command("shell")
def shell(
    name: KernelName,
    module: GuestModules = None,
    file: GuestFiles = None,
    run: GuestCommands = None,
    append: KernelParameters = None,
) -> None:
    """Boot into a shell on this terminal; exit or Ctrl-A x ends it.

    \b
    rtscope lab shell 6.12-rt-amd64
    rtscope lab shell x86_64-rt --file examples/llrf/llrf --module rtdaq
    rtscope lab shell x86_64-rt --module './mydriver period_us=500'
    """
    target = _for_a_person(with_additions(f"vm:{name}", module, file, run, append))
    with ended_by_signals():
        status = run_shell(target)
    raise typer.Exit(status)


def _for_a_person(name: str) -> VmTarget:
    """Return the VM of this name in fast mode: exact time would race while the user types."""
    return vm_target(name if ",mode=" in name else f"{name},mode=fast")


@app.command("verify")
def verify(
    name: KernelName,
    probe: Annotated[
        str,
        typer.Option(metavar="PROBE", help="Probe to measure.", autocompletion=complete_probe),
    ] = "cyclic",
    load: Annotated[
        str, agent_option("load", "--load", "-L", default="", text="Measure under this load")
    ] = "idle",
    samples: Annotated[int, agent_option("samples", default="")] = 1000,
    interval: Interval = None,
) -> None:
    """Measure three times, the last time on a busy host, and compare every sample.

    Exit status: 0 when all are the same to the bit, 1 when they differ. The first difference is
    printed.
    """
    target = vm_target(name)
    interval_ns = time_ns(interval, "interval")
    request = Request(probe=probe, load=load, samples=samples, interval_ns=interval_ns)
    interrupt = Interrupt()
    first = None
    with interrupt.installed():
        for number, one in enumerate(repeat(target, request, 3, interrupt.watch), 1):
            if interrupt.signal is not None:
                raise typer.Exit(128 + interrupt.signal)
            print(f"run {number}, beside {one.beside}: samples {one.sha256}", flush=True)
            first = first or one
            if parted := first_difference(first, one):
                print(f"rtscope: runs 1 and {number} part: {parted}", file=sys.stderr)
                raise typer.Exit(1)
    print("the samples of all runs are the same, bit for bit")
