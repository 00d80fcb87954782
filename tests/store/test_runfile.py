# SPDX-License-Identifier: GPL-2.0-only
"""Run files come back as they were written, or say what is wrong with them."""

import json
import os
import re
import time
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtscope.model.errors import RtscopeError
from rtscope.model.histogram import Histogram
from rtscope.model.machine import Machine
from rtscope.model.run import Asked, Run, Thread
from rtscope.store.importer import import_file
from rtscope.store.runfile import decode_run, encode_run, write_run
from rtscope.store.schema import run_schema
from tests.measured import run_of
from tests.strategies import runs

HISTOGRAM = Histogram.of([3000, 4000, 4000])


def a_run(*threads: Thread, **fields: object) -> Run:
    run = run_of(*threads or [Thread(0, 0, "fifo", 80, 3, HISTOGRAM, 3000, 4000, 3500.0)])
    return msgspec.structs.replace(run, machine=Machine("<b>\x00board\x1b[31m"), **fields)


def tampered(*place: str | int, **changes: object) -> bytes:
    """A run file in which the object at this place has other members."""
    run = json.loads(encode_run(a_run()))
    value: Any = run
    for key in place:
        value = value[key]
    value.update(changes)
    return json.dumps(run).encode()


first_thread = partial(tampered, "threads", 0)
bucket = partial(tampered, "threads", 0, "histogram")
window = partial(tampered, "threads", 0, "windows", end_ns=[1], mean_ns=[1])


@given(runs(most_threads=1))
def test_a_written_run_is_read_as_it_was(tmp_path: Path, run: Run) -> None:
    write_run(run, tmp_path / "a.json", overwrite=True)
    assert import_file(tmp_path / "a.json") == [run]
    write_run(import_file(tmp_path / "a.json")[0], tmp_path / "b.json", overwrite=True)
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_bytes_and_metrics_of_other_tools_do_not_lose_the_run() -> None:
    assert decode_run(b"\xef\xbb\xbf" + encode_run(a_run())) == a_run()
    undecodable = a_run(asked=Asked(command=["measure", "caf\udce9"]))
    assert decode_run(encode_run(undecodable)).asked.command == ["measure", "caf\\udce9"]
    cut = Histogram([3000, 50000], [1000, 1000], [2, 1])
    run = a_run(Thread(0, 0, "fifo", 80, 3, cut, 3000, 50000, 18666.0))
    assert decode_run(encode_run(run)) == run


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (encode_run(a_run())[:-40], "truncated"),
        (encode_run(a_run()) + b"{}", "line 2 column 1"),
        (b'{"a": nope}', "line 1 column 7"),
        (b"\xff\xfe{}", "byte 0 is not UTF-8"),
        (b"[]", '"format": "rtscope-run"'),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"format": "rtscope-run", "version": 1, "x":' + b"[" * 900 + b"]" * 900 + b"}", "valid"),
        (tampered(version=7), "newer rtscope (format 7); this one reads up to 1"),
        (tampered(version="1"), "version '1' is not a number"),
        (tampered(id="../../etc/x"), "sixteen hexadecimal digits"),
        (tampered(created="yesterday"), "ISO 8601"),
        (tampered(created="0001-01-01T00:00:00Z"), "between the years"),
        (tampered(elapsed_ns=-1), "lasted -1 ns"),
        (tampered(elapsed_ns=10**25), "'elapsed_ns' is beyond 2^63"),
        (encode_run(msgspec.structs.replace(a_run(), elapsed_ns=2**63 + 1)), "beyond 2^63"),
        (encode_run(msgspec.structs.replace(a_run(), version=7)), "newer rtscope (format 7)"),
        (tampered(machine=None), "$.machine"),
        (tampered(status="fine"), "$.status"),
        (encode_run(a_run(*a_run().threads * 8193)), "8193 threads"),
        (first_thread(count=4), "count of 4 samples, but its histogram holds 3"),
        (first_thread(count=-3), "negative count"),
        (first_thread(count="3"), "$.threads[0].count"),
        (first_thread(max_ns=2), "above its maximum"),
        (first_thread(max_ns=3999), "its histogram has samples from 4000 ns on"),
        (first_thread(max_ns=10**30), "beyond 2^63"),
        (first_thread(min_ns=2900), "its histogram begins at 3000 ns"),
        (first_thread(mean_ns=1900), "below its minimum"),
        (first_thread(mean_ns=float("nan")), "NaN is not a number"),
        (first_thread(stddev_ns=-1), "negative standard deviation"),
        (first_thread(worst=[{"time_ns": 1, "latency_ns": 4001}]), "4001 ns above its maximum"),
        (window(), "differ in length"),
        (window(count=[-1], max_ns=[1]), "negative count in a window"),
        (window(count=[1], max_ns=[10**25]), "beyond 2^63 in a window"),
        (bucket(count=[1, -2]), "no width or no count"),
        (bucket(count=[1, 2, 3]), "differ in length"),
        (bucket(lower_ns=[4000, 3000]), "overlaps"),
        (bucket(surprise=1), "surprise"),
        (encode_run(a_run()).replace(b'"probe"', b'"load":"x","probe"'), "'load' stands twice"),
        (b"9" * 5000, "not a valid run"),
        (b'{"file_version": 1, "thread": {"0": {"cycles": 3}}}', "cyclictest-json file, not a run"),
    ],
)
def test_a_bad_run_file_is_refused_with_the_reason(data: bytes, words: str) -> None:
    with pytest.raises(RtscopeError, match=re.escape(words)):
        decode_run(data)


@given(st.binary(max_size=300))
def test_any_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(RtscopeError):
        decode_run(data)


@given(runs(most_threads=1), st.data())
def test_a_damaged_run_is_read_or_gets_a_sentence(run: Run, data: st.DataObject) -> None:
    text = bytearray(encode_run(run))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text) - 1))
        text[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    try:
        read = decode_run(bytes(text))
    except RtscopeError:
        return
    assert decode_run(encode_run(read)) == read


def test_a_run_of_64_threads_and_3000_buckets_is_read_at_once() -> None:
    histogram = Histogram([10 * i for i in range(3000)], [5] * 3000, list(range(1, 3001)))
    thread = Thread(0, 0, "fifo", 80, histogram.total, histogram, 0, 29_990, 15_000.0)
    data = encode_run(a_run(*[thread] * 64))
    decode_run(data)
    begin = time.process_time()
    decode_run(data)
    assert time.process_time() - begin < 3  # ten times what it may take: this finds a quadratic


def test_an_existing_file_or_link_is_overwritten_only_on_request(tmp_path: Path) -> None:
    path, link = tmp_path / "run.json", tmp_path / "link.json"
    path.write_text("precious")
    link.symlink_to("run.json")
    for existing in (path, link):
        with pytest.raises(RtscopeError, match="exists already"):
            write_run(a_run(), existing)
    assert path.read_text() == "precious"
    write_run(a_run(), link, overwrite=True)
    assert link.is_symlink()
    assert import_file(path) == [a_run()]
    assert sorted(tmp_path.iterdir()) == [link, path]


def test_a_run_is_written_to_a_device_as_it_is(tmp_path: Path) -> None:
    write_run(a_run(), Path("/dev/null"))
    with pytest.raises(RtscopeError, match="/dev/full: No space left on device"):
        write_run(a_run(), Path("/dev/full"))
    with pytest.raises(RtscopeError, match="is a directory"):
        write_run(a_run(), tmp_path)


def test_a_full_disk_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(file: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    (tmp_path / "run.json").write_text("precious")
    monkeypatch.setattr("os.write", full)
    for name in ("run.json", "new.json"):
        with pytest.raises(RtscopeError, match="No space left on device; nothing there was chang"):
            write_run(a_run(), tmp_path / name, overwrite=True)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["precious"]


def test_a_new_file_may_be_read_by_others_as_the_umask_says(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        write_run(a_run(), tmp_path / "run.json")
    finally:
        os.umask(before)
    assert (tmp_path / "run.json").stat().st_mode & 0o777 == 0o644


def test_the_published_schema_is_that_of_the_record() -> None:
    """To write it again: python -m rtscope.store.schema > docs/reference/run.schema.json"""
    published = Path(__file__).parents[2] / "docs" / "reference" / "run.schema.json"
    assert published.read_text() == run_schema()
