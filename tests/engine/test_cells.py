# SPDX-License-Identifier: GPL-2.0-only
"""A plan's cells: every combination once, in an order that its seed decides."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtscope.engine.cells import Cell, cells_of, plan_hash, unmeasured_steps
from rtscope.engine.planfile import parse_plan
from rtscope.model.errors import RtscopeError


def cells(text: str, scale: float = 1.0) -> list[Cell]:
    return cells_of(parse_plan(f'title = "x"\n{text}', Path("plan.toml")), scale)


MATRIX = """
[[measure]]
probes = ["cyclic", "sched"]
loads = ["idle", "files:2"]
intervals = ["200us", "1ms"]
samples = 1000
"""


def names(text: str) -> list[str]:
    return [cell.name for cell in cells(text)]


@given(st.integers(0, 2**32 - 1))
def test_every_combination_is_a_cell_in_an_order_that_the_seed_decides(seed: int) -> None:
    product = [
        f"{probe}, load {load}, every {interval}"
        for probe in ("cyclic", "sched")
        for load in ("idle", "files:2")
        for interval in ("200us", "1ms")
    ]
    assert names('order = "as written"' + MATRIX) == product
    shuffled = names(f"seed = {seed}{MATRIX}")
    assert names(f"seed = {seed}{MATRIX}") == shuffled
    assert sorted(shuffled) == sorted(product)


def test_lists_of_options_and_policies_are_dimensions_too() -> None:
    text = """
        [[measure]]
        name = "fast"
        probes = ["cyclic"]
        policies = ["fifo", "other"]
        duration = "1s"
        options = { method = ["nanosleep", "timerfd"], phase = "fixed", distance = 3 }"""
    made = cells(text)
    assert sorted(cell.name for cell in made) == [
        "fast: cyclic, load idle, fifo, method nanosleep",
        "fast: cyclic, load idle, fifo, method timerfd",
        "fast: cyclic, load idle, other, method nanosleep",
        "fast: cyclic, load idle, other, method timerfd",
    ]
    by_name = {cell.name: cell.request for cell in made}
    request = by_name["fast: cyclic, load idle, other, method timerfd"]
    assert request.options == {"method": "timerfd", "phase": "fixed", "distance": "3"}
    assert request.policy == "other"


def test_a_run_says_by_which_command_its_cell_is_repeated() -> None:
    (cell,) = cells(
        """
        [[measure]]
        probes = ["cyclic"]
        loads = ["cmd:make -j4"]
        intervals = ["200us"]
        duration = "1s"
        priority = 90
        cpus = "0-1"
        idle_states = "limit:50us"
        options = { phase = "fixed" }
        [[budget]]
        limits = ["max<1ms"]"""
    )
    assert cell.request.command == [
        "rtscope", "measure", "cyclic", "--load=cmd:make -j4", "--priority=90", "--cpus=0-1",
        "--idle-states=limit:50us", "--seed=1", "--interval=200us", "--duration=1s",
        "--option=phase=fixed", "--budget=max<1ms",
    ]  # fmt: skip


def test_each_repetition_is_a_round_of_its_own_with_its_own_seed() -> None:
    made = cells("repetitions = 3\nseed = 7" + MATRIX)
    rounds = [made[:8], made[8:16], made[16:]]
    for number, one in enumerate(rounds, 1):
        assert {cell.name.rpartition(", ")[2] for cell in one} == {f"repetition {number}"}
        assert {cell.request.seed for cell in one} == {6 + number}
    orders = [[cell.name.rpartition(", ")[0] for cell in one] for one in rounds]
    assert len({tuple(order) for order in orders}) == 3
    assert len({frozenset(order) for order in orders}) == 1


def test_a_scale_multiplies_samples_and_durations() -> None:
    for scale, samples, duration in (
        (0.01, 10, 600_000_000),
        (1e-9, 1, 1_000_000),
        (2, 2000, 12e10),
    ):
        both = cells(MATRIX.replace("samples = 1000", 'samples = 1000\nduration = "1m"'), scale)
        assert {(cell.request.samples, cell.request.duration_ns) for cell in both} == {
            (samples, duration)
        }
        assert {cell.scale for cell in both} == {scale}


def test_the_hash_is_of_what_is_measured_and_judged_and_of_nothing_else() -> None:
    same = plan_hash(cells(MATRIX))
    assert (
        plan_hash(cells("# comment\ndescription = 'other'\norder = 'as written'" + MATRIX)) == same
    )
    options = MATRIX + 'options = { method = ["nanosleep", "timerfd"], phase = ["sweep", "fixed"] }'
    swapped = MATRIX + 'options = { phase = ["sweep", "fixed"], method = ["nanosleep", "timerfd"] }'
    assert plan_hash(cells(options)) == plan_hash(cells(swapped)) != same
    limits = ['[[budget]]\nlimits = ["max<1s"]\n', '[[budget]]\nlimits = ["missed<9"]\n']
    judged = plan_hash(cells(MATRIX + "".join(limits)))
    assert judged == plan_hash(cells(MATRIX + "".join(reversed(limits)))) != same
    table = '\n[[measure]]\nprobes = ["pi"]\nsamples = 2'
    assert plan_hash(cells(MATRIX + table)) == plan_hash(cells(table + MATRIX)) != same
    for other in (
        MATRIX.replace("1ms", "2ms"),
        MATRIX + '[[budget]]\nlimits = ["max<1s"]',
        "seed = 2" + MATRIX,
        "repetitions = 2" + MATRIX,
    ):
        assert plan_hash(cells(other)) != same
    assert plan_hash(cells(MATRIX, 0.5)) != same


def test_a_budget_is_for_the_cells_that_meet_all_its_conditions() -> None:
    budget = """
        [[budget]]
        probes = ["sched"]
        loads = ["idle"]
        intervals = ["1ms"]
        options = { via = "pipe" }
        limits = ["failed<1", "max<1s"]"""
    options = 'options = { via = ["pipe", "cond"] }\n[[budget]]\nlimits = ["max<1s"]'
    made = cells(MATRIX + options + budget)
    assert {cell.name: cell.request.budget for cell in made} == {
        **{cell.name: ["max<1s"] for cell in made},
        "sched, load idle, every 1ms, via pipe": ["max<1s", "failed<1"],
    }


@pytest.mark.parametrize(
    ("more", "line", "said"),
    [
        ('[[budget]]\nlimits = ["max<1s"]\nprobes = ["cylcic"]', 10, "has 'cylcic'"),
        ('[[budget]]\nlimits = ["max<1s"]\nintervals = ["1ms", "3ms"]', 10, "has '3ms'"),
        ('[[budget]]\nlimits = ["max<1s"]\nnames = ["x"]\nprobes = ["sched"]', 10, "names: no"),
        ('[[budget]]\nlimits = ["max<1s"]\noptions = { via = "x" }', 10, "options: no cell"),
        ('[[measure]]\nprobes = ["cyclic", "cyclic"]\nsamples = 1', 8, "two cells have the name"),
        (MATRIX.strip(), 8, "give their tables different names"),
        ("[[measure]]\nsamples = 1\nprobes = [" + '"x",' * 100_001 + "]", 8, "100,001 cells"),
    ],
)  # fmt: skip
def test_a_plan_that_contradicts_itself_is_refused_with_its_line(
    more: str, line: int, said: str
) -> None:
    with pytest.raises(RtscopeError) as caught:
        cells(MATRIX + more)
    assert str(caught.value).startswith(f"plan.toml:{line}: ")
    assert said in str(caught.value)


TUNED = """
repetitions = 2
order = "as written"
[[measure]]
probes = ["cyclic"]
samples = 1000
tune = { profile = "isolated-cores", cpus = "1-N" }
"""


def test_the_steps_of_a_profile_that_take_no_boot_are_a_dimension_of_each_round(
    tmp_path: Path,
) -> None:
    made = cells(TUNED)
    assert [cell.name for cell in made] == [
        f"{step}: cyclic, load idle, repetition {repetition}"
        for repetition in (1, 2)
        for step in ("as booted", "tasks moved", "interrupts moved", "isolated")
    ]
    steps = [cell.request.tuning for cell in made if cell.request.tuning]
    numbers = [(one.profile, one.step, one.cpus, one.round, one.rules[:1]) for one in steps[::5]]
    assert numbers == [
        ("isolated-cores", 0, "1-N", 1, []),
        ("isolated-cores", 1, "1-N", 2, ["tasks away={cpus}"]),
    ]
    (reported,) = unmeasured_steps(parse_plan('title = "x"' + TUNED, Path("plan.toml")))
    assert "'at the next boot' of isolated-cores is not measured" in reported

    step = '[[step]]\nname = "a"\ntasks = { away = "1" }\n'
    (tmp_path / "ours.toml").write_text(f'description = "x"\n{step}')
    text = TUNED.replace("isolated-cores", "./ours.toml").replace(', cpus = "1-N"', "")
    beside = cells_of(parse_plan(f'title = "x"{text}', tmp_path / "plan.toml"))
    assert [cell.name.partition(":")[0] for cell in beside[:2]] == ["as booted", "a"]


def test_some_steps_can_be_chosen() -> None:
    made = cells(TUNED.replace('"1-N" }', '"1", steps = [0, 3] }').replace("= 2", "= 1"))
    assert [cell.name.partition(":")[0] for cell in made] == ["as booted", "isolated"]
    assert made[1].request.command == [
        *("rtscope", "tune", "measure", "isolated-cores", "--samples=1000", "--seed=1"),
        *("--probe=cyclic", "--cpus=1", "--steps=3", "--rounds=1"),
    ]


@pytest.mark.parametrize(
    ("tune", "said"),
    [
        ('{ profile = "isolated-core" }', "is it isolated-cores?"),
        ('{ profile = "isolated-cores" }', "needs CPUs"),
        ('{ profile = "minimal", steps = [4] }', "no step 4: they are 0 (as booted), 1 (full"),
        ('{ profile = "gone.toml" }', "gone.toml cannot be read"),
        ('{ profil = "minimal" }', "'profil' is not a key of measure.tune"),
    ],
)
def test_a_profile_that_cannot_be_measured_is_refused_on_its_line(tune: str, said: str) -> None:
    text = TUNED.replace('{ profile = "isolated-cores", cpus = "1-N" }', tune)
    with pytest.raises(RtscopeError) as caught:
        cells(text)
    assert str(caught.value).startswith("plan.toml:8: ")
    assert said in str(caught.value)
