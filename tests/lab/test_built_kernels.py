# SPDX-License-Identifier: GPL-2.0-only
"""The lab's own kernels: what they are, and that the delays put into them are found."""

import functools
from collections.abc import Callable
from pathlib import Path

import pytest

from rtscope.engine.cells import cells_of
from rtscope.engine.check import check_cells
from rtscope.engine.measure import measure, read_machine
from rtscope.engine.planfile import read_plan
from rtscope.engine.targets import target_of
from rtscope.lab.build import build_kernel, plan_build
from rtscope.lab.kernels import Kernel
from rtscope.lab.vm import vm_target
from rtscope.model.errors import RtscopeError
from rtscope.model.machine import Machine
from rtscope.model.request import Request
from rtscope.model.run import Run

Built = Callable[[str], Kernel]

CORE = ["x86_64-rt", "x86_64-std", "arm64-rt"]
PORTS = ["e6500-rt", "loongson2e-rt"]
OTHERS = ["arm64-std", "e6500-std", "loongson2e-std", "pseries-rt", "pseries-std", "riscv64-rt"]
NEXT = [
    f"{board}-{kind}-7.2"
    for board in ["x86_64", "arm64", "riscv64", "loongson2e", "e6500", "pseries"]
    for kind in ["rt", "std"]
]
ALL = [
    *(pytest.param(name, marks=pytest.mark.kernels) for name in [*CORE, *PORTS]),
    *(pytest.param(name, marks=pytest.mark.long) for name in [*OTHERS, *NEXT]),
]


def measured(target: str, samples: int, samples_file: Path | None = None) -> Run:
    request = Request(samples=samples, samples_file=str(samples_file) if samples_file else None)
    return measure(request, Machine(), lambda agent: None, lambda line: None, target_of(target))


@functools.cache
def undisturbed_ns(target: str) -> int:
    """The shortest of a run without delays."""
    min_ns = measured(target, 1000).threads[0].min_ns
    assert min_ns is not None
    return min_ns


@pytest.mark.parametrize("name", ALL)
def test_a_named_kernel_boots_settles_and_is_measured(name: str, built: Built) -> None:
    kernel = built(name)
    run = measured(f"vm:{name}", 500)

    assert run.status == "complete"
    assert (run.threads[0].count, run.threads[0].missed) == (500, 0)
    codes = {warning.code for warning in run.warnings}
    assert not {"boot-not-over", "no-high-resolution-timers"} & codes
    assert ("coarse-clock" in codes) == (kernel.arch == "riscv64")
    assert run.lab is not None
    assert run.lab.patches == kernel.patches
    machine = read_machine(target_of(f"vm:{name}"))
    assert machine.kernel_release == kernel.release
    assert (machine.preemption == "rt") == ("-rt" in name)
    assert machine.hz == 1000


@pytest.mark.kernels
def test_a_nanosecond_of_the_x86_kernels_is_a_nanosecond(tmp_path: Path, built: Built) -> None:
    """At 2 ns an instruction all times are of one parity, but not where the clock drifts."""
    built("x86_64-rt")
    measured("vm:x86_64-rt,mips=500", 300, tmp_path / "samples")
    lines = (tmp_path / "samples").read_text().splitlines()
    woken_ns = [
        int(fields[2]) + int(fields[3])
        for fields in (line.split("\t") for line in lines if not line.startswith("#"))
    ]

    assert len(woken_ns) == 300
    assert len({time_ns % 2 for time_ns in woken_ns}) == 1


@pytest.mark.kernels
@pytest.mark.parametrize("preempt", ["none", "voluntary", "full"])
def test_the_standard_kernels_preemption_is_chosen_at_boot(preempt: str, built: Built) -> None:
    built("x86_64-std")
    machine = read_machine(target_of(f"vm:x86_64-std,preempt={preempt}"))

    assert machine.preemption == preempt


@pytest.mark.long
@pytest.mark.parametrize("preempt", ["lazy", "full"])
def test_the_newest_kernels_preemption_is_lazy_or_full(preempt: str, built: Built) -> None:
    built("x86_64-std-7.2")
    machine = read_machine(target_of(f"vm:x86_64-std-7.2,preempt={preempt}"))

    assert machine.preemption == preempt
    with pytest.raises(RtscopeError, match="offer preempt=voluntary at boot, only full, lazy"):
        vm_target("vm:x86_64-std-7.2,preempt=voluntary")


@pytest.mark.kernels
@pytest.mark.parametrize(
    ("plan", "count"),
    [("rt-against-std", 12), ("loop-100hz-kernel", 18), ("slac-daq", 28)],
    ids=["cyclic", "loop", "daq"],
)
def test_a_plan_that_compares_both_kernels_can_be_run_as_it_is(
    plan: str, count: int, built: Built
) -> None:
    built("x86_64-rt")
    built("x86_64-std")
    file = read_plan(Path(__file__).parents[2] / "rtscope" / "plans" / f"{plan}.toml")
    cells = cells_of(file)

    assert len(check_cells(file, cells)) == len(cells) == count


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("x86_64-rt", marks=pytest.mark.kernels),
        pytest.param("arm64-rt", marks=pytest.mark.kernels),
        pytest.param("malta-rt", marks=pytest.mark.long),
        pytest.param("malta-rt-7.2", marks=pytest.mark.long),
    ],
)
def test_a_machine_of_two_cpus_is_measured_on_both(name: str, built: Built) -> None:
    kernel = built(name)
    run = measured(f"vm:{name},cpus=2", 500)

    assert run.status == "complete"
    assert [(thread.cpu, thread.count) for thread in run.threads] == [(0, 500), (1, 500)]
    assert read_machine(target_of(f"vm:{name},cpus=2")).kernel_release == kernel.release


@pytest.mark.kernels
def test_the_corners_of_the_published_matrix_are_measured_on_a_loongson(built: Built) -> None:
    """Idle and under all loads at once, at the shortest and the longest interval."""
    built("loongson2e-rt")
    file = read_plan(Path(__file__).parents[2] / "rtscope" / "plans" / "loongson-table-2.toml")
    cells = [
        cell.request
        for cell in cells_of(file, 0.001)
        if cell.request.load in {"idle", "network:1+video:2+files:50"}
        and cell.request.interval_ns in {100_000, 10_000_000}
    ]
    target = target_of("vm:loongson2e-rt")
    runs = [
        measure(request, Machine(), lambda agent: None, lambda line: None, target)
        for request in cells
    ]

    assert len(runs) == 4
    assert [(run.status, run.threads[0].count) for run in runs] == [("complete", 100)] * 4


@pytest.mark.kernels
def test_preemption_cannot_be_chosen_where_the_kernel_leaves_no_choice(built: Built) -> None:
    built("x86_64-rt")
    with pytest.raises(RtscopeError, match="does not support preempt= at boot"):
        vm_target("vm:x86_64-rt,preempt=full")
    with pytest.raises(RtscopeError, match="no module 'none' below"):
        vm_target("vm:x86_64-rt,load=none")


def delayed_us(target: str, delay_us: int, *, preemption: bool) -> float:
    """The longest of the latencies with delays put into the kernel: more samples for short ones."""
    period_us, samples = max(2000, 20 * delay_us), 4000 if delay_us > 20 else 12_000
    module = f"rtdelay delay_us={delay_us} period_us={period_us} phase_us=1234"
    run = measured(f"{target},load={module} preemption={'NY'[preemption]}", samples)
    assert run.threads[0].max_ns is not None
    return run.threads[0].max_ns / 1000


@pytest.mark.parametrize("preemption", [False, True], ids=["interrupts", "preemption"])
@pytest.mark.parametrize(
    "delay_us",
    [
        pytest.param(delay_us, marks=pytest.mark.kernels if core else pytest.mark.long)
        for delay_us, core in [(20, 1), (50, 0), (100, 0), (200, 1), (500, 0), (1000, 1)]
    ],
)
@pytest.mark.parametrize("name", CORE)
def test_a_delay_put_into_the_kernel_is_found_to_2_us_or_2_percent(
    name: str, delay_us: int, preemption: bool, built: Built
) -> None:
    """A deadline just after the delay's beginning is late by the delay and the path after it.

    Where interrupts were off, that is the shortest path of an undisturbed run, for nothing has to
    leave idle. Where only preemption was, the interrupt came and woke the thread meanwhile, and
    what is left is a part of that path: the switch. How near a deadline comes to the beginning is
    a matter of how many delays the sweep meets: 2 us need more of them than 2 percent.
    """
    built(name)
    target = f"vm:{name}"
    path_us = undisturbed_ns(target) / 1000
    allowed_us = max(2, 0.02 * delay_us)

    found_us = delayed_us(target, delay_us, preemption=preemption)
    assert found_us <= delay_us + path_us + allowed_us
    assert found_us >= delay_us + (0 if preemption else path_us) - allowed_us


@pytest.mark.long
def test_a_kernel_built_anew_is_the_same_to_the_bit(built: Built) -> None:
    first = built("x86_64-rt")
    plan = plan_build("x86_64-rt", name="x86_64-rt-anew", configs=[], patches=[])
    second = build_kernel(plan, 2, lambda words, done, total: None, anew=True)

    assert second.sha256 == first.sha256
