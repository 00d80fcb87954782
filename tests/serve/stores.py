# SPDX-License-Identifier: GPL-2.0-only
"""A store with what the pages show: series with a change point, an explained run, hostile names."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from rtscope.model.machine import Cpu, Machine
from rtscope.model.run import Asked, LoadWork, Run, Sample, Thread
from rtscope.model.timeline import Call, Explanation, FunctionTime, LedgerTerm, Stretch
from rtscope.serve.index import Index
from rtscope.serve.indexer import update
from rtscope.store.sqlite import SqliteStore
from tests.measured import latencies, thread_of

ATTACK: Final = (
    "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
    "' onfocus=alert(1) autofocus \u202egnp.exe {{7*7}}"
)
NIGHTS: Final = 40
WORSE_FROM: Final = 24
"""the night with another kernel, since which latencies are larger"""
FIRST: Final = datetime(2026, 9, 1, 3, tzinfo=UTC)
EXPLAINED: Final = "e" * 16
HOSTILE: Final = "b" * 16
WIDE: Final = "c" * 16
MANY_CPUS: Final = 64


def nightly(machine: str, night: int, *, load: str = "mixed:2", slower: float = 1.4) -> Run:
    """The run of a night; from WORSE_FROM on its latencies are larger by a factor."""
    rng = np.random.default_rng([night, len(machine), len(load)])
    after = night >= WORSE_FROM
    threads = [
        thread_of((latencies(rng, "independent", 3000) * (slower if after else 1)).astype(int), cpu)
        for cpu in (0, 1)
    ]
    number = int.from_bytes(f"{machine[-2:]}{load[:2]}".encode()) * 1000 + night
    return Run(
        f"{number:016x}",
        (FIRST + timedelta(days=night)).isoformat(),
        "cyclic",
        "complete",
        load,
        Machine(
            hostname=machine,
            kernel_release="6.18.2-rt" if after else "6.12.43-rt",
            cpu_model="Cortex-A72",
            preemption="rt",
            cpus=[Cpu(0), Cpu(1)],
        ),
        threads,
        Asked(
            ["rtscope", "measure", "--load", load, "--budget", "p99<20us", "--duration", "6s"],
            1_000_000,
            budget=["p99<20us", "max<40us"],
        ),
        elapsed_ns=6_000_000_000,
        loads=[LoadWork(load.partition(":")[0], 2, 1, 6.0, {"operations": 12_000})],
        tags=["nightly"],
    )


def explained() -> Run:
    """A run whose worst sample has a ledger."""
    run = nightly("board1", 39, load="files:50")
    worst = run.threads[0].worst[0]
    ns = worst.latency_ns
    told = Explanation(
        0, worst.time_ns, ns, "ftrace",
        calls=[Call(0, ns // 2, 0, "hrtimer_interrupt")],
        functions=[FunctionTime("hrtimer_interrupt", ns)],
        tasks=[Stretch(0, ns, "kworker/0:1/57")],
        handlers=[Stretch(0, ns // 3, "eth0")],
        ledger=[
            LedgerTerm("thread", "kworker/0:1", ns - ns // 3),
            LedgerTerm("hard-interrupt", "eth0", ns // 3),
        ],
    )  # fmt: skip
    return msgspec.structs.replace(run, id=EXPLAINED, explanations=[told], tags=["release"])


def hostile() -> Run:
    """A run in which each name is an attack."""
    run = nightly("board1", 38)
    return msgspec.structs.replace(
        run,
        id=HOSTILE,
        probe="cyclic",
        load=ATTACK,
        target=ATTACK,
        machine=msgspec.structs.replace(
            run.machine, hostname=ATTACK, kernel_release=ATTACK, cpu_model=ATTACK,
            command_line=ATTACK, cpus=[Cpu(0, governor=ATTACK, driver=ATTACK)],
        ),
        threads=[
            msgspec.structs.replace(one, name=ATTACK, policy=ATTACK) for one in run.threads
        ],
        loads=[LoadWork(ATTACK, 1, 1, 1.0, {ATTACK: 4})],
        tags=[ATTACK],
        asked=Asked(["rtscope", ATTACK], 1_000_000, options={ATTACK: ATTACK}),
    )  # fmt: skip


def wide() -> Run:
    """A run of many CPUs, for the weight of its page."""
    run = nightly("board3", 0)
    rng = np.random.default_rng(64)
    threads: list[Thread] = []
    for cpu in range(MANY_CPUS):
        one = thread_of(latencies(rng, "outliers", 4000), cpu, windows=300)
        samples = [Sample(number * 1_000_000, one.max_ns or 0, cpu) for number in range(20)]
        threads.append(msgspec.structs.replace(one, worst=samples))
    return msgspec.structs.replace(run, id=WIDE, threads=threads)


def all_runs() -> list[Run]:
    """All runs of the store, in the order in which they are saved."""
    series = [("board1", "mixed:2", 1.4), ("board2", "mixed:2", 1.0), ("board2", "idle", 0.8)]
    nights = [
        nightly(machine, night, load=load, slower=slower)
        for machine, load, slower in series
        for night in range(NIGHTS)
    ]
    return [*nights, explained(), hostile(), wide()]


def fill(store: Path, index: Path) -> None:
    """Save all runs and index them."""
    target = SqliteStore(store)
    for run in all_runs():
        target.save(run)
    update(SqliteStore(store, read_only=True), Index(index))
