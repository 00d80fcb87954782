# SPDX-License-Identifier: GPL-2.0-only
"""A profile of rtscope as one of TuneD's (tuned.conf(5), tuned-profiles(7)).

The CPUs stay a variable of the file, so that one file serves several boards. TuneD has no steps: it
makes all changes at once, and undoes them when another profile is activated.
"""

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from rtscope.tuning.profile import FileRule, Profile, Step, ThreadRule

_GOVERNOR: Final = "/sys/devices/system/cpu/cpufreq/policy*/scaling_governor"
_VARIABLES: Final = {
    "{cpus}": "${isolated_cores}",
    "{others}": "${other_cores}",
    "{cpus_mask}": "${isolated_cores_mask}",
    "{others_mask}": "${other_cores_mask}",
}
_POLICIES: Final = {"other": "o", "batch": "b", "idle": "i", "fifo": "f", "rr": "r", None: "*"}


class LeftOut(msgspec.Struct, frozen=True):
    """A part of a profile that TuneD cannot express."""

    step: str
    what: str
    """the key of the profile: partition, thread, ..."""
    name: str = ""
    """of the thread, interrupt or file"""


def to_tuned(profile: Profile, cpus: str | None) -> tuple[str, list[LeftOut]]:
    """The text of tuned.conf, and what is not in it. `cpus` is a list such as 1-3, or None."""
    sections: dict[str, list[str]] = {
        "main": [f"summary={profile.description}"],
        "variables": _variables(cpus),
    }
    left_out: list[LeftOut] = []
    for step in profile.steps:
        left_out += _add_step(sections, step)
    _add_threads(sections, [rule for step in profile.steps for rule in step.thread])
    blocks = ["\n".join([f"[{name}]", *lines]) for name, lines in sections.items() if lines]
    head = f"# Written by rtscope tune export --tuned from its profile {profile.name}.\n"
    return head + "\n\n".join(blocks) + "\n", left_out


def _variables(cpus: str | None) -> list[str]:
    if not cpus:
        return []
    return [
        f"isolated_cores={cpus}",
        "other_cores=${f:cpulist_invert:${isolated_cores}}",
        "isolated_cores_mask=${f:cpulist2hex:${isolated_cores}}",
        "other_cores_mask=${f:cpulist2hex:${other_cores}}",
    ]


def _add_step(sections: dict[str, list[str]], step: Step) -> list[LeftOut]:
    """Add a step's rules, but those for threads, which TuneD sorts by a number of their own."""

    def add(section: str, line: str) -> None:
        lines = sections.setdefault(section, [])
        if line not in lines:
            lines.append(line)

    left_out = [LeftOut(step.name, "interrupt", rule.name) for rule in step.interrupt]
    for away in (step.tasks, step.interrupts):
        if away:
            add("scheduler", f"isolated_cores={_filled(away.away)}")
    if step.irqbalance:
        add("irqbalance", f"banned_cpus={_filled(step.irqbalance.ban)}")
    for file in step.file:
        place = _place_of(file)
        if place is None:
            left_out.append(LeftOut(step.name, "file", file.path))
        else:
            add(*place)
    if step.latency:
        add("cpu", f"force_latency={int(step.latency.limit) // 1000}")
    if step.boot:
        add("bootloader", f"cmdline_rtscope=+{_filled(step.boot.add)}")
    if step.partition:
        left_out.append(LeftOut(step.name, "partition"))
    left_out += [LeftOut(step.name, "thread", rule.name) for rule in step.thread if not _fits(rule)]
    return left_out


def _place_of(file: FileRule) -> tuple[str, str] | None:
    """The section and the line of a file; TuneD has no patterns of sysctls."""
    if file.path == _GOVERNOR:
        return "cpu", f"governor={_filled(file.value)}"
    if file.path.startswith("/sys/"):
        return "sysfs", f"{file.path}={_filled(file.value)}"
    name = file.path.removeprefix("/proc/sys/").replace("/", ".")
    return None if re.search(r"[*?\[]", name) else ("sysctl", f"{name}={_filled(file.value)}")


def _fits(rule: ThreadRule) -> bool:
    """Whether TuneD can do it: it knows neither users nor executables, and sets no nice."""
    return rule.uid is None and rule.exe is None and rule.nice is None


def _add_threads(sections: dict[str, list[str]], rules: Sequence[ThreadRule]) -> None:
    """Add thread rules; of several that match one thread, TuneD's last by number wins, too."""
    for number, rule in enumerate(filter(_fits, rules)):
        name = re.sub(r"[^A-Za-z0-9]+", "_", rule.name).strip("_") or "threads"
        fields = (
            number,
            _POLICIES[rule.policy],
            rule.priority or 0,
            "*" if rule.cpus is None else _filled(_mask_of(rule.cpus)),
            _expression(rule),
        )
        sections.setdefault("scheduler", []).append(
            f"group.rtscope_{number}_{name}=" + ":".join(map(str, fields))
        )


def _mask_of(cpus: str) -> str:
    """CPUs as a mask, which TuneD wants of threads."""
    if cpus.startswith("{"):
        return cpus.replace("}", "_mask}")
    return f"${{f:cpulist2hex:{cpus}}}"


def _expression(rule: ThreadRule) -> str:
    """The name as a regular expression: kernel threads are in brackets, programs have a path."""
    name = "".join({"*": ".*", "?": "."}.get(letter, re.escape(letter)) for letter in rule.name)
    kernel, program = rf"^\[{name}\]", rf"^(\S*/)?{name}(\s|$)"
    return {"kernel": kernel, "program": program, None: f"{kernel}|{program}"}[rule.of]


def _filled(text: str) -> str:
    for placeholder, variable in _VARIABLES.items():
        text = text.replace(placeholder, variable)
    return text
