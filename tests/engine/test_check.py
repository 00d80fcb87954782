# SPDX-License-Identifier: GPL-2.0-only
"""What only the agent knows is asked of it before anything starts."""

from pathlib import Path

import pytest

from rtscope.engine.cells import cells_of
from rtscope.engine.check import cell_ns, check_cells
from rtscope.engine.planfile import parse_plan
from rtscope.model.errors import RtscopeError
from rtscope.target.protocol import Start

PLAN = """title = "x"
{}
[[measure]]
probes = ["cyclic"]
intervals = ["1ms"]
samples = 500
{}
"""


@pytest.fixture(autouse=True)
def agent(agent_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RTSCOPE_AGENT", str(agent_path))


def checked(measure: str = "", plan: str = "") -> dict[str, Start]:
    file = parse_plan(PLAN.format(plan, measure), Path("plan.toml"))
    return check_cells(file, cells_of(file))


@pytest.mark.parametrize(
    ("measure", "line", "said"),
    [
        ('loads = ["idle", "nonsense"]', 7, "loads: --load: 'nonsense' is not a load: choose from"),
        ('policies = ["rr"]', 7, "policies: --policy 'rr' is not fifo, deadline or other"),
        ('cpus = "1023"', 7, "cpus: --cpus: CPU 1023 cannot be measured"),
        ('\n[measure.options]\nmethod = "magic"', 9, "options: method: --method 'magic' is not"),
        ('options = { phase = "fixed", magic = 3 }', 7, "options: magic: cyclic has no option"),
        ('options = { load = "cpu" }', 7, "options: load: --load is an option of every"),
        ('[[budget]]\nlimits = ["max<1s", "foo<1"]', 8, "limits: 'foo<1' can never pass"),
        ('[[budget]]\nlimits = ["max[x]<1s"]', 8, "limits: 'max[x]<1s' can never pass"),
        ('\nwatchdog = "1us"', 8, "watchdog: --watchdog '1000ns' is not a time of at least 100ms"),
        ('[[measure]]\nprobes = ["magic"]\nsamples = 1', 8, "probes: no probe is called 'magic'"),
        ('[[measure]]\nprobes = ["exec"]\nsamples = 1', 8, "probes: the probe exec times a"),
        ('[[measure]]\nprobes = ["cyclic"]\nsamples = 1\nintervals = ["1us"]', 10, "intervals: "),
    ],
)  # fmt: skip
def test_what_the_agent_refuses_is_reported_with_the_plans_line(
    measure: str, line: int, said: str
) -> None:
    with pytest.raises(RtscopeError) as caught:
        checked(measure)
    assert str(caught.value).startswith(f"plan.toml:{line}: {said}")


@pytest.mark.parametrize(
    ("probe", "limit", "said"),
    [
        ("pi", "p99.response<1ms", "response times need periodic deadlines, which pi does not"),
        ("sched", "faild<1", "sched has no metric 'faild', only start_ns, failed,"),
        ("noise", "gap<1", "noise has no metric 'gap', only noise_percent, gaps,"),
        ("pi", "inversions[inherits]<1", "no thread of pi is called 'inherits', only inherit"),
        ("gtod", "cost_ns[CLOCK_MONOTONIC]<1us", ""),
        ("migrate", "violations[rank 1]<1", ""),
        (
            "signal",
            "taken_by_priority_94[synchronous]<1",
            "signal has no metric 'taken_by_priority_94', only jitter_ns,",
        ),
    ],
)  # fmt: skip
def test_a_limit_that_can_never_be_kept_is_refused_whatever_the_probe(
    probe: str, limit: str, said: str
) -> None:
    more = f'[[measure]]\nprobes = ["{probe}"]\nsamples = 5'
    budget = f'[[budget]]\nprobes = ["{probe}"]\nlimits = ["{limit}"]'
    if not said:
        assert checked(f"{more}\n{budget}")
        return
    with pytest.raises(RtscopeError) as caught:
        checked(f"{more}\n{budget}")
    assert str(caught.value).startswith("plan.toml:12: limits: ")
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('targets = ["local", "vm:none-such"]', "targets: there is no kernel 'none-such'"),
        ('targets = ["local", "ssh:-x"]', "targets: 'ssh:-x' names no board"),
        ('reference = "x"', "reference: there is no reference 'x'"),
    ],
)
def test_a_target_or_a_reference_that_is_none_is_reported_with_the_plans_line(
    line: str, said: str
) -> None:
    with pytest.raises(RtscopeError, match=rf"plan\.toml:2: {said}"):
        checked(plan=line)
    assert checked(plan='reference = "loongson-2f"')


def test_the_time_of_a_cell_is_that_of_its_samples_or_its_duration() -> None:
    starts = checked(
        """
        loads = ["idle", "cpu:1"]
        [[measure]]
        name = "short"
        probes = ["cyclic"]
        duration = "2s"
        samples = 1_000_000
        [[measure]]
        probes = ["gtod"]
        samples = 10"""
    )
    times = {name: cell_ns(start) for name, start in starts.items()}
    assert times["gtod, load idle"] is None
    assert 0.5e9 <= (times["cyclic, load idle, every 1ms"] or 0) < 1e9
    assert (times["cyclic, load cpu:1, every 1ms"] or 0) > (
        times["cyclic, load idle, every 1ms"] or 0
    )
    assert 2e9 <= (times["short: cyclic, load idle"] or 0) < 3e9
