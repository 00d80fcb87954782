# SPDX-License-Identifier: GPL-2.0-only
"""A tuning profile becomes the agent's rules, or is refused with its line and what is right."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtscope.model.errors import RtscopeError
from rtscope.model.machine import Cpu, Machine
from rtscope.tuning.profile import (
    filled_rules,
    parse_profile,
    read_profile,
    shipped_names,
    steps_of,
)

FILE = Path("mine.toml")
PROFILE = """description = "Ours"

[[step]]
name = "one"
{}
"""
FOUR = Machine(cpus=[Cpu(number) for number in range(4)])


def rules(lines: str, cpus: str = "1-3", machine: Machine = FOUR) -> list[str]:
    profile = parse_profile(PROFILE.format(lines), FILE)
    return filled_rules(steps_of(profile, cpus)[-1].rules, cpus, machine)


def refusal(text: str, path: Path = FILE) -> str:
    with pytest.raises(RtscopeError) as caught:
        parse_profile(text, path)
    return str(caught.value)


def test_the_shipped_ones_are_read_and_described() -> None:
    assert shipped_names() == ["audio", "isolated-cores", "minimal", "realtime-control"]
    docs = (Path(__file__).parents[2] / "docs" / "reference" / "tune.md").read_text()
    for name in shipped_names():
        profile = read_profile(name)
        assert profile.name == name
        assert all(step.why for step in profile.steps)
        assert f"`{name}`" in docs
        for step in steps_of(profile, "1-3"):
            assert all("{" not in rule for rule in filled_rules(step.rules, "1-3", FOUR))


def test_isolated_cores_has_the_steps_of_the_multicore_report() -> None:
    steps = steps_of(read_profile("isolated-cores"), "1-3")
    names = [step.name for step in steps]
    assert names[:4] == ["as booted", "tasks moved", "interrupts moved", "isolated"]
    assert steps[0].rules == []
    assert filled_rules(steps[3].rules, "1-3", FOUR) == [
        "tasks away=1-3",
        "file path=/sys/devices/virtual/workqueue/cpumask value=1",
        "interrupts away=1-3",
        "irqbalance ban=1-3",
        "partition cpus=1-3",
    ]
    assert filled_rules(steps[4].rules, "1-3", FOUR)[5:] == [
        "boot add=isolcpus=managed_irq,domain,1-3",
        "boot add=nohz_full=1-3",
        "boot add=rcu_nocbs=1-3",
        "boot add=irqaffinity=0",
    ]


def test_what_is_for_all_comes_before_what_is_for_some() -> None:
    lines = """
    latency = { limit = "5us" }
    interrupts = { away = "{cpus}" }
    [[step.interrupt]]
    name = "my card"
    cpus = "2"
    [[step.thread]]
    name = "my loop"
    of = "program"
    uid = 1000
    exe = "/opt/my loop"
    policy = "fifo"
    priority = 80
    cpus = "{cpus}"
    [[step.file]]
    path = "/sys/a b/*"
    value = "1 2"
    [step.tasks]
    away = "{cpus}"
    """
    assert rules(lines) == [
        "tasks away=1-3",
        "interrupts away=1-3",
        "thread name=my?loop of=program exe=/opt/my?loop policy=fifo uid=1000 priority=80 cpus=1-3",
        "interrupt name=my?card cpus=2",
        "file path=/sys/a?b/* value=1 2",
        "latency limit=5000",
    ]


def test_masks_are_as_the_kernel_writes_them() -> None:
    lines = '[[step.file]]\npath = "/sys/x"\nvalue = "{cpus_mask} {others_mask}"'
    many = Machine(cpus=[Cpu(number) for number in range(72)])
    assert rules(lines) == ["file path=/sys/x value=e 1"]
    assert rules(lines, "0-1,68-71", many) == [
        "file path=/sys/x value=f0,00000000,00000003 f,ffffffff,fffffffc"
    ]


@pytest.mark.parametrize(
    ("cpus", "said"),
    [
        ("1-4", "this system has no CPU 4; its CPUs are 0-3"),
        ("2-3", "CPU 3 is offline: write 1 to /sys/devices/system/cpu/cpu3/online first"),
        ("0-2", "these are all online CPUs (0-2)"),
        ("x", "'x' is not a CPU list"),
        (",", "is not a CPU list"),
    ],
)
def test_cpus_that_cannot_be_taken_are_a_sentence(cpus: str, said: str) -> None:
    machine = Machine(cpus=[Cpu(0), Cpu(1), Cpu(2), Cpu(3, online=False)])
    with pytest.raises(RtscopeError, match=re.escape(said)):
        rules('tasks = { away = "{cpus}" }', cpus, machine)


def test_a_profile_for_chosen_cpus_wants_them_named_and_n_is_the_last_online() -> None:
    machine = Machine(cpus=[Cpu(0), Cpu(1), Cpu(2), Cpu(3, online=False)])
    assert rules('tasks = { away = "{cpus}" }', "1-N", machine) == ["tasks away=1-2"]
    with pytest.raises(RtscopeError, match="isolated-cores needs CPUs"):
        steps_of(read_profile("isolated-cores"), None)
    assert steps_of(read_profile("audio"), "1-3")[-1].cpus == ""


def test_a_profile_is_named_as_its_file_and_the_nearest_name_is_reported() -> None:
    text = PROFILE.format('tasks = { away = "1" }')
    assert parse_profile(text, Path("a/our-board_2.toml")).name == "our-board_2"
    for path in (Path("a b.toml"), Path("-x.toml"), Path(f"{'a' * 64}.toml"), Path("a\nb.toml")):
        assert "letters, digits" in refusal(text, path)
    assert "rename the file" in refusal(text, Path("measurement.toml"))
    with pytest.raises(RtscopeError, match=r"no profile 'isolated-core': is it isolated-cores\?"):
        read_profile("isolated-core")
    with pytest.raises(RtscopeError, match=r"gone\.toml cannot be read: No such file"):
        read_profile("./gone.toml")


@pytest.mark.parametrize(
    ("lines", "line", "said"),
    [
        ('taks = { away = "1" }', 5, "'taks' is not a key of [[step]]; its keys are name, why"),
        ('taks = { away = "1" }', 5, "Is it tasks?"),
        ('tasks = { away = "1", of = "x" }', 5, "'of' is not a key of step.tasks"),
        ('[[step.thread]]\nname = "a"\nprioriti = 5', 7, "Is it priority?"),
        ('[[step.thread]]\nname = "a"\npriority = 5', 5, "needs a priority"),
        ('[[step.thread]]\nname = "a"\npolicy = "fifo"', 5, "needs a priority"),
        ('[[step.thread]]\nname = "a"\npolicy = "ffo"', 7, 'policy: expected "other", "batch"'),
        ('[[step.thread]]\nname = "a"\npolicy = "rr"\npriority = 100', 8, "from 1 to 99"),
        ('[[step.thread]]\nname = "a"\nnice = 1\nof = "kernel"\nuid = 0', 5, "have no uid"),
        ('[[step.thread]]\nname = "a"', 5, "'a' changes nothing"),
        ('[[step.file]]\npath = "/etc/passwd"\nvalue = "x"', 6, "a file below /proc/sys or /sys"),
        ('[[step.file]]\npath = "/sys/x"', 5, "[[step.file]] lacks value"),
        ('tasks = { away = "1; rm" }', 5, 'away: expected CPUs: "{cpus}"'),
        ('tasks = { away = "{cpu}" }', 5, "away: expected CPUs"),
        (
            'boot = { add = "a={cpu}" }',
            4,
            "has the unknown placeholder {cpu}; known are {cpus}, {others}",
        ),
        ('boot = { add = "a={cpu}" }', 4, "; is it cpus"),
        ('latency = { limit = "5" }', 5, "limit: '5' is not a time"),
        ("latency = { limit = 5 }", 5, "limit: 5 is not a time"),
        ("", 3, "the step 'one' changes nothing"),
        (
            'boot = { add = "a" }\n[[step]]\nname = "one"\nboot = { add = "b" }',
            7,
            "two steps are called 'one'",
        ),
        ('boot = { add = "a" }\n[[step]]\nname = "as booted"', 6, "before the first step"),
        ('boot = { add = "a\\nb" }', 5, "add: expected kernel parameters"),
    ],
)
def test_what_is_wrong_is_reported_with_its_line(lines: str, line: int, said: str) -> None:
    message = refusal(PROFILE.format(lines))
    assert message.startswith(f"mine.toml:{line}:"), message
    assert said in message


@given(
    st.text()
    | st.sampled_from(["[[step]]\n", "[[step.thread]]\n"]).flatmap(
        lambda head: st.text(max_size=40).map(lambda rest: PROFILE.format(head + rest))
    )
)
def test_no_text_does_worse_than_a_sentence(text: str) -> None:
    try:
        profile = parse_profile(text, FILE)
    except RtscopeError as error:
        assert str(error).startswith("mine.toml")  # noqa: PT017 - or there is no error
    else:
        assert profile.steps
