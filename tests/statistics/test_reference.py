# SPDX-License-Identifier: GPL-2.0-only
"""Runs fill the published row that stands for them, and no maximum decides anything."""

import msgspec
import numpy as np
import pytest

from rtscope.model.errors import RtscopeError
from rtscope.model.machine import Cpu, Machine
from rtscope.model.reference import Reference, Table
from rtscope.model.run import Asked, Run
from rtscope.references.library import reference_named
from rtscope.statistics.reference import (
    Beside,
    SamplesOfMaxima,
    beside,
    load_stands_for,
    tables_beside,
)
from tests.measured import latencies, run_of, thread_of

LOONGSON = reference_named("loongson-2f")
CELLEB = reference_named("celleb")
T2080 = reference_named("t2080")
LOOP = reference_named("driver-loop")
STRESS = "cpu:1+network:1+timers:1"


def a_run(load: str = "idle", mean_us: float = 3, number: int = 1, **fields: object) -> Run:
    values = latencies(np.random.default_rng(number), "independent") * (mean_us / 3.1)
    thread = thread_of(values.astype(np.int64), 0)
    return run_of(thread, load=load, id=f"{number:016x}", **fields)


def named(run: Run, *names: str, **fields: object) -> Run:
    """The run with one thread like its first for each name."""
    threads = [
        msgspec.structs.replace(run.threads[0], thread=index, name=name, **fields)
        for index, name in enumerate(names)
    ]
    return msgspec.structs.replace(run, threads=threads)


def table(reference: Reference, name: str) -> Table:
    return next(one for one in reference.tables if one.name == name)


def filling(reference: Reference, name: str, *runs: Run) -> Beside:
    return beside(reference, table(reference, name), runs)


def loongson(*runs: Run) -> Beside:
    return filling(LOONGSON, "table-2", *runs)


def rows(found: Beside) -> list[tuple[str | None, str]]:
    return [(one.entry, one.name) for one in found.filled]


@pytest.mark.parametrize(
    ("load", "wanted", "stands"),
    [
        ("idle", "idle", True),
        ("network:1+files:50", "files+network", True),
        ("network:1+files:50", "files", False),
        ("files", "files+network", False),
        ("video:2", "video:2", True),
        ("video:1", "video:2", False),
        ("video", "video:2", False),
        ("cmd:make -j4 + more", "cmd", True),
        ("files:1+cmd:make -j4 + more", "cmd+files", True),
        ("stress-ng:--cpu 2", "idle", False),
    ],
)
def test_loads_stand_for_each_other_in_any_order(load: str, wanted: str, stands: bool) -> None:
    assert load_stands_for(load, wanted) is stands


def test_runs_fill_the_rows_of_their_loads_and_others_get_their_own() -> None:
    empty = run_of(thread_of([]))
    ours = loongson(a_run("files:50"), a_run(), a_run("cpu:3"), empty)
    assert rows(ours) == [("idle", "idle"), ("find", "find"), (None, "cpu:3")]
    assert ours.missing[:2] == ["ping", "x"]
    assert ours.filled[0].samples == 30_000
    assert loongson(empty).filled == []


def test_runs_of_one_row_are_put_together() -> None:
    runs = [a_run("idle", number=n) for n in range(1, 4)]
    ours = loongson(*runs)
    assert ours.maxima == SamplesOfMaxima((700_000, 700_000), (90_000, 90_000))
    (one,) = ours.filled
    assert (one.runs, one.samples) == ([run.id for run in runs], 90_000)
    assert one.cells[0].value == max(run.threads[0].max_ns or 0 for run in runs)
    together = np.mean([run.threads[0].mean_ns or 0 for run in runs])
    assert one.cells[1].value == pytest.approx(together)
    low, high = one.cells[1].interval.low_ns or 0, one.cells[1].interval.high_ns or 0
    assert 0.95 * together < low < together < high < low + 0.05 * together


def test_systems_do_not_mix() -> None:
    other = Machine(hostname="other", kernel_release="6.12.1")
    ours = loongson(a_run(), a_run(number=2, machine=other))
    assert len(ours.columns) == 2
    assert [(one.entry, one.column) for one in ours.filled] == [("idle", 0), ("idle", 1)]
    assert [one.below + one.within + one.above for one in ours.means] == [["idle (A)", "idle (B)"]]


@pytest.mark.parametrize(("mean_us", "where"), [(3.0, "above"), (6.986, "within"), (12.0, "below")])
def test_a_published_mean_is_placed(mean_us: float, where: str) -> None:
    run = a_run("idle", mean_us)
    thread = msgspec.structs.replace(run.threads[0], mean_ns=mean_us * 1000)
    [means] = loongson(msgspec.structs.replace(run, threads=[thread])).means
    places = {"below": means.below, "within": means.within, "above": means.above}
    assert {name: entries for name, entries in places.items() if entries} == {where: ["idle"]}


def test_where_metrics_are_rows_each_load_and_thread_is_a_column() -> None:
    run = named(a_run(probe="gtod"), "gettimeofday", "CLOCK_TAI")
    ours = filling(CELLEB, "gtod", run, msgspec.structs.replace(run, load="process"))
    assert [one.name for one in ours.filled] == ["idle, gettimeofday", "process, gettimeofday"]
    histogram = run.threads[0].histogram
    values = np.repeat(np.array(histogram.lower_ns), histogram.count)
    counts = [cell.value for cell in ours.filled[0].cells]
    assert counts == np.bincount(values // 1000, minlength=19)[:19].tolist()


def test_metrics_of_the_probe_fill_rows() -> None:
    metrics = {"start_ns": 20_000.0, "failed": 2.0, "pass": 1}
    run = named(a_run(probe="sched"), "", "", metrics=metrics)
    names = [figure.name for figure in table(CELLEB, "sched-x86").metrics]
    cells = filling(CELLEB, "sched-x86", run).filled[0].cells
    values = {name: cell.value for name, cell in zip(names, cells, strict=True)}
    assert (values["Failed Iterations"], values["Start Latency"]) == (4, 20_000)
    assert (values["Max Latency verdict"], values["Avg Latency verdict"]) == (1, None)


def isolating(*isolated: int) -> Machine:
    return Machine("board", cpus=[Cpu(number, isolated=number in isolated) for number in range(10)])


def test_cpus_fill_rows_of_cpus() -> None:
    threads = [thread_of([1000 * (cpu + 1)] * 50, cpu) for cpu in (0, 5, 9)]
    run = run_of(*threads, load=STRESS, machine=isolating(*range(1, 10)))
    ours = filling(T2080, "isolated", run)
    assert rows(ours) == [("core 0", "core 0"), ("core 5", "core 5"), (None, f"{STRESS}, CPU 9")]
    assert ours.filled[1].cells[2].value == 6000
    idle = msgspec.structs.replace(run, load="idle")
    assert [entry for entry, _ in rows(filling(T2080, "isolated", idle))] == [None] * 3


@pytest.mark.parametrize("isolated", [(), (5,), tuple(range(10))])
def test_cores_that_are_not_isolated_fill_no_row(isolated: tuple[int, ...]) -> None:
    run = a_run(STRESS, machine=isolating(*isolated))
    assert filling(T2080, "isolated", run).filled == []
    assert [one.name for one in tables_beside(T2080, [run])] == ["steps"]


def test_a_metric_after_some_time_is_of_runs_as_long() -> None:
    runs = [
        named(a_run(number=number, probe="loop", elapsed_ns=seconds * 10**9), "absolute")
        for number, seconds in enumerate((30, 1800, 36), 1)
    ]
    for wanted, run in (("narrow", runs[0]), ("narrow-30-min", runs[1])):
        assert [one.runs for one in filling(LOOP, wanted, *runs).filled] == [[run.id]]
    assert [one.name for one in tables_beside(LOOP, runs[1:])] == ["narrow-30-min"]
    with pytest.raises(RtscopeError, match="narrow for runs of 30s, narrow-30-min for runs of 18"):
        tables_beside(LOOP, runs[2:])


def test_a_loop_in_the_kernel_fills_the_row_of_one_in_a_program() -> None:
    def asked(number: int, where: str, name: str) -> Run:
        asked = Asked(interval_ns=10**7, duration_ns=30 * 10**9, options={"in": where})
        elapsed = {"elapsed_ns": 30 * 10**9}
        return named(a_run("mixed", number=number, probe="loop", asked=asked, **elapsed), name)

    program, kernel = asked(1, "program", "compensated"), asked(2, "kernel", "kernel-relative")
    filled = filling(LOOP, "narrow", program, kernel, asked(3, "program", "relative")).filled
    assert [(one.runs, (one.entry or "none")[:9]) for one in filled] == [
        ([program.id], "attempt 2"),
        ([kernel.id], "attempt 2"),
    ]
    timer = filling(LOOP, "first", asked(4, "kernel", "kernel-timer"))
    assert [one.entry for one in timer.filled] == ["attempt 1, a timer"]


def test_only_runs_that_the_table_puts_together_are_put_together() -> None:
    def asked(number: int, interval_ns: int, **options: int) -> Run:
        return a_run(number=number, asked=Asked(interval_ns=interval_ns, options={**options}))

    runs = [asked(1, 1000), asked(2, 2000)]
    assert len(loongson(*runs).filled) == 1
    steps = filling(T2080, "steps", *runs)
    assert [column.interval_ns for column in steps.columns] == [1000, 2000]
    assert [one.column for one in steps.filled] == [0, 1]
    phases = loongson(asked(1, 1000, distance_ns=0), asked(2, 1000, distance_ns=5))
    assert len(phases.filled) == 2
    assert phases.columns[1].options == (("distance_ns", "5"),)


def test_a_step_of_a_plan_fills_its_row_and_counts_cores_above_a_limit() -> None:
    worst = enumerate((24_999, 25_000, 90_000))
    threads = [thread_of([1000, ns], cpu) for cpu, ns in worst]
    ours = filling(
        T2080,
        "steps",
        run_of(*threads, load=STRESS, cell=f"as booted: cyclic, load {STRESS}"),
        a_run(STRESS, number=2, cell="as bootedly: x"),
        a_run("idle", number=3, cell="as booted: cyclic, load idle"),
    )
    assert [one.entry for one in ours.filled] == ["as booted", None, None]
    assert ours.filled[0].cells[0].value == 2
    assert not filling(T2080, "steps", a_run()).matches_rows


def test_runs_that_were_not_measured_alike_are_refused_in_a_sentence() -> None:
    with pytest.raises(RtscopeError, match=r"fits runs of noise: .* probes cyclic"):
        tables_beside(LOONGSON, [a_run(probe="noise")])
    with pytest.raises(RtscopeError, match="no table of celleb"):
        tables_beside(CELLEB, [named(a_run(probe="gtod"), "CLOCK_TAI")])
