# SPDX-License-Identifier: GPL-2.0-only
"""Whatever bytes the agent is given, its lines are read back by Python's own json."""

import base64
import ctypes
import json
import math
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

AGENT = Path(__file__).parents[2] / "agent"


class Writer(ctypes.Structure):
    """struct json of agent/base/json.h"""

    _fields_ = (
        ("fd", ctypes.c_int),
        ("sink", ctypes.c_void_p),
        ("failed", ctypes.c_bool),
        ("last", ctypes.c_char),
        ("used", ctypes.c_size_t),
        ("buffer", ctypes.c_char * 8192),
    )


Fill = Callable[[ctypes.CDLL, Any], None]
WriteLine = Callable[[Fill], dict[str, Any]]


@pytest.fixture(scope="module")
def write_line(tmp_path_factory: pytest.TempPathFactory) -> WriteLine:
    library = tmp_path_factory.mktemp("json") / "json.so"
    subprocess.run(
        ["cc", "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Werror", "-shared",
         "-fPIC", f"-I{AGENT}", AGENT / "base/json.c", "-o", library],
        check=True,
    )  # fmt: skip
    code = ctypes.CDLL(str(library))

    def write(fill: Fill) -> dict[str, Any]:
        fd = os.memfd_create("line")
        try:
            line = Writer(fd=fd)
            code.json_begin(ctypes.byref(line), b"test")
            fill(code, ctypes.byref(line))
            code.json_end(ctypes.byref(line))
            assert not line.failed
            wire = os.pread(fd, 1 << 24, 0)
        finally:
            os.close(fd)
        assert wire.endswith(b"}\n")
        assert wire.count(b"\n") == 1
        read = json.loads(wire.decode("utf-8", "strict"))
        assert read.pop("type") == "test"
        assert isinstance(read, dict)
        return read

    return write


PIECES = [
    *(b"a", b"\x80", b"\xbf", b"\xc2", b"\xe0\xa0", b"\xed\x9f", b"\xed\xa0", b"\xf0\x90", b"\xf4"),
    *(b"\x8f\xbf\xbf", b"\xf0\x9f\x98\x80", b"\xf5", b"\xc0\x80", b'"', b"\\", b"\x00"),
]


@given(data=st.binary(max_size=300) | st.lists(st.sampled_from(PIECES)).map(b"".join))
def test_any_bytes_come_back_as_text_with_the_invalid_replaced(
    write_line: WriteLine, data: bytes
) -> None:
    read = write_line(lambda code, line: code.json_text(line, b"text", data, len(data)))
    assert read == {"text": data.decode("utf-8", "replace")}


@given(key=st.text().filter(lambda key: "\0" not in key and key != "type"), value=st.text())
def test_any_key_and_text_come_back_as_they_were(
    write_line: WriteLine, key: str, value: str
) -> None:
    data = value.encode("utf-8", "replace")
    name = key.encode("utf-8", "replace")
    read = write_line(lambda code, line: code.json_text(line, name, data, len(data)))
    assert read == {name.decode(): data.decode()}


@given(data=st.binary(max_size=300))
def test_any_bytes_come_back_from_base64(write_line: WriteLine, data: bytes) -> None:
    read = write_line(lambda code, line: code.json_base64(line, b"base64", data, len(data)))
    assert base64.b64decode(read["base64"], validate=True) == data


@given(value=st.floats())
def test_any_double_comes_back_and_nan_is_null(write_line: WriteLine, value: float) -> None:
    read = write_line(lambda code, line: code.json_double(line, b"double", ctypes.c_double(value)))
    assert read == {"double": value if math.isfinite(value) else None}


@given(unsigned=st.integers(0, 2**64 - 1), signed=st.integers(-(2**63), 2**63 - 1))
def test_any_integer_comes_back(write_line: WriteLine, unsigned: int, signed: int) -> None:
    def fill(code: ctypes.CDLL, line: object) -> None:
        code.json_u64(line, b"unsigned", ctypes.c_uint64(unsigned))
        code.json_i64(line, b"signed", ctypes.c_int64(signed))

    assert write_line(fill) == {"unsigned": unsigned, "signed": signed}


@pytest.mark.parametrize("size", [8100, 8191, 8192, 8193, 16384, 100_000])
def test_a_text_longer_than_the_buffer_is_whole(write_line: WriteLine, size: int) -> None:
    data = ("é" * size).encode()
    read = write_line(lambda code, line: code.json_text(line, b"text", data, len(data)))
    assert read == {"text": "é" * size}
