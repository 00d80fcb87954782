# SPDX-License-Identifier: GPL-2.0-only
"""Tuning profiles: TOML that names what to change, step by step (docs/reference/tune.md).

A profile reaches the agent as rules, each a kind and `key=value` words
(docs/reference/protocol.md), in the order of its steps and, within a step, always in the same one:
what is for all threads or interrupts comes before what is for some of them, because the last rule
that matches decides.
"""

import difflib
import re
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from rtscope.model.cpulist import format_cpu_list, parse_cpu_list
from rtscope.model.errors import RtscopeError
from rtscope.model.machine import Machine
from rtscope.model.plan import OneLine, PlanTime
from rtscope.model.tomlfile import TomlKind, line_of, parse_text, read_text
from rtscope.model.tuning import AS_BOOTED, TuningStep
from rtscope.model.units import parse_time_ns

FILLED: Final = ("cpus", "others", "cpus_mask", "others_mask")
"""placeholders of a profile, in braces"""
NEEDS_BOOT: Final = "boot "
"""prefix of rules that take effect at the next boot"""

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_OPEN: Final = re.compile(r"\{([^{}]*)\}")
_MASK_BITS: Final = 32
_MEASURED: Final = "measurement"
_UID_MAX: Final = 2**32 - 2

Filled = Annotated[str, Meta(pattern=r"^[^\x00-\x1f\x7f]+$", max_length=1000)]
Cpus = Annotated[str, Meta(pattern=r"^(\{(cpus|others)\}|[0-9,:-]+)$", max_length=1000)]


class Away(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Move all threads, or all interrupts, off these CPUs."""

    away: Cpus


class ThreadRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Threads by name, user and executable.

    Raises ValueError if it changes nothing or contradicts itself.
    """

    name: Filled
    of: Literal["kernel", "program"] | None = None
    uid: Annotated[int, Meta(ge=0, le=_UID_MAX)] | None = None
    exe: Annotated[str, Meta(pattern=r"^/[^\x00-\x1f\x7f]*$", max_length=1000)] | None = None
    policy: Literal["other", "batch", "idle", "fifo", "rr"] | None = None
    priority: Annotated[int, Meta(ge=1, le=99)] | None = None
    nice: Annotated[int, Meta(ge=-20, le=19)] | None = None
    cpus: Cpus | None = None

    def __post_init__(self) -> None:
        if (self.policy in ("fifo", "rr")) != (self.priority is not None):
            raise ValueError(
                f"'{self.name}': policy fifo or rr needs a priority, and a priority "
                f"needs policy fifo or rr"
            )
        if all(value is None for value in (self.policy, self.nice, self.cpus)):
            raise ValueError(f"'{self.name}' changes nothing: give policy, nice or cpus")
        if self.of == "kernel" and (self.uid is not None or self.exe is not None):
            raise ValueError(f"'{self.name}': kernel threads have no uid and no exe")
        if self.nice is not None and self.priority is not None:
            raise ValueError(f"'{self.name}': nice has no effect on fifo and rr")


class InterruptRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Interrupts by the names of their handlers."""

    name: Filled
    cpus: Cpus


class FileRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Files of the kernel, and their new content."""

    path: Annotated[str, Meta(pattern=r"^/(proc/sys|sys)/[^\x00-\x1f\x7f]+$", max_length=1000)]
    value: Filled


class Partition(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """CPUs without load balancing by the scheduler."""

    cpus: Cpus


class Irqbalance(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """CPUs that the daemon irqbalance must not use."""

    ban: Cpus


class Boot(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Kernel parameters for the next boot."""

    add: Filled


class Latency(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The maximum exit latency of idle states."""

    limit: PlanTime


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One [[step]]. Raises ValueError if it has no rule."""

    name: Annotated[OneLine, Meta(min_length=1)]
    why: str = ""
    tasks: Away | None = None
    interrupts: Away | None = None
    irqbalance: Irqbalance | None = None
    thread: list[ThreadRule] = []
    interrupt: list[InterruptRule] = []
    file: list[FileRule] = []
    partition: Partition | None = None
    latency: Latency | None = None
    boot: Boot | None = None

    def __post_init__(self) -> None:
        if self.name == AS_BOOTED:
            raise ValueError(
                f"'{AS_BOOTED}' is the name of the state before the first step: choose another"
            )
        if not list(_rules(self)):
            raise ValueError(f"the step '{self.name}' changes nothing")


class _Content(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file."""

    description: Annotated[OneLine, Meta(min_length=1)]
    step: Annotated[list[Step], Meta(min_length=1, max_length=100)]


class Profile(msgspec.Struct, frozen=True):
    """A complete profile, named as its file."""

    name: str
    description: str
    steps: list[Step]

    @property
    def is_for_cpus(self) -> bool:
        """Whether it needs --cpus."""
        return any(_OPEN.search(rule) for step in self.steps for rule in _rules(step))


_CPUS: Final = 'CPUs: "{cpus}", "{others}", or a list such as "0-3,8"'
_KIND: Final = TomlKind(
    "profile",
    {
        "description": "one line that describes its purpose",
        "step": "one or several tables [[step]]",
        "away": _CPUS,
        "cpus": _CPUS,
        "ban": _CPUS,
        "of": '"kernel" or "program"',
        "uid": "the number of a user, such as 1000",
        "exe": 'the path of an executable, such as "/usr/bin/jackd"; it may be a pattern',
        "policy": '"other", "batch", "idle", "fifo" or "rr"',
        "priority": "a number from 1 to 99",
        "nice": "a number from -20 to 19",
        "path": 'a file below /proc/sys or /sys, such as "/proc/sys/kernel/timer_migration"',
        "value": 'text, such as "0"',
        "limit": 'a time, such as "0us"',
        "add": 'kernel parameters, such as "nohz_full={cpus}"',
        "thread": "tables [[step.thread]]",
        "interrupt": "tables [[step.interrupt]]",
        "file": "tables [[step.file]]",
        "tasks": 'a table, such as { away = "{cpus}" }',
        "interrupts": 'a table, such as { away = "{cpus}" }',
        "irqbalance": 'a table, such as { ban = "{cpus}" }',
        "partition": 'a table, such as { cpus = "{cpus}" }',
        "latency": 'a table, such as { limit = "0us" }',
        "boot": 'a table, such as { add = "nohz_full={cpus}" }',
    },
)


def shipped_names() -> list[str]:
    """The names of the profiles that rtscope ships."""
    folder = files("rtscope") / "profiles"
    return sorted(
        one.name.removesuffix(".toml") for one in folder.iterdir() if one.name.endswith(".toml")
    )


def read_profile(name: str) -> Profile:
    """Read one of rtscope's profiles by its name, or a file by its path. Raises RtscopeError."""
    if "/" in name or name.endswith(".toml"):
        path = Path(name)
        return parse_profile(read_text(path, _KIND), path)
    known = shipped_names()
    if name not in known:
        near = "".join(f": is it {one}?" for one in difflib.get_close_matches(name, known, 1))
        raise RtscopeError(
            f"there is no profile '{name[:80]}'{near or ':'} rtscope has {', '.join(known)}; "
            "give your own profile as a path, such as ./mine.toml"
        )
    text = (files("rtscope") / "profiles" / f"{name}.toml").read_text(encoding="utf-8")
    return parse_profile(text, Path(f"{name}.toml"))


def parse_profile(text: str, path: Path) -> Profile:
    """Parse a profile's text; `path` gives its name and is used in errors. Raises RtscopeError."""
    name = path.name.removesuffix(".toml")
    if not _NAME.fullmatch(name):
        raise RtscopeError(
            f"{path}: the file name '{name[:80]}' is not a valid profile name: use letters, "
            f"digits, '.', '_' and '-', at most 63"
        )
    if name == _MEASURED:
        raise RtscopeError(
            f"{path}: '{name}' is reserved for measurements, which undo the profile of that name "
            f"when they start: rename the file"
        )
    content = parse_text(text, path, _Content, _KIND, _decode)
    names: set[str] = set()
    for number, step in enumerate(content.step):
        where = f"{path}:{line_of(text, ('step', number, 'name'))}"
        if step.name in names:
            raise RtscopeError(f"{where}: two steps are called '{step.name}'")
        names.add(step.name)
        for word in (word for rule in _rules(step) for word in _OPEN.findall(rule)):
            if word not in FILLED:
                near = "".join(f"; is it {one}?" for one in difflib.get_close_matches(word, FILLED))
                known = ", ".join(f"{{{one}}}" for one in FILLED)
                raise RtscopeError(
                    f"{where}: the step '{step.name}' has the unknown placeholder "
                    f"{{{word[:40]}}}; known are {known}{near}"
                )
    return Profile(name, content.description, content.step)


def steps_of(profile: Profile, cpus: str | None) -> list[TuningStep]:
    """The profile up to each of its steps, starting with the system as booted. Raises
    RtscopeError if it needs CPUs and `cpus` is empty.
    """
    chosen = _chosen(profile, cpus)
    steps = [TuningStep(profile.name, 0, AS_BOOTED, chosen, [])]
    for number, step in enumerate(profile.steps, 1):
        rules = [*steps[-1].rules, *_rules(step)]
        steps.append(TuningStep(profile.name, number, step.name, chosen, rules))
    return steps


def rules_by_step(profile: Profile, filled: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Each step's name and its rules, with placeholders replaced."""
    rest = iter(filled)
    return [(step.name, [next(rest) for _ in _rules(step)]) for step in profile.steps]


def filled_rules(rules: Sequence[str], cpus: str, machine: Machine) -> list[str]:
    """The rules for a machine, with its CPUs in them.

    `cpus` is a list, in which N is the last CPU as in the kernel's own lists. Raises
    RtscopeError if one of them does not exist or is offline, or no CPU is left for other work.
    """
    if not any(_OPEN.search(rule) for rule in rules):
        return list(rules)
    chosen, online = chosen_cpus(cpus, machine), _online(machine)
    others = sorted(set(online) - set(chosen))
    if not others:
        raise RtscopeError(
            f"--cpus {cpus}: these are all online CPUs ({format_cpu_list(online)}), but at least "
            f"one must do the rest of the work: leave CPU 0 out"
        )
    values = {
        "cpus": format_cpu_list(chosen),
        "others": format_cpu_list(others),
        "cpus_mask": _mask(chosen),
        "others_mask": _mask(others),
    }
    return [_OPEN.sub(lambda match: values[match[1]], rule) for rule in rules]


def chosen_cpus(cpus: str, machine: Machine) -> list[int]:
    """The CPUs of a list on a system; all of them must be online. Raises RtscopeError."""
    online = _online(machine)
    numbers = parse_cpu_list(re.sub(r"\bN\b", str(online[-1]), cpus))
    if not numbers:
        raise RtscopeError("--cpus names no CPU: write for example 1-3")
    present = {cpu.number for cpu in machine.cpus}
    if missing := sorted(set(numbers) - present):
        raise RtscopeError(
            f"--cpus {cpus[:80]}: this system has no CPU {format_cpu_list(missing)}; its CPUs are "
            f"{format_cpu_list(present)}"
        )
    if asleep := sorted(set(numbers) - set(online)):
        raise RtscopeError(
            f"--cpus {cpus[:80]}: CPU {format_cpu_list(asleep)} is offline: write 1 to "
            f"/sys/devices/system/cpu/cpu{asleep[0]}/online first, or choose from "
            f"{format_cpu_list(online)}"
        )
    return numbers


def _chosen(profile: Profile, cpus: str | None) -> str:
    if not profile.is_for_cpus:
        return ""
    if not cpus:
        raise RtscopeError(
            f"the profile {profile.name} needs CPUs: give --cpus 1-3, for example, or --cpus 1-N "
            f"for all but CPU 0"
        )
    return cpus


def _online(machine: Machine) -> list[int]:
    online = sorted(cpu.number for cpu in machine.cpus if cpu.online)
    if not online:
        raise RtscopeError("the CPUs of the system could not be read")
    return online


def _mask(cpus: Sequence[int]) -> str:
    """A mask in the kernel's format: hexadecimal, in groups of 32 bits, the highest first."""
    bits = sum(1 << cpu for cpu in cpus)
    groups = range(cpus[-1] // _MASK_BITS, -1, -1)
    words = [(bits >> (group * _MASK_BITS)) & 0xFFFFFFFF for group in groups]
    return ",".join(f"{word:08x}" if place else f"{word:x}" for place, word in enumerate(words))


def _rules(step: Step) -> Iterator[str]:
    if step.tasks:
        yield f"tasks away={step.tasks.away}"
    if step.interrupts:
        yield f"interrupts away={step.interrupts.away}"
    if step.irqbalance:
        yield f"irqbalance ban={step.irqbalance.ban}"
    yield from map(_thread_rule, step.thread)
    for interrupt in step.interrupt:
        yield f"interrupt name={_pattern(interrupt.name)} cpus={interrupt.cpus}"
    for file in step.file:
        yield f"file path={_pattern(file.path)} value={file.value}"
    if step.partition:
        yield f"partition cpus={step.partition.cpus}"
    if step.latency:
        yield f"latency limit={int(step.latency.limit)}"
    if step.boot:
        yield from (f"{NEEDS_BOOT}add={parameter}" for parameter in step.boot.add.split())


def _thread_rule(rule: ThreadRule) -> str:
    exe = _pattern(rule.exe) if rule.exe else None
    words = {"name": _pattern(rule.name), "of": rule.of, "exe": exe, "policy": rule.policy}
    numbers = {"uid": rule.uid, "priority": rule.priority, "nice": rule.nice, "cpus": rule.cpus}
    given = [f"{key}={value}" for key, value in (words | numbers).items() if value is not None]
    return " ".join(["thread", *given])


def _pattern(text: str) -> str:
    """Replace blanks, which would end the value, by ?."""
    return text.replace(" ", "?")


def _decode(kind: type, value: Any) -> Any:  # noqa: ANN401 - any TOML value
    if kind is not PlanTime:
        raise NotImplementedError(kind)
    if not isinstance(value, str):
        raise ValueError(f'{str(value)[:60]} is not a time: write one in quotes, such as "0us"')
    try:
        return PlanTime(parse_time_ns(value))
    except RtscopeError as error:
        raise ValueError(str(error)) from None
