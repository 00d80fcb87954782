# SPDX-License-Identifier: GPL-2.0-only
"""What the readers of other tools' files share: text, tolerant JSON, histograms, ids."""

import hashlib
import json
import math
import re
from collections.abc import Iterable
from typing import Any, Final, TypeVar

import msgspec

from rtscope.model.errors import RtscopeError
from rtscope.model.histogram import Histogram
from rtscope.model.machine import Machine
from rtscope.model.run import RunWarning
from rtscope.model.units import LONGEST_NS
from rtscope.store.runfile import is_cut, storable

MOST_BYTES: Final = 64 * 1024 * 1024
UNIT_ASSUMED: Final = RunWarning(
    "unit-assumed",
    "the imported text does not state its unit and was read as microseconds. If cyclictest ran "
    "with -N, every time is 1000 times too large: import it again with --unit ns",
)

_T = TypeVar("_T")
_ANSI: Final = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_MISSING: Final = re.compile(r"Object missing required field `(.*?)`(?: - at `\$?\.?(.*)`)?")
_NO_FIGURE: Final = re.compile(
    r'^([ \t]*"(?:avg|min|max|duration)":[ \t]*)-?(?:nan|inf)\b', re.MULTILINE | re.IGNORECASE
)
_DECIMAL_COMMA: Final = re.compile(
    r'^([ \t]*"(?:avg|duration)":[ \t]*\d{1,20}),(?=\d)', re.MULTILINE
)
_CMDLINE: Final = re.compile(r'"cmdline:?"[ \t]*:[ \t]*"')
_AFTER_CMDLINE: Final = re.compile(r'",[ \t]*\n[ \t]*"rt_test_version')


def read_text(data: bytes, tool: str) -> str:
    """Text with LF line ends and without byte order mark and terminal colours.

    Bytes that are not UTF-8 become U+FFFD: a command line may hold any. Raises RtscopeError.
    """
    if len(data) > MOST_BYTES:
        raise RtscopeError(f"larger than {MOST_BYTES // 1024**2} MiB, which no {tool} output is")
    if not data.strip():
        raise RtscopeError("the file is empty: run the tool again and let it end by itself")
    text = data.decode(errors="replace").removeprefix("\ufeff").replace("\r\n", "\n")
    return _ANSI.sub("", text)


def read_json(text: str, tool: str) -> dict[str, Any]:
    """The object in a tool's JSON, with what these tools are known to print wrongly put right:
    an unescaped command line, nan averages, decimal commas, keys that end in a colon.

    Raises RtscopeError.
    """
    try:
        value = _loads(text)
    except json.JSONDecodeError:
        text = _DECIMAL_COMMA.sub(r"\1.", _NO_FIGURE.sub(r"\1null", _escape_cmdline(text)))
        try:
            value = _loads(text)
        except json.JSONDecodeError as error:
            raise RtscopeError(
                f"this {tool} file is truncated: it ends after {len(text)} characters"
                if is_cut(error)
                else f"this {tool} file is not JSON at line {error.lineno} column {error.colno} "
                f"({error.msg}): let {tool} write it again"
            ) from None
    if not isinstance(value, dict):
        raise RtscopeError(f"this is not a {tool} file: it holds no JSON object")
    return {key.removesuffix(":"): item for key, item in value.items()}


def convert(value: object, kind: type[_T], tool: str) -> _T:
    """Check decoded JSON against a record; a sentence that names the missing or wrong key."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        missing = _MISSING.fullmatch(str(error))
        if missing is None:
            raise RtscopeError(f"this {tool} file has a wrong value: {error}") from None
        where = f" in {missing[2]}" if missing[2] else ""
        raise RtscopeError(
            f"this {tool} file has no key '{missing[1]}'{where}: it is incomplete or was written "
            f"by a {tool} that rtscope does not know"
        ) from None


def import_id(data: bytes, kind: str) -> str:
    """The id of an imported run: the same file gives the same id."""
    return hashlib.sha256(kind.encode() + b"\0" + data).hexdigest()[:16]


def counts_of(histogram: dict[str, int], tool: str) -> list[tuple[int, int]]:
    """(latency in the tool's unit, samples), ascending and without empty ones."""
    counts: dict[int, int] = {}
    for key, count in histogram.items():
        if not re.fullmatch("[0-9]{1,18}", key, re.ASCII):
            raise RtscopeError(f"this {tool} file has a bucket '{key[:40]}', which is no number")
        if count < 0:
            raise RtscopeError(f"this {tool} file has a negative count in its bucket {key}")
        if count:
            counts[int(key)] = counts.get(int(key), 0) + count
    return sorted(counts.items())


def binned(
    buckets: Iterable[tuple[int, int, int]],
    tool: str,
    beyond_count: int = 0,
    beyond_ns: int = 0,
) -> Histogram:
    """A histogram of (lower end in ns, width in ns, samples), without the empty ones.

    `beyond_ns` is raised to the end of the last bucket. Raises RtscopeError.
    """
    filled = [bucket for bucket in buckets if bucket[2]]
    end = filled[-1][0] + filled[-1][1] if filled else 0
    try:
        return Histogram(
            [lower for lower, _, _ in filled],
            [width for _, width, _ in filled],
            [count for _, _, count in filled],
            beyond_count,
            max(beyond_ns, end) if beyond_count else 0,
        )
    except ValueError as error:
        raise RtscopeError(f"this {tool} file contradicts itself: {error}") from None


def scaled(value: float | None, unit_ns: int) -> float | None:
    """A mean in nanoseconds; None where the tool had none (nan)."""
    if value is None or not math.isfinite(value) or abs(value) * unit_ns > LONGEST_NS:
        return None
    return round(value * unit_ns, 3)


def machine_of(
    hostname: str | None,
    architecture: str | None,
    release: str | None,
    version: str | None,
    realtime: bool = False,
) -> Machine:
    """The machine according to uname. `realtime` is the content of /sys/kernel/realtime, which
    mainline 6.12 and later do not have: there only the kernel's version string shows it."""
    named = "PREEMPT_RT" in (version or "") or "PREEMPT RT" in (version or "")
    evidence = "/sys/kernel/realtime" if realtime else "the kernel's version string"
    return Machine(
        hostname=hostname,
        architecture=architecture,
        kernel_release=release,
        kernel_version=version,
        preemption="rt" if realtime or named else None,
        preemption_evidence=f"{evidence}, as imported" if realtime or named else None,
    )


def _loads(text: str) -> Any:  # noqa: ANN401 - any JSON value
    try:
        return storable(json.loads(text, parse_constant=lambda _: None))
    except json.JSONDecodeError:
        raise
    except RecursionError:
        raise RtscopeError("not read: its JSON is nested too deeply") from None
    except ValueError:  # an integer of more than 4300 digits
        raise RtscopeError("not read: it holds a number far beyond 2^63") from None


def _escape_cmdline(text: str) -> str:
    begin = _CMDLINE.search(text)
    end = _AFTER_CMDLINE.search(text, begin.end()) if begin else None
    if begin is None or end is None:
        return text
    return (
        text[: begin.end() - 1]
        + json.dumps(text[begin.end() : end.start()])
        + text[end.start() + 1 :]
    )
