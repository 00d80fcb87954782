# SPDX-License-Identifier: GPL-2.0-only
"""Whatever the bytes, an importer gives runs that can be kept, or a sentence."""

import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rtscope.model.errors import RtscopeError
from rtscope.store.exporter import to_cyclictest_histogram, to_cyclictest_json
from rtscope.store.importer import import_bytes
from rtscope.store.runfile import decode_run, encode_run
from rtscope.store.sniff import FORMATS

WHEN = "2026-11-21T19:02:42Z"
SAMPLES = [path.read_bytes() for path in sorted((Path(__file__).parent / "files").iterdir())]
PIECES = st.sampled_from([
    *(b"0", b"-1", b"99999999999999999999", b"1e999", b"nan", b"-", b" ", b"\t", b"\n", b"\r\n"),
    *(b'"', b"{", b"}", b"[", b",", b":", b"\x00", b"\xff", b"\xef\xbb\xbf", b"\x1b[1m", b"null"),
    *(b'"max": 1' + b"0" * 30, b"# Max Latencies: 1", b"Index IRQ-000", b"T: 0 (    1) P:"),
    b"\\ud800",
    *(b'"histogram": {}', b'"cycles": 0', b"ALL:", b"over:", b"count:", b"000001 000001\n"),
])  # fmt: skip
NAMES = st.none() | st.sampled_from(sorted(FORMATS))


def check(data: bytes, name: str | None) -> None:
    try:
        runs = import_bytes(data, WHEN, name)
    except RtscopeError:
        return
    assert runs
    for run in runs:
        assert decode_run(encode_run(run)) == run
        latencies = msgspec.structs.replace(run, probe="cyclic")
        to_cyclictest_json(latencies).encode()
        if run.threads:
            to_cyclictest_histogram(latencies, 10)


@given(st.binary(max_size=400), NAMES)
@example(b'{"a":' * 100_000, "oslat-json")
@example(b'{"thread": ' + b"9" * 10_000 + b"}", "cyclictest-json")
@example(b'"cmdline": "' * 20_000, "cyclictest-json")
@example(b"T: 0 (" + b" " * 100_000, "cyclictest-text")
@example(b"# Min Latencies:" + b" " * 100_000 + b"x", "cyclictest-histogram")
@example(b"over:" + b" -" * 50_000 + b"x", "rtla-timerlat")
def test_any_bytes(data: bytes, name: str | None) -> None:
    check(data, name)


@pytest.mark.parametrize("sample", [sample for sample in SAMPLES if b'"nodename"' in sample])
def test_a_host_name_with_half_of_a_character(sample: bytes) -> None:
    hostile = re.sub(rb'("nodename": ?")', rb"\1\\ud800", sample)
    assert hostile != sample
    check(hostile, None)


@given(st.sampled_from(SAMPLES), NAMES, st.data())
def test_real_files_with_damage(sample: bytes, name: str | None, data: st.DataObject) -> None:
    text = bytearray(sample)
    for _ in range(data.draw(st.integers(1, 5))):
        at = data.draw(st.integers(0, len(text)))
        text[at : at + data.draw(st.integers(0, 20))] = data.draw(PIECES | st.binary(max_size=3))
    check(bytes(text), name)


@given(st.sampled_from(SAMPLES), st.data())
def test_real_files_with_other_numbers(sample: bytes, data: st.DataObject) -> None:
    """Damage that stays in shape, so that it reaches beyond the syntax."""
    numbers = list(re.finditer(rb"\d+", sample))
    text = bytearray(sample)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.sampled_from(numbers))
        number = data.draw(st.integers(0, 300) | st.integers(-(2**65), 2**65))
        text[at.start() : at.end()] = str(number).encode().rjust(at.end() - at.start())
        numbers = list(re.finditer(rb"\d+", text))
    check(bytes(text), None)
