# SPDX-License-Identifier: GPL-2.0-only
"""CPU lists read as the kernel means them, and nothing else is taken for one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtscope.model.cpulist import MOST_CPUS, format_cpu_list, parse_cpu_list
from rtscope.model.errors import RtscopeError


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("\n", []),
        ("0-3,8,10-11:2", [0, 1, 2, 3, 8, 10]),
        (" 4 , 0-1", [0, 1, 4]),
        ("3,3,2-3", [2, 3]),
    ],
)
def test_a_list_gives_its_cpus_in_order(text: str, cpus: list[int]) -> None:
    assert parse_cpu_list(text) == cpus


@pytest.mark.parametrize(
    "text",
    [
        "3-1", "8192", "0-9999", "1,,2", "1,", "-1", "1-", "a", "(null)", "0x3", "0-6:0",
        "1:2", "١", "1 2", "99999999999999999999", "0," * 40000 + "0",
        "0-8191,0-8191,0-8191",
    ],
)  # fmt: skip
def test_what_is_no_list_is_refused_with_a_short_sentence(text: str) -> None:
    with pytest.raises(RtscopeError, match="CPU") as error:
        parse_cpu_list(text)
    assert len(str(error.value)) < 300


@given(st.sets(st.integers(0, MOST_CPUS - 1)) | st.sets(st.integers(0, 30)))
def test_any_set_of_cpus_survives_writing_and_reading_in_the_fewest_ranges(cpus: set[int]) -> None:
    text = format_cpu_list(cpus)
    assert parse_cpu_list(text) == sorted(cpus)
    starts = sum(1 for cpu in cpus if cpu - 1 not in cpus)
    assert len(text.split(",")) == max(starts, 1)


@given(st.text(alphabet="0123456789,-: \n()x"))
def test_any_text_is_a_list_of_real_cpus_or_a_sentence(text: str) -> None:
    try:
        cpus = parse_cpu_list(text)
    except RtscopeError:
        return
    assert cpus == sorted(set(cpus))
    assert all(0 <= cpu < MOST_CPUS for cpu in cpus)
