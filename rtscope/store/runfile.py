# SPDX-License-Identifier: GPL-2.0-only
"""Run files: one Run as JSON, read with distrust and written whole or not at all."""

import codecs
import json
import math
import re
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from rtscope.model.errors import RtscopeError
from rtscope.model.run import FORMAT_VERSION, Run, Thread, Windows
from rtscope.model.units import LONGEST_NS
from rtscope.store.files import write_file
from rtscope.store.sniff import sniff

MOST_BYTES: Final = 512 * 1024 * 1024
MOST_THREADS: Final = 8192

_ID: Final = re.compile(r"[0-9a-f]{16}")
_ZEROS: Final = bytes.maketrans(b"123456789", b"000000000")
_LONG_NUMBER: Final = b"0" * len(str(LONGEST_NS))
_YEARS: Final = range(1900, 2600)
"""of a run's start: Python's calendar and those of other tools hold its end too"""


def encode_run(run: Run) -> bytes:
    """One line of UTF-8 JSON. Text that UTF-8 cannot hold is written as \\udcXX."""
    try:
        return msgspec.json.encode(run) + b"\n"
    except UnicodeEncodeError:
        return msgspec.json.encode(storable(msgspec.to_builtins(run))) + b"\n"


def decode_run(data: bytes) -> Run:
    """Read the output of encode_run. Raises RtscopeError with the fault and its place."""
    if len(data) > MOST_BYTES:
        raise RtscopeError(f"larger than {MOST_BYTES // 1024**2} MiB, which no run file is")
    if run := _as_it_was_written(data):
        check_run(run)
        return run
    data = data.removeprefix(codecs.BOM_UTF8)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise RtscopeError(
            f"not a run file: byte {error.start} is not UTF-8 text; export the run again"
        ) from None
    _check_shape(_parse(text), text)
    try:
        run = msgspec.json.decode(data, type=Run)
    except (msgspec.DecodeError, RecursionError) as error:
        raise RtscopeError(f"not a valid run: {error}; export the run again") from None
    check_run(run)
    return run


def write_run(run: Run, path: Path, *, overwrite: bool = False) -> None:
    """Write a run file, whole or not at all (write_file). Raises RtscopeError."""
    write_file(encode_run(run), path, f"run {run.id}", overwrite=overwrite)


def check_run(run: Run) -> None:
    """Refuse a record that contradicts itself. Raises RtscopeError."""
    if not _ID.fullmatch(run.id):
        raise RtscopeError(f"not a valid run: its id {run.id!r} is not sixteen hexadecimal digits")
    try:
        year = datetime.fromisoformat(run.created).year
    except ValueError:
        raise RtscopeError(
            f"not a valid run: its start {run.created!r} is not an ISO 8601 time"
        ) from None
    if year not in _YEARS:
        raise RtscopeError(
            f"not a valid run: its start {run.created!r} is not between the years "
            f"{_YEARS.start} and {_YEARS.stop - 1}"
        )
    if (run.elapsed_ns or 0) < 0:
        raise RtscopeError(f"not a valid run: it lasted {run.elapsed_ns} ns")
    if len(run.threads) > MOST_THREADS:
        raise RtscopeError(
            f"not a valid run: it has {len(run.threads)} threads, more than the {MOST_THREADS} "
            "that a machine can have"
        )
    for thread in run.threads:
        problem = _problem_of(thread)
        if problem:
            raise RtscopeError(f"not a valid run: thread {thread.thread} has {problem}")
    problem = _problem_of_placements(run)
    if problem:
        raise RtscopeError(f"not a valid run: its series {problem}")


def is_cut(error: json.JSONDecodeError) -> bool:
    """True where JSON is wrong only because it ends too early."""
    rest = error.doc[error.pos : error.pos + 16].strip()
    begun = any(word.startswith(rest) for word in ("", "true", "false", "null", "-"))
    return begun or error.msg.startswith("Unterminated string")


def _problem_of(thread: Thread) -> str | None:
    missed = thread.missed or 0
    if thread.count < 0 or missed < 0:
        return "a negative count"
    if thread.count != thread.histogram.total:
        return (
            f"a count of {thread.count} samples, but its histogram holds {thread.histogram.total}"
        )
    values = [missed, thread.min_ns or 0, thread.max_ns or 0]
    values += [sample.latency_ns for sample in thread.worst]
    if max(map(abs, values)) > LONGEST_NS:
        return "a value beyond 2^63"
    if thread.min_ns is not None and thread.max_ns is not None and thread.min_ns > thread.max_ns:
        return f"a minimum of {thread.min_ns} ns above its maximum of {thread.max_ns} ns"
    if not all(math.isfinite(value or 0) for value in (thread.mean_ns, thread.stddev_ns)):
        return "a mean or standard deviation that is no number"
    return _contradiction_in(thread) or _problem_of_windows(thread.windows)


def _problem_of_placements(run: Run) -> str | None:
    series = run.placement_series
    if series is None:
        return None
    medians = [cell.medians_ns for cell in series.cells]
    placements = [cell.placement for cell in series.cells]
    placements += [place for order in series.orders for place in order.placements]
    placements += [pair.placement for pair in series.pairs]
    rules = {
        f"has {len(medians)} cells for {len(run.threads)} threads": len(medians)
        == len(run.threads),
        "has a cell without samples": all(thread.histogram.lower_ns for thread in run.threads),
        f"has a cell without a median for each of {series.rounds} rounds": all(
            len(one) == series.rounds > 0 for one in medians
        ),
        "has a median that is no time": all(0 < ns < LONGEST_NS for one in medians for ns in one),
        "has a placement without a CPU or without a thread": all(
            place.cpus and place.threads > 0 for place in placements
        ),
    }
    return next((problem for problem, holds in rules.items() if not holds), None)


def _contradiction_in(thread: Thread) -> str | None:
    """Values against each other and the histogram, as exact as the tool that wrote them is."""
    histogram, low, high = thread.histogram, thread.min_ns, thread.max_ns
    if histogram.lower_ns:
        first, last = histogram.lower_ns[0], histogram.lower_ns[-1]
        if high is not None and high < last:
            return f"a maximum of {high} ns, but its histogram has samples from {last} ns on"
        if low is not None and not first <= low <= first + histogram.width_ns[0]:  # or rounded up
            return f"a minimum of {low} ns, but its histogram begins at {first} ns"
    if (thread.stddev_ns or 0) < 0:
        return "a negative standard deviation"
    worst = max((sample.latency_ns for sample in thread.worst), default=0)
    if high is not None and worst > high:
        return f"a worst sample of {worst} ns above its maximum of {high} ns"
    return _problem_of_mean(thread)


def _problem_of_mean(thread: Thread) -> str | None:
    if thread.mean_ns is None or not thread.count:
        return None
    unit = max([1000, *thread.histogram.width_ns[-1:]])
    slack = unit + 1e-9 * abs(thread.mean_ns)
    if thread.min_ns is not None and thread.mean_ns < thread.min_ns - slack:
        return f"a mean of {thread.mean_ns:g} ns below its minimum of {thread.min_ns} ns"
    if thread.max_ns is not None and thread.mean_ns > thread.max_ns + slack:
        return f"a mean of {thread.mean_ns:g} ns above its maximum of {thread.max_ns} ns"
    return None


def _problem_of_windows(windows: Windows) -> str | None:
    if any(count < 0 for count in windows.count):
        return "a negative count in a window"
    values = (windows.end_ns, windows.count, windows.max_ns)
    if any(max(map(abs, column), default=0) > LONGEST_NS for column in values):
        return "a value beyond 2^63 in a window"
    return None


def _as_it_was_written(data: bytes) -> Run | None:
    """The run if these are the bytes that encode_run makes of it: then no key stands twice, and
    half the time of reading is saved. None for other bytes, which _parse checks.
    """
    if _LONG_NUMBER in data.translate(_ZEROS):
        return None
    try:
        run = msgspec.json.decode(data, type=Run)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return run if 1 <= run.version <= FORMAT_VERSION and encode_run(run) == data else None


def _parse(text: str) -> Any:  # noqa: ANN401 - any JSON value
    """Check faults that msgspec accepts (duplicate keys) or reports badly (truncation, line)."""
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        foreign = sniff(text)
        if foreign is not None and foreign != "rtscope":
            raise RtscopeError(_foreign(foreign)) from None
        if not text.strip():
            raise RtscopeError("not a run file: it is empty") from None
        if is_cut(error):
            raise RtscopeError(
                f"truncated: the file ends after {len(text)} characters in the middle of the run; "
                "copy or export it again"
            ) from None
        raise RtscopeError(
            f"not a run file: line {error.lineno} column {error.colno} is not JSON ({error.msg})"
        ) from None
    except RecursionError:
        raise RtscopeError("not a run file: its JSON is nested too deeply") from None
    except ValueError as error:
        raise RtscopeError(f"not a valid run: {error}") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice[:80]!r} stands twice in one object")
    for key, value in pairs:
        if isinstance(value, int) and abs(value) > LONGEST_NS:
            raise ValueError(f"the number at {key[:80]!r} is beyond 2^63")
    return result


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number")


def _check_shape(value: Any, text: str) -> None:  # noqa: ANN401 - any JSON value
    if not isinstance(value, dict) or value.get("format") != "rtscope-run":
        foreign = sniff(text)
        if foreign is not None and foreign != "rtscope":
            raise RtscopeError(_foreign(foreign))
        raise RtscopeError(
            'not a run file: it is JSON without "format": "rtscope-run"; '
            "rtscope measure -o and rtscope export write run files"
        )
    version = value.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise RtscopeError(f"not a valid run: its version {str(version)[:40]!r} is not a number")
    if version > FORMAT_VERSION:
        raise RtscopeError(
            f"written by a newer rtscope (format {version}); this one reads up to {FORMAT_VERSION}:"
            " update rtscope"
        )


def _foreign(name: str) -> str:
    return f"this is a {name} file, not a run file: use rtscope import"


def storable(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Replace the surrogates that Python makes of undecodable arguments and host names."""
    if isinstance(value, str):
        return value.encode(errors="backslashreplace").decode()
    if isinstance(value, list):
        return [storable(item) for item in value]
    if isinstance(value, dict):
        return {storable(key): storable(item) for key, item in value.items()}
    return value
