# SPDX-License-Identifier: GPL-2.0-only
"""Run files come back as they were written, or say what is wrong with them."""

import json
import os
import time
from collections.abc import Callable
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
from rtscope.store.runfile import decode_run, encode_run, read_run, write_run
from tests.strategies import runs


def a_run(histogram: Histogram | None = None, threads: int = 1) -> Run:
    histogram = histogram or Histogram.of([3000, 4000, 4000])
    least, most = histogram.lower_ns[0], histogram.lower_ns[-1]
    figures = (least, most, (least + most) / 2)
    return Run(
        id="00112233445566aa",
        created="2026-11-21T19:02:42Z",
        probe="cyclic",
        status="complete",
        load="idle",
        machine=Machine(hostname="<b>\x00board\x1b[31m"),
        threads=[
            Thread(i, i, "fifo", 80, histogram.total, histogram, *figures) for i in range(threads)
        ],
    )


def tampered(change: Callable[[dict[str, Any]], None]) -> bytes:
    value = json.loads(encode_run(a_run()))
    change(value)
    return json.dumps(value).encode()


def first_thread(key: str, figure: object) -> bytes:
    return tampered(lambda value: value["threads"][0].update({key: figure}))


def bucket(key: str, figure: object) -> bytes:
    return tampered(lambda value: value["threads"][0]["histogram"].update({key: figure}))


def text_of(data: bytes) -> str:
    with pytest.raises(RtscopeError) as caught:
        decode_run(data)
    return str(caught.value)


@given(runs())
def test_a_run_comes_back_as_it_was(run: Run) -> None:
    assert decode_run(encode_run(run)) == run


def test_a_run_file_comes_back_with_its_control_characters(tmp_path: Path) -> None:
    write_run(a_run(), tmp_path / "run.json")
    assert read_run(tmp_path / "run.json") == a_run()
    assert list(tmp_path.iterdir()) == [tmp_path / "run.json"]


def test_a_byte_order_mark_does_no_harm() -> None:
    assert decode_run(b"\xef\xbb\xbf" + encode_run(a_run())) == a_run()


def test_a_tool_that_cuts_microseconds_is_no_contradiction() -> None:
    histogram = Histogram([3000, 50000], [1000, 1000], [2, 1])
    thread = Thread(0, 0, "fifo", 80, 3, histogram, 3000, 50000, 18666.0)
    run = msgspec.structs.replace(a_run(), threads=[thread])
    assert decode_run(encode_run(run)) == run


def test_undecodable_arguments_do_not_lose_the_run() -> None:
    run = msgspec.structs.replace(a_run(), asked=Asked(command=["measure", "caf\udce9"]))
    assert decode_run(encode_run(run)).asked.command == ["measure", "caf\\udce9"]


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
        (
            tampered(lambda v: v.update(version=7)),
            "newer rtscope (format 7); this one reads up to 1",
        ),
        (tampered(lambda v: v.update(version="1")), "version '1' is not a number"),
        (tampered(lambda v: v.update(id="../../etc/x")), "sixteen hexadecimal digits"),
        (tampered(lambda v: v.update(created="yesterday")), "ISO 8601"),
        (tampered(lambda v: v.update(created="0001-01-01T00:00:00Z")), "between the years"),
        (tampered(lambda v: v.update(elapsed_ns=-1)), "lasted -1 ns"),
        (tampered(lambda v: v.pop("machine")), "`machine`"),
        (tampered(lambda v: v.update(status="fine")), "$.status"),
        (tampered(lambda v: v.update(threads=v["threads"] * 8193)), "8193 threads"),
        (first_thread("count", 4), "count of 4 samples, but its histogram holds 3"),
        (first_thread("count", -3), "negative count"),
        (first_thread("count", "3"), "$.threads[0].count"),
        (first_thread("max_ns", 2), "above its maximum"),
        (first_thread("max_ns", 3999), "its histogram has samples from 4000 ns on"),
        (first_thread("min_ns", 2900), "its histogram begins at 3000 ns"),
        (first_thread("mean_ns", 1900), "below its minimum"),
        (first_thread("mean_ns", 1e308), "above its maximum"),
        (first_thread("stddev_ns", -1), "negative standard deviation"),
        (
            first_thread("worst", [{"time_ns": 1, "latency_ns": 4001}]),
            "worst sample of 4001 ns above its maximum",
        ),
        (first_thread("max_ns", 10**30), "beyond 2^63"),
        (tampered(lambda v: v.update(elapsed_ns=10**25)), "'elapsed_ns' is beyond 2^63"),
        (first_thread("mean_ns", float("nan")), "NaN is not a figure"),
        (first_thread("windows", {"end_ns": [1]}), "differ in length"),
        (
            first_thread("windows", {"end_ns": [1], "count": [-1], "mean_ns": [1], "max_ns": [1]}),
            "negative count in a window",
        ),
        (
            first_thread(
                "windows", {"end_ns": [1], "count": [1], "mean_ns": [1], "max_ns": [10**25]}
            ),
            "beyond 2^63 in a window",
        ),
        (bucket("count", [1, -2]), "no width or no count"),
        (bucket("count", [1, 2, 3]), "differ in length"),
        (bucket("lower_ns", [4000, 3000]), "overlaps"),
        (bucket("width_ns", [1, 10**25]), "beyond 2^63"),
        (bucket("surprise", 1), "surprise"),
        (encode_run(a_run()).replace(b'"probe"', b'"load":"x","probe"'), "'load' stands twice"),
        (b'{"format":"rtscope-run","version":1,"id":1e999}', "not a valid run"),
        (b"9" * 5000, "not a valid run"),
        (
            b'{"file_version": 1, "thread": {"0": {"cycles": 3}}}',
            "this is a cyclictest-json file, not a run file: use rtscope import",
        ),
    ],
)
def test_a_bad_run_file_gets_a_sentence(data: bytes, words: str) -> None:
    assert words in text_of(data)


@given(st.binary(max_size=300))
def test_any_bytes_get_a_sentence(data: bytes) -> None:
    text_of(data)


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
    data = encode_run(a_run(histogram, threads=64))
    decode_run(data)
    begin = time.process_time()
    decode_run(data)
    assert time.process_time() - begin < 3  # ten times what it may take: this finds a quadratic


def test_a_file_too_large_for_a_run_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "huge.json"
    with path.open("wb") as file:
        file.truncate(513 * 1024 * 1024)
    with pytest.raises(RtscopeError, match="larger than 512 MiB"):
        read_run(path)


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(RtscopeError, match=r"none\.json cannot be read: No such file"):
        read_run(tmp_path / "none.json")
    with pytest.raises(RtscopeError, match="Is a directory"):
        read_run(tmp_path)
    (tmp_path / "bad.json").write_bytes(b"{")
    with pytest.raises(RtscopeError, match=r"bad\.json: truncated"):
        read_run(tmp_path / "bad.json")


def test_an_existing_file_is_kept_unless_asked(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text("precious")
    with pytest.raises(RtscopeError, match="exists already"):
        write_run(a_run(), path)
    assert path.read_text() == "precious"
    write_run(a_run(), path, overwrite=True)
    assert read_run(path) == a_run()
    assert list(tmp_path.iterdir()) == [tmp_path / "run.json"]


def test_a_link_is_written_through(tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text("old")
    (tmp_path / "link.json").symlink_to("real.json")
    write_run(a_run(), tmp_path / "link.json", overwrite=True)
    assert (tmp_path / "link.json").is_symlink()
    assert read_run(tmp_path / "real.json") == a_run()


def test_a_run_is_written_to_a_device_as_it_is(tmp_path: Path) -> None:
    write_run(a_run(), Path("/dev/null"))
    with pytest.raises(RtscopeError, match="/dev/full: No space left on device"):
        write_run(a_run(), Path("/dev/full"))
    with pytest.raises(RtscopeError, match="is a directory"):
        write_run(a_run(), tmp_path)


@pytest.mark.parametrize("existing", [True, False])
def test_a_full_disk_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, existing: bool
) -> None:
    path = tmp_path / "run.json"
    if existing:
        path.write_text("precious")

    def full(file: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.write", full)
    with pytest.raises(RtscopeError, match="No space left on device; nothing there was changed"):
        write_run(a_run(), path, overwrite=True)
    assert list(tmp_path.iterdir()) == ([path] if existing else [])
    assert not existing or path.read_text() == "precious"


def test_a_new_file_may_be_read_by_others_as_the_umask_says(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        write_run(a_run(), tmp_path / "run.json")
    finally:
        os.umask(before)
    assert (tmp_path / "run.json").stat().st_mode & 0o777 == 0o644


@given(runs(most_threads=1))
def test_written_twice_is_the_same_bytes(tmp_path: Path, run: Run) -> None:
    write_run(run, tmp_path / "a.json", overwrite=True)
    write_run(read_run(tmp_path / "a.json"), tmp_path / "b.json", overwrite=True)
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
