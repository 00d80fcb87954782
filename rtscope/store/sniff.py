# SPDX-License-Identifier: GPL-2.0-only
"""The tool that wrote a file, detected from its text."""

import re
from typing import Final, Literal

Format = Literal[
    "rtscope",
    "cyclictest-json",
    "cyclictest-histogram",
    "cyclictest-text",
    "oslat-json",
    "rtla-timerlat",
    "rtla-analysis",
    "jitterdebugger",
    "latmus",
    "rteval",
]
FORMATS: Final[dict[Format, str]] = {
    "rtscope": "a run file",
    "cyclictest-json": "--json of cyclictest, signaltest or cyclicdeadline",
    "cyclictest-histogram": "-h or --histfile of cyclictest",
    "cyclictest-text": "output of cyclictest, signaltest or cyclicdeadline",
    "oslat-json": "--json of oslat",
    "rtla-timerlat": "output of rtla timerlat hist",
    "rtla-analysis": "auto-analysis of rtla timerlat",
    "jitterdebugger": "results.json of jitterdebugger -o",
    "latmus": "output of EVL's latmus -g",
    "rteval": "summary.xml of rteval",
}

HEAD: Final = 65536
"""characters that contain the distinctive keys of each JSON format"""

_KEY: Final = re.compile(r'"([a-z_]{1,32}:?)"[ \t]*:')
_TEXTS: Final[tuple[tuple[re.Pattern[str], Format], ...]] = (
    (re.compile(r"RTLA timerlat histogram"), "rtla-timerlat"),
    (re.compile(r"hit stop tracing, analyzing it ##"), "rtla-analysis"),
    (re.compile(r"# Histogram|# Min Latencies:"), "cyclictest-histogram"),
    (re.compile(r"T: ?\d{1,9} ?\( ?[ \d]{1,12}\) [PI]:"), "cyclictest-text"),
    (re.compile(r"^# sampling period: \d{1,9} microseconds$", re.MULTILINE), "latmus"),
)
"""the first that is found anywhere in a text names its format"""


def sniff(text: str) -> Format | None:
    """The format of a file's text, or None when it is none of FORMATS."""
    start = text.lstrip("\ufeff \t\r\n")
    if start.startswith("{"):
        return _sniff_json(start)
    if start.startswith("<"):
        return "rteval" if "<rteval" in start[:HEAD] else None
    return next((name for pattern, name in _TEXTS if pattern.search(text)), None)


def _sniff_json(text: str) -> Format | None:
    keys = {key.rstrip(":") for key in _KEY.findall(text, 0, HEAD)}
    if {"created", "probe"} <= keys or '"rtscope-run"' in text:
        return "rtscope"
    if "thread" in keys:
        if keys & {"cycles", "resolution_in_ns"}:
            return "cyclictest-json"
        return "oslat-json" if keys & {"freq", "duration"} else None
    if "file_version" in keys:
        return None  # another program of rt-tests
    return "jitterdebugger" if {"version", "cpu"} <= keys else None
