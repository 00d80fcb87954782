# SPDX-License-Identifier: GPL-2.0-only
"""A plan is read whole, or refused with its file, its line and what was expected there."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtscope.engine.planfile import parse_plan, read_plan
from rtscope.model.errors import RtscopeError
from rtscope.model.plan import Plan
from rtscope.model.tomlfile import MOST_BYTES

PLAN = """title = "Board"

# what is measured
[[measure]]
probes = [
  "cyclic",
]
samples = 5

[[measure]]
probes = ["gtod"]
{}

[[budget]]
limits = ["max<5us"]
"""
SERIES = "[[placement]]\nkind = 'scale'\n"
FILE = Path("plan.toml")


def plan_with(lines: str) -> Plan:
    return parse_plan(PLAN.format(lines), FILE).plan


def refusal(text: str) -> str:
    with pytest.raises(RtscopeError) as caught:
        parse_plan(text, FILE)
    return str(caught.value)


def test_a_plan_is_read_with_its_units() -> None:
    plan = plan_with(
        'duration = "1.5s"\nintervals = ["200us", "1ms"]\nbreak = "3ms"\noptions = { a = [1, "x"] }'
    )
    first, second = plan.measure
    assert (first.loads, first.samples, first.duration) == (["idle"], 5, None)
    assert (second.duration, second.intervals) == (1_500_000_000, [200_000, 1_000_000])
    assert (second.threshold, second.options) == (3_000_000, {"a": [1, "x"]})
    assert (plan.order, plan.seed, plan.repetitions, plan.targets) == ("shuffled", 1, 1, ["local"])


@pytest.mark.parametrize(
    ("lines", "line", "said"),
    [
        ('duration = "5"', 12, "'5' is not a time"),
        ('samples = 5\nintervals = [\n  "1ms",\n  3,\n]', 13, "intervals: 3 is not a time"),
        ('samples = 1\npriority = "high"', 13, "priority: expected a number"),
        ("samples = 0", 12, "samples: expected a number from 1"),
        ("samples = 1\npriority = 100", 13, "priority: expected a number from 1 to 99, not 100"),
        ("samples = 1\nexplain = 65", 13, "explain: expected a number from 0 to 64, not 65"),
        (f"samples = 1\n{SERIES}rounds = 1", 15, "rounds: expected a number from 2 to 1000"),
        (f"samples = 1\n{SERIES}parallel = 101", 15, "parallel: expected a number from 0 to 100"),
        ("smaples = 5", 12, "'smaples' is not a key of [[measure]]; its keys are probes, "),
        ("smaples = 5", 12, ". Is it samples?"),
        ("", 10, "give duration or samples"),
        ("samples = 1\noptions = { a = [] }", 10, "list is empty"),
        ("samples = 1\noptions = { a = true }", 13, "not true or false"),
        ('samples = 1\nloads = "idle"', 13, 'such as ["idle", "files:50+network:1"], not text'),
        ('samples = 1\n[[budget]]\nlimits = ["max<5x"]', 14, "limits: '5x' is not a time"),
        ('samples = 1\n[[budget]]\nlimits = ["max>5us"]', 14, "is not a budget"),
        ("samples = 1\n[[budget]]\nprobes = []", 13, "[[budget]] lacks limits"),
        ("samples = ", 12, "this is not TOML"),
    ],
)
def test_what_is_wrong_is_reported_with_its_line(lines: str, line: int, said: str) -> None:
    message = refusal(PLAN.format(lines))
    assert re.match(rf"plan\.toml:{line}[:,]", message), message
    assert said in message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ":1: the plan lacks title"),
        ('title = "a"', ":1: the plan measures nothing: add a table [[measure]] or [[placement]]"),
        ('\ntitel = "a"', ":2: 'titel' is not a key of the plan"),
        ('title = "a"\n[measure]', ":2: measure: expected one or several tables [[measure]]"),
        ('title = "a"\nx = """', ":2, at the end of the file: this is not TOML"),
        ("seed = 1979-05-27", ":1: seed: expected a number"),
        ("a = " + "[" * 5000, ": this is no plan: it is nested too deeply"),
        ("seed = " + "9" * 5000, ": this is no plan: a number has too many digits"),
    ],
)
def test_the_whole_is_checked(text: str, said: str) -> None:
    assert refusal(text).startswith(f"plan.toml{said}")


def test_a_file_that_cannot_be_a_plan_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(RtscopeError, match=r"gone\.toml cannot be read: No such file"):
        read_plan(tmp_path / "gone.toml")
    with pytest.raises(RtscopeError, match="cannot be read"):
        read_plan(tmp_path)
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b'title = "a"\nx = "\xff"')
    with pytest.raises(RtscopeError, match=r"binary\.toml:2: this is not UTF-8"):
        read_plan(binary)
    binary.write_bytes(PLAN.format("samples = 0").replace("\n", "\r\n").encode())
    with pytest.raises(RtscopeError, match=r"binary\.toml:12: samples"):
        read_plan(binary)
    binary.write_bytes(b"#" * (MOST_BYTES + 1))
    with pytest.raises(RtscopeError, match="larger than 256 KiB"):
        read_plan(binary)


PIECES = st.sampled_from([
    *PLAN.splitlines(),
    "[measure]", 'duration = "1s"', 'order = "as written"', "seed = -1", "options = {}",
    "=", 'options.a = ["b", 1]', "a = nan", "loads = [[]]", "intervals = [1]", 'break = "x"',
    "worst = 65", 'targets = ["vm:a"]', "repetitions = 2", "[measure.options]",
    "b = 1979-05-27",
])  # fmt: skip


@given(st.lists(PIECES | st.text(max_size=20), max_size=12).map("\n".join) | st.text())
def test_no_text_does_worse_than_a_sentence(text: str) -> None:
    try:
        file = parse_plan(text, FILE)
    except RtscopeError as error:
        message = str(error)
        assert message.startswith("plan.toml:")
        assert int((re.match(r"plan\.toml:(\d+)", message) or [0, 1])[1]) <= text.count("\n") + 1
    else:
        assert file.plan.measure
