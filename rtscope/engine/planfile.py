# SPDX-License-Identifier: GPL-2.0-only
"""Plan files: probes × loads × intervals × policies × targets in TOML."""

import difflib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec

from rtscope.engine.planranges import number_ranges
from rtscope.model.budget import parse_limit
from rtscope.model.errors import RtscopeError
from rtscope.model.plan import Plan, PlanLimit, PlanTime
from rtscope.model.tomlfile import Place, TomlKind, explained, line_of, parse_text, read_text
from rtscope.model.units import parse_time_ns

_EXPECTED: Final = {
    # numbers: planranges.py
    "title": 'the plan\'s title in one line, such as "Idle and under load"',
    "measure": "one or several tables [[measure]]",
    "placement": "one or several tables [[placement]]",
    "budget": "tables [[budget]]",
    "probes": 'a list of probes, such as ["cyclic", "gtod"]',
    "loads": 'a list of loads, such as ["idle", "files:50+network:1"]',
    "intervals": 'a list of times, such as ["200us", "1ms"]',
    "policies": 'a list of policies, such as ["fifo"]',
    "targets": 'a list of targets, such as ["local"]',
    "limits": 'a list of limits, such as ["max<50us", "missed<1"]',
    "order": '"shuffled" or "as written"',
    "duration": 'a time, such as "30s"',
    "default_duration": 'a time, such as "60s"',
    "samples_file": 'a file, such as "samples.tsv"',
    "above": 'a time, such as "50us"',
    "explain_deep": '"function", "preemptirq", "irqsoff" or "preemptoff"',
    "until": 'a list of limits on percentiles, such as ["p99.999<50us"]',
    "kind": '"scale" or "interfere"',
    "program": 'a command and its arguments, such as ["./app", "--threads", "{n}"]',
    "threads": 'numbers of threads, such as "1-4,8"',
    "load_cpus": 'CPUs, such as "0-3,8"',
    "forms": 'a list of scalar and vector, such as ["scalar"]',
    "table": 'a size, such as "64M"',
    "break": 'a time, such as "100us"',
    "watchdog": 'a time, such as "10s"',
    "idle_states": '"default", "off" or "limit:TIME", such as "limit:50us"',
    "tune": 'a tuning profile and CPUs, such as { profile = "isolated-cores", cpus = "1-N" }',
    "profile": 'the name of a tuning profile, such as "isolated-cores", or its file',
    "cpus": 'CPUs, such as "0-3,8"',
    "steps": "a list of numbers, such as [0, 3]; 0 is the machine as booted",
    "options": "a table of the probe's own options by their names, whose values are text, numbers, "
    'or lists of these, such as { method = ["nanosleep", "timerfd"] }',
}
_TABLES: Final = ("measure", "placement", "budget")
_SHIPPED: Final = Path(__file__).parents[1] / "plans"


class PlanFile:
    """A plan and its file, for errors that name the line."""

    def __init__(self, plan: Plan, path: Path | None = None, text: str = "") -> None:
        """Take the plan and the file's text; a command's plan has no `path`."""
        self.plan = plan
        self.path = path
        self._text = text

    def with_changes(self, **changes: Any) -> "PlanFile":  # noqa: ANN401 - any field of a plan
        """Return the plan with other values of these keys."""
        return PlanFile(msgspec.structs.replace(self.plan, **changes), self.path, self._text)

    def refusal(self, where: Place, sentence: str) -> RtscopeError:
        """Return an error that names the file, the line of `where` or of its table, and the keys.

        Of a plan that a command made it is the sentence alone.
        """
        if self.path is None:
            return RtscopeError(sentence)
        keys = [key for key in where if isinstance(key, str)]
        if keys[0] in _TABLES:
            del keys[0]
        prefix = "".join(f"{key}: " for key in keys)
        return RtscopeError(f"{self.path}:{line_of(self._text, where)}: {prefix}{sentence}")


def shipped_names() -> list[str]:
    """Return the names of the plans that come with rtscope."""
    return sorted(path.stem for path in _SHIPPED.glob("*.toml"))


def plan_names(incomplete: str) -> list[str]:
    """Return what completes a plan's name."""
    return [name for name in shipped_names() if name.startswith(incomplete)]


def find_plan(name: str) -> PlanFile:
    """Return one of rtscope's own plans by its name, or a file by its path. Raises RtscopeError."""
    known = shipped_names()
    if name in known:
        return read_plan(_SHIPPED / f"{name}.toml")
    if "/" in name or name.endswith(".toml"):
        return read_plan(Path(name))
    near = "".join(f": is it {one}?" for one in difflib.get_close_matches(name, known, 1))
    raise RtscopeError(
        f"there is no plan '{name[:80]}'{near or ':'} rtscope has {', '.join(known)}; one of your "
        "own is named by its file, such as ./mine.toml"
    )


def read_plan(path: Path) -> PlanFile:
    """Read a plan file. Raises RtscopeError that names the file and, if there is one, the line."""
    return parse_plan(read_text(path, _kind()), path)


def parse_plan(text: str, path: Path) -> PlanFile:
    """Read a plan's text; `path` is for its errors. Raises RtscopeError."""
    file = PlanFile(parse_text(text, path, Plan, _kind(), _decode), path, text)
    _check_ranges(file)
    return file


def made_plan(content: dict[str, Any]) -> PlanFile:
    """Return a plan made from a command's options. Raises RtscopeError."""
    try:
        plan = msgspec.convert(content, type=Plan, dec_hook=lambda kind, value: kind(value))
    except msgspec.ValidationError as error:
        raise RtscopeError(explained(error, Plan, _kind())[1]) from None
    return PlanFile(plan)


@cache
def _kind() -> TomlKind:
    """Return what is expected of a plan. Raises RtscopeError."""
    numbers = {key: one.words("a number") for key, one in number_ranges().items()}
    return TomlKind("plan", _EXPECTED | numbers)


def _check_ranges(file: PlanFile) -> None:
    """Refuse numbers that the agent would. Raises RtscopeError."""
    tables: dict[str, Sequence[msgspec.Struct]] = {
        "measure": file.plan.measure,
        "placement": file.plan.placement,
    }
    for name, records in tables.items():
        for index, record in enumerate(records):
            for field in msgspec.structs.fields(record):
                key, value = field.encode_name, getattr(record, field.name)
                allowed = number_ranges().get(key)
                if allowed and value is not None and not allowed.has(value):
                    sentence = f"expected {_kind().expected[key]}, not {value}"
                    raise file.refusal((name, index, key), sentence)


def _decode(kind: type, value: Any) -> Any:  # noqa: ANN401 - any TOML value
    try:
        if kind is PlanTime:
            if not isinstance(value, str):
                raise ValueError(
                    f'{str(value)[:60]} is not a time: write one in quotes, such as "200us"'
                )
            return PlanTime(parse_time_ns(value))
        if kind is PlanLimit:
            if not isinstance(value, str):
                raise ValueError(
                    f'{str(value)[:60]} is not a limit: write one in quotes, such as "max<50us"'
                )
            parse_limit(value)
            return PlanLimit(value)
    except RtscopeError as error:
        raise ValueError(str(error)) from None
    raise NotImplementedError(kind)
