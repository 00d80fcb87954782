# SPDX-License-Identifier: GPL-2.0-only
"""JSON on standard output, one line for each value."""

import re
from collections.abc import Sequence

import msgspec

from rtscope.engine.until import Outlook
from rtscope.model.run import Run
from rtscope.statistics.findings import advice_of, findings_of
from rtscope.statistics.response import response_metrics
from rtscope.store.runfile import encode_run

_STEERING = re.compile(
    "[\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u08e2\u180e\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001-\U000e007f]"
)
"""Unicode categories Cc beyond C0, Cf, Zl and Zp"""


def json_line(value: object) -> str:
    """The value as one line of JSON that cannot steer the terminal it is printed to.

    Names in it come from targets and files. C0 controls are escaped in any JSON; C1 controls,
    format characters such as U+202E, and line separators are escaped here.
    """
    text = value if isinstance(value, bytes) else msgspec.json.encode(value, enc_hook=int)
    return _STEERING.sub(_escaped, text.decode().strip())


def print_json(value: object) -> None:
    """Print a value, or JSON that is already encoded, as one line on standard output."""
    print(json_line(value))


def print_run(run: Run, until: Sequence[Outlook] = ()) -> None:
    """Print a run as a line of JSON, with its findings and response times; a placement series with
    its advice.
    """
    record = msgspec.json.decode(encode_run(run))
    if run.placement_series:
        record["advice"] = msgspec.to_builtins(advice_of(run))
    record["findings"] = msgspec.to_builtins(findings_of(run))
    record["responses"] = msgspec.to_builtins(response_metrics(run))
    if until:
        record["until"] = msgspec.to_builtins(until)
    print_json(record)


def _escaped(match: re.Match[str]) -> str:
    code_units = match[0].encode("utf-16-be").hex()
    return "".join(f"\\u{code_units[at : at + 4]}" for at in range(0, len(code_units), 4))
