# SPDX-License-Identifier: GPL-2.0-only
"""Two worst paths differ by functions whose differences add up."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtscope.model.errors import RtscopeError
from rtscope.model.run import Lab, Run
from rtscope.model.timeline import Explanation, FunctionTime
from rtscope.statistics.paths import compared_paths
from tests.measured import run_of, thread_of

FUNCTIONS = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 10**6), min_size=1)


def run_with(functions: dict[str, int], mode: str = "exact", mips: float = 1000) -> Run:
    lab = Lab(mode, mips, 1, 1, "7.2", [], "k", "s", "h", None, "i")  # type: ignore[arg-type]
    sample = Explanation(
        0, 5, sum(functions.values()), "plugin",
        functions=[FunctionTime(name, ns) for name, ns in functions.items()],
    )  # fmt: skip
    better = msgspec.structs.replace(
        sample, latency_ns=0, functions=[FunctionTime("of a better sample", 1)]
    )
    return msgspec.structs.replace(run_of(thread_of([5])), lab=lab, explanations=[better, sample])


@given(FUNCTIONS, FUNCTIONS)
def test_the_functions_differences_are_that_of_the_paths(
    a: dict[str, int], b: dict[str, int]
) -> None:
    told = compared_paths(run_with(a), run_with(b))
    assert sum(one.difference for one in told.functions) == (
        told.b.instructions - told.a.instructions
    )
    assert {one.function for one in told.functions if one.change == "entered"} == b.keys() - a
    assert {one.function for one in told.functions if one.change == "left"} == a.keys() - b
    sizes = [abs(one.difference) for one in told.functions]
    assert sizes == sorted(sizes, reverse=True)


def test_paths_are_in_instructions_whatever_the_speed() -> None:
    told = compared_paths(run_with({"f": 100}, mips=500), run_with({"f": 60}, mips=1000))
    assert [(one.a, one.b, one.change) for one in told.functions] == [(50, 60, "longer")]


def test_a_run_without_an_exact_path_is_refused() -> None:
    exact = run_with({"f": 1})
    plain = msgspec.structs.replace(exact, explanations=[])
    with pytest.raises(RtscopeError, match="has no explained sample"):
        compared_paths(exact, plain)
    with pytest.raises(RtscopeError, match="is not of an exact VM"):
        compared_paths(run_with({"f": 1}, "fast"), exact)
