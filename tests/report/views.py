# SPDX-License-Identifier: GPL-2.0-only
"""One example of each thing that is shown on a terminal, with any name in it."""

from collections.abc import Callable
from functools import cache
from typing import Final, get_args

import msgspec
from msgspec.structs import replace
from rich.console import RenderableType

from rtscope.model.audit import Audit, Finding, Severity, Unseen
from rtscope.model.budget import parse_limit
from rtscope.model.machine import Cpu, IdleState, Interrupt, Machine
from rtscope.model.points import Point, Points
from rtscope.model.progress import LoadProgress, Progress, ThreadProgress, WindowProgress
from rtscope.model.run import Asked, Lab, LoadWork, Phase, Run, RunWarning, Sample, Thread, Waiter
from rtscope.model.threads import SeenThread, Threads, ThreadTimes
from rtscope.model.timeline import (
    Call,
    Explanation,
    FunctionTime,
    LedgerTerm,
    Stretch,
    TermKind,
)
from rtscope.model.tuning import Change, Tuning
from rtscope.references.library import reference_named
from rtscope.report.terminal.audit import AuditView
from rtscope.report.terminal.comparison import comparison_table
from rtscope.report.terminal.experiment import CellTable, ExperimentState, ExperimentView
from rtscope.report.terminal.gate import CalibrationView, GateView
from rtscope.report.terminal.history import HistoryView
from rtscope.report.terminal.live import LiveState, live_view
from rtscope.report.terminal.paths import PathsView
from rtscope.report.terminal.points import points_view
from rtscope.report.terminal.references import beside_page, reference_page
from rtscope.report.terminal.run import summary
from rtscope.report.terminal.tail import TailView
from rtscope.report.terminal.threads import threads_view
from rtscope.report.terminal.tuning import ChangesView, StepsView
from rtscope.statistics.cells import CellResult
from rtscope.statistics.comparison import compare
from rtscope.statistics.gate.calibration import calibrated
from rtscope.statistics.gate.gate import gate
from rtscope.statistics.gate.verdict import Gate
from rtscope.statistics.history import series_of
from rtscope.statistics.paths import PathComparison, compared_paths
from rtscope.statistics.reference import beside
from rtscope.statistics.steps import steps_among
from rtscope.statistics.tail.bounds import ThreadTail, tails
from rtscope.statistics.verdict import judge
from rtscope.wording.history import differing_rows
from tests.measured import run_of, thread_of
from tests.placements import T2080, measured_on, run_of_series, vector_unit_a_core
from tests.statistics.tail.synthetic import KNOWN
from tests.statistics.tail.synthetic import run_with as tail_run
from tests.statistics.test_gate import side
from tests.statistics.test_sharing import machine_of, run_with

LIMITS: Final = [parse_limit(text) for text in ("max<10us", "mean<5us", "p99.99<1ms")]
CALLS: Final = [
    Call(0, 100, 0, "(the CPU slept)"),
    Call(100, 9_000, 0, "timer_interrupt"),
    Call(150, 8_900, 1, "run_timers"),
    Call(200, 7_000, 2, "slow_driver [driver]"),
    Call(7_500, 20, 2, "tiny"),
    Call(9_100, 900, 0, "schedule"),
]
INTERRUPT: Final = SeenThread(
    1023, 1023, "irq/19-mrfevr", True, -51, "S", 13_250_000_000, policy="fifo", priority=50,
    cpus="0-3", cpu=1, wait_channel="irq_thread", irq=19, voluntary=120_400, forced=3,
)  # fmt: skip


def named(name: str, cpu: int | None = 0, **metrics: float) -> Thread:
    plain = thread_of([1000] * 50, cpu)
    return replace(plain, name=name, metrics=metrics, worst=[])


def a_run(name: str = "board") -> Run:
    return run_of(
        replace(thread_of([1000] * 12_000 + [40_000], 0), missed=2),
        thread_of([2000] * 12_000, 1),
        machine=Machine(hostname=name, kernel_release="6.12.1-rt", preemption="rt"),
        loads=[LoadWork(name, 4, 1, 2.0, {"stats": 3000})],
        warnings=[RunWarning("no-memlock", f"memory of {name} is not locked")],
        phases=[Phase("load alone", -3 * 10**9, 0), Phase("measuring", 0, 2 * 10**9)],
        status="interrupted",
    )


def explanation(name: str = "a trace source") -> Explanation:
    return Explanation(
        0, 5_000_000, 10_000, name, CALLS[1:4], CALLS,
        [FunctionTime("slow_driver [driver]", 7_000), FunctionTime("timer_interrupt", 3_000)],
        [Stretch(0, 9_500, "swapper/0"), Stretch(9_500, 500, "cyclic/0/118")],
        interrupts_off=[Stretch(100, 5_000)], preemption_off=[Stretch(100, 9_000)], notes=[name],
    )  # fmt: skip


def explained(name: str) -> RenderableType:
    return summary(run_of(thread_of([1000, 10_000]), explanations=[explanation(name)]))


def traced(name: str) -> RenderableType:
    """Samples explained by the kernel's trace, with every kind of term."""
    kinds = get_args(TermKind)
    ledger = [LedgerTerm(kind, f"{name}/{n}", 1000 * (20 - n)) for n, kind in enumerate(kinds)]
    latency_ns = sum(term.ns for term in ledger)
    one = Explanation(
        0, 7_000_000, latency_ns, "the kernel's trace events",
        tasks=[Stretch(0, latency_ns, name)], handlers=[Stretch(5, 20, name)], notes=[name],
        ledger=ledger,
    )  # fmt: skip
    two = replace(one, time_ns=9_000_000, latency_ns=20_000, ledger=ledger[:1])
    return summary(run_of(thread_of([1000, latency_ns]), explanations=[one, two]))


def signal_run(waiters: int, name: str = "main") -> Run:
    """Events that the main thread took half of, and `waiters` others the rest."""
    others = [Waiter(f"signal/{number}", 100 + number, 10, 1, 1) for number in range(waiters)]
    series = replace(
        thread_of([1000] * (2 * waiters), None),
        name="asynchronous",
        waiters=[Waiter(name, 99, 0, None, waiters), *others],
        worst=[Sample(5, 1000, 3)],
    )
    return run_of(series, probe="signal")


def clocks(name: str) -> RenderableType:
    threads = [
        replace(thread_of([20] * 99 + [1500]), name=name, metrics={"cost_ns": 20.5}),
        replace(thread_of([1000] * 100), thread=1, name="gettimeofday"),
    ]
    return summary(run_of(*threads, probe="gtod"))


def metrics(name: str) -> RenderableType:
    many = {f"taken_by_priority_{number}": 1e6 for number in range(16)}
    return summary(run_of(*(named(f"{name} {number}", number, **many) for number in range(9))))


def comparison(name: str) -> RenderableType:
    other = run_of(thread_of([2000] * 5000), load=name)
    return comparison_table(compare(run_of(thread_of([1000] * 5000)), other))


def threads(name: str) -> RenderableType:
    seen = [
        SeenThread(
            1020, 1024, name, False, -95, "S", 39_000_000, policy="fifo", priority=94, cpus="1",
            cpu=1, wait_channel="mrfevr_wait.constprop.0", voluntary=99, forced=0,
            since=ThreadTimes(2_000_000, 17, 4),
        ),
        INTERRUPT,
        SeenThread(
            7, 7, "edf", False, -101, "R", 1, policy="deadline", runtime_ns=1_000_000,
            deadline_ns=5_000_000, period_ns=10_000_000, cpus="0-3", cpu=0,
        ),
        SeenThread(8, 8, "lent", False, -95, "S", 5, policy="other", inherited=True, cpus="0-3"),
        SeenThread(80, 80, "bash", False, 15, "S", 5, policy="other", nice=-5, cpus="0-3", cpu=0),
        SeenThread(
            16, 16, "ktimers/0", True, 20, "S", 5, policy="other", nice=0, cpus="0", cpu=0,
            softirq="timers",
        ),
        SeenThread(1, 1, "unknown", False, -2, "S", 0),
    ]  # fmt: skip
    warnings = [RunWarning("threads-denied", "3 processes may not be seen")]
    all_of = Threads(0, seen, isolated="2-3", nohz_full="3", partition="1")
    return threads_view(all_of, warnings, every=True)


def points(name: str) -> RenderableType:
    tree = [
        Point(
            "MAINLOOP", True, 1200, "one pulse", None, 2_700_000, 3,
            1_970_364, 1_715_284, 1_970_364.5, 2_400_000, 2_765_317,
        ),
        Point("B", False, 0),
        Point(name, True, 1200, "demodulate", 0, None, None, 1, 2, 3.0, 4, 5),
        Point("ADC", True, 0, parent=2),
        Point("no parent", True, 0, parent=77),
        Point("itself", True, 0, parent=5),
    ]  # fmt: skip
    ended = [RunWarning("process-ended", "the program has ended")]
    return points_view(Points(0, "process 7 (llrf)", tree, paused=True), ended)


def progress(threads: int, name: str = "files") -> Progress:
    window = WindowProgress(9, 1.0, 5000)
    seen = [
        ThreadProgress(n, 15_000, n % 3, 2000, 4000.0, 9000, 20_000 + n * 100, window)
        for n in range(threads)
    ]
    return Progress(3 * 10**9, seen, [LoadProgress(name, {"bytes_written": 9_000_000})])


def live_state(threads: int, name: str = "cyclic under files:50 on local") -> LiveState:
    return LiveState(
        name,
        {number: number for number in range(threads)},
        duration_ns=30 * 10**9,
        progress=progress(threads, name),
        outlook=[f"p99.99<50us of {name}: at the rate so far it takes 3.2 h more"],
        warnings=[RunWarning("no-memlock", "memory is not locked")],
    )


def result(name: str, *limits: str, **fields: object) -> CellResult:
    run = run_of(thread_of([1000] * 30 + [9000]), **fields)
    return CellResult(name, run, judge(run, [parse_limit(limit) for limit in limits]))


def results(name: str = "left") -> list[CellResult]:
    inherit, none = (
        replace(thread_of([ns]), thread=ns, name=series)
        for ns, series in ((2000, "inherit"), (12_000, "none"))
    )
    return [
        result("measured"),
        result("kept", "max<10us", "missed<1"),
        result("broken", "max<1us", "p99<1s"),
        result("unproven", "p99.9<1s"),
        result("cut", "max<10us", status="interrupted"),
        CellResult("failed", failure="no <socket> \x1b[31m"),
        CellResult("pi, load idle", run_of(inherit, none)),
        CellResult(name),
    ]


def experiment(name: str) -> RenderableType:
    live = LiveState(name)
    live.progress = Progress(20 * 10**9, [ThreadProgress(0, 5, max_ns=7000)])
    return ExperimentView(ExperimentState("Board", 10, 3, [60 * 10**9, None], live, 30 * 10**9))


def audit(name: str = "shaker") -> Audit:
    def finding(rule: str, severity: Severity) -> Finding:
        link = f"https://docs.kernel.org/{rule}.html"
        return Finding(rule, severity, f"{rule} {name} is", "should", f"{rule} why.", "how", link)

    profile = 'file = [{ path = "/proc/sys/a", value = "0" }]'
    bad = replace(finding("bad", "fatal"), profile=profile)
    return Audit(
        target="local",
        machine=f"{name} · 6.12",
        findings=[bad, finding("so-so", "medium"), finding("small", "info")],
        unseen=[
            Unseen("blind", "high", "no /a/file"),
            Unseen("other", "info", "no /b/file"),
            Unseen("blinder", "info", "no /a/file"),
        ],
        sound=["good", "better"],
        warnings=["the agent could not tell all"],
    )


def change(what: str, state: str = "applied", why: str = "") -> Change:
    known = {"kind": "interrupt", "where": "/proc/irq/24", "old": "0-3", "new": "0"}
    return msgspec.convert(
        {"profile": "ours", "what": what, "state": state, "why": why, **known}, Change
    )


def changes(name: str) -> RenderableType:
    unmatched = [RunWarning("rule-unmatched", f"rule {number}") for number in range(3)]
    made = [change("irq 24", "planned"), change(name, "not-held", "irqbalance set it back")]
    return ChangesView(name, made, [*unmatched, RunWarning("denied", "not root")])


def tuned(step: int, number: int, **more: object) -> Run:
    factor = 0.5 if step else 1.0
    values = [int((3000 + 7 * (index % 100) + number) * factor) for index in range(2000)]
    tuning = replace(
        Tuning("ours", step, "moved" if step else "as booted", "1", number, held=2 * step), **more
    )
    slower = thread_of([2 * value for value in values], 0) if step else thread_of(values, 0)
    return run_of(
        slower, thread_of(values, 1), id=f"{step:08x}{number:08x}", tuning=tuning, elapsed_ns=10**9
    )


def steps(name: str) -> RenderableType:
    exceptions = [change(name, "not-held", "a daemon"), change("irq 8", "not-held")]
    left = ["boot add=nohz_full=1"]
    runs = [tuned(0, number) for number in (1, 2, 3)]
    runs += [tuned(1, n, left_out=left, exceptions=exceptions) for n in (1, 2, 3)]
    (all_of,) = steps_among(runs)
    return StepsView(all_of)


def published(name: str) -> RenderableType:
    reference = reference_named("loongson-2f")
    machine = Machine(hostname=name, cpu_model=name, kernel_release=name)
    run = run_of(thread_of([5000] * 500 + [33_000], windows=20), machine=machine, cell=name)
    other = run_of(thread_of([9000] * 500), load=name, id="f" * 16)
    runs = [run, replace(other, warnings=[RunWarning("x", "mind this")])]
    table = reference.tables[0]
    return beside_page(reference, [(table, beside(reference, table, runs))], runs)


def scaled(name: str) -> RenderableType:
    run = run_of_series(measured_on(T2080, vector_unit_a_core), warnings=[RunWarning("w", name)])
    return summary(replace(run, asked=Asked(command=["rtscope", name])))


def page_runs() -> list[Run]:
    """A run of a board with all that can be told of one, and one of the lab."""
    board = Machine(
        hostname="board",
        kernel_release="6.12.1-rt",
        preemption="rt",
        preemption_evidence="uname -v says PREEMPT_RT",
        command_line="isolcpus=1",
        clock_source="tsc",
        cpus=[Cpu(0, smt_siblings=[0, 1], governor="performance"), Cpu(1, isolated=True)],
        idle_states=[IdleState("C6", 133, disabled=True)],
        interrupts=[Interrupt(24, "eth0", "0-1")],
        rt_runtime_us=-1,
        high_resolution_timers=False,
    )
    lab = Lab(
        mode="exact",
        mips=1000,
        cpus=1,
        seed=7,
        qemu="7.2.22",
        command=["qemu-system-x86_64", "-append", "quiet panic=-1"],
        kernel="mine-rt",
        kernel_source="debian:linux-source-6.12",
        kernel_sha256="a1" * 32,
        config_sha256="b2" * 32,
        initramfs_sha256="c3" * 32,
        patches=["lab-x86_64: 1 patches, sha256 d4"],
        restored=True,
        console="the guest's last words <b>",
    )
    asked = Asked(["rtscope", "measure", "--load", "cmd:make -j4"], 200_000)
    return [
        replace(a_run(), machine=board, asked=asked),
        replace(
            a_run(), machine=Machine("(none)"), lab=lab, target="vm:mine-rt", status="complete"
        ),
    ]


View = Callable[[str], RenderableType]


@cache
def tail_of_run() -> tuple[Run, list[ThreadTail]]:
    """A thread with bounds, one whose shape has no end, and one without: seconds of computing."""
    found = [tail_run(known, 1).threads[0] for known in KNOWN[0:4:3]]
    bare = replace(found[0], exceedances=None, cpu=None, thread=2)
    run = replace(tail_run(KNOWN[0], 1), threads=[found[0], replace(found[1], thread=1), bare])
    return run, tails(run)


def tail_runs(name: str) -> tuple[Run, list[ThreadTail]]:
    """The same with this name for the first thread."""
    run, (first, *others) = tail_of_run()
    threads = [replace(run.threads[0], name=name), *run.threads[1:]]
    return replace(run, threads=threads), [replace(first, name=name), *others]


def history(name: str) -> RenderableType:
    """A machine of this name whose tail became longer with another kernel."""
    runs = [
        replace(run, created=f"2026-10-{number + 1:02}T10:00:00Z")
        for number, run in enumerate(side([30] * 6 + [33, 31] + [44, 45, 43, 46, 44, 47, 45]))
    ]
    newer = replace(runs[0].machine, kernel_release="7.2")
    runs[8:] = [replace(run, machine=newer) for run in runs[8:]]
    reported = series_of([(run, name) for run in runs], ["p99", "p99.99", "max"])
    differing = {(runs[7].id, runs[8].id): differing_rows(runs[7], runs[8])}
    return HistoryView(reported, differing)


def gated(name: str) -> Gate:
    """A candidate whose tail is slower, and whose machine has this name."""
    machine = replace(side([30])[0].machine, kernel_release=name)
    tails = [30 + 0.1 * at for at in range(8)]
    slower = [replace(run, machine=machine) for run in side([1.4 * one for one in tails], 100)]
    return gate(side(tails), slower, 0.05)


def path_of(name: str, kernel: str, functions: dict[str, int]) -> Run:
    """An exact run whose worst sample executed these functions."""
    lab = Lab("exact", 500, 1, 1, "7.2", [], kernel, "s", "h", None, "i")
    worst = Explanation(
        0, 7_000_000, sum(functions.values()), "the emulator's plugin", cause=CALLS[1:4],
        functions=[FunctionTime(function, ns) for function, ns in functions.items()],
    )  # fmt: skip
    return replace(a_run(name), lab=lab, explanations=[worst])


def compared(name: str) -> PathComparison:
    """A path with a function that entered, one that left, and some that differ."""
    common = {f"f{number}": 100 + number for number in range(24)}
    longer = {function: ns + 2 for function, ns in common.items()}
    a = path_of(name, name, common | {"schedule": 300, "same": 10})
    return compared_paths(a, path_of(name, "new", longer | {f"{name} slow": 9000, "same": 10}))


VIEWS: Final[dict[str, View]] = {
    "gate": lambda name: GateView(gated(name)),
    "history": history,
    "paths": lambda name: PathsView(compared(name)),
    "tail": lambda name: TailView(*tail_runs(name), details=True),
    "calibration": lambda name: CalibrationView(
        calibrated(side([30 + 0.1 * at for at in range(8)]), 0.05, 0.1)
    ),
    "run": lambda name: summary(a_run(name), judge(a_run(name), LIMITS), phases=True),
    "explained": explained,
    "traced": traced,
    "waiters": lambda name: summary(signal_run(30, name)),
    "clocks": clocks,
    "metrics": metrics,
    "matrices": lambda name: summary(
        replace(run_with(machine_of(2), vector={(0, 1): 1.9}), warnings=[RunWarning("w", name)])
    ),
    "scale": scaled,
    "tuned": lambda name: summary(
        tuned(1, 2, profile=name, exceptions=[change(name, "immovable", "per CPU")])
    ),
    "comparison": comparison,
    "threads": threads,
    "points": points,
    "live": lambda name: live_view(live_state(64, name)),
    "cells": lambda name: CellTable(results(name)),
    "experiment": experiment,
    "audit": lambda name: AuditView(audit(name), True),
    "findings": lambda name: AuditView(audit(name), False),
    "changes": changes,
    "steps": steps,
    "reference": lambda name: reference_page(reference_named("slac-microtca")),
    "published": published,
}
