# SPDX-License-Identifier: GPL-2.0-only
"""Addresses become the names of functions, a module's with the module's name."""

import numpy as np
import pytest

from rtscope.explain.symbols import Symbols, from_kallsyms, from_system_map, name_at
from rtscope.model.errors import RtscopeError

TEXT = """351c0 pcpu_hot
ffffffff81000000 _stext
ffffffff81000000 alias
ffffffff81000100 work.constprop.0
ffffffff81000200 work.cold
ffffffff81000300 work
ffffffffc0000000 delay [rtdelay]
"""


def functions(*addresses: int) -> list[str]:
    names, chosen, _ = Symbols(TEXT).functions(np.array(addresses, dtype=np.uint64))
    return [names[place] for place in chosen]


def test_an_address_lies_in_the_function_that_begins_before_it() -> None:
    assert functions(0xFFFFFFFF810000FF, 0xFFFFFFFFC0000010) == ["_stext", "delay [rtdelay]"]


def test_clones_and_cold_parts_are_the_function_that_they_were_made_of() -> None:
    assert functions(0xFFFFFFFF81000100, 0xFFFFFFFF81000201, 0xFFFFFFFF81000300) == ["work"] * 3
    _, _, begins = Symbols(TEXT).functions(
        np.array([0xFFFFFFFF81000200, 0xFFFFFFFF81000300, 0xFFFFFFFF81000301], dtype=np.uint64)
    )
    assert list(begins) == [False, True, False]


def test_what_has_no_name_keeps_its_address() -> None:
    assert functions(0x401000, 0xFFFFFFFF80000000, 0xFFFFFFFFFFFFFFF0) == [
        "user space",
        "0xffffffff80000000",
        "0xfffffffffffffff0",
    ]
    names, _, _ = Symbols("").functions(np.array([0xFFFFFFFF80000000], dtype=np.uint64))
    assert names == ["0xffffffff80000000"]


def test_data_are_found_by_name_and_are_no_functions() -> None:
    assert Symbols(TEXT).address("pcpu_hot") == 0x351C0
    assert Symbols(TEXT).address("none") is None
    assert functions(0x351C0) == ["user space"]


@pytest.mark.parametrize("text", ["no symbols", "12", "ffffffff81000000 a b c", "-1 x"])
def test_what_are_no_symbols_is_refused(text: str) -> None:
    with pytest.raises(RtscopeError, match="no line of a kernel's symbols"):
        Symbols(text)


def test_a_system_map_is_read_but_for_what_are_no_functions() -> None:
    text = (
        "00000000000351c0 D pcpu_hot\nffffffff81000000 T _text\nffffffff81000010 t __pfx_work\n"
        "ffffffff81000020 t work\nffffffff82000000 D jiffies\nffffffff82000010 r .str\n"
    )
    symbols = Symbols(from_system_map(text))

    assert symbols.address("work") == 0xFFFFFFFF81000020
    assert symbols.address("pcpu_hot") == 0x351C0
    assert symbols.address("jiffies") is symbols.address("__pfx_work") is None
    assert from_system_map("ffffffffffffffff B The real System.map is in a -dbg package\n") == ""


KALLSYMS = """\
ffffffff81000000 T _stext
ffffffff81000100 t flush_one
ffffffff81000200 D some_data
ffffffffc0000000 t send_it\t[driver]
0000000000000000 T hidden
"""


def test_functions_of_kallsyms_are_named_by_address_and_by_offset() -> None:
    symbols = from_kallsyms(KALLSYMS)
    assert name_at(symbols, 0xFFFFFFFF81000104) == "flush_one"
    assert name_at(symbols, 0x104) == "flush_one"
    assert name_at(symbols, 0xFFFFFFFFC0000008 - (1 << 64)) == "send_it [driver]"
    assert name_at(symbols, 0xFFFFFFFF00000000) == ""
    assert name_at(from_kallsyms("no symbols\n\n"), 0x104) == ""
