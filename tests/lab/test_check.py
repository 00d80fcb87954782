# SPDX-License-Identifier: GPL-2.0-only
"""Real kernels that are booted wrong on purpose, and right: what rtscope check says of them."""

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from rtscope.audit.audit import RULES, audit
from rtscope.audit.reading import read_state
from rtscope.audit.state import State
from rtscope.lab.kernels import Kernel
from rtscope.lab.vm import vm_target
from rtscope.model.audit import Audit
from tests.lab.booted import Booted, Look, Told
from tests.lab.faults import IN_FILES, MACHINES
from tests.lab.scripted import looked, machine_of

NAMES = {rule.id for rule in RULES}


def machines() -> list[object]:
    """Each with its ring."""
    return [
        pytest.param(
            one,
            marks=[] if one.ring == "check" else [getattr(pytest.mark, one.ring)],
            id=one.name,
        )
        for one in MACHINES
    ]


def expected(booted: Booted) -> Iterator[tuple[Look, Told]]:
    """What is to be found at each look."""
    found: Told = {}
    for look in booted.looks:
        found = {
            rule: reported
            for rule, reported in (found | look.adds).items()
            if rule not in look.ends
        }
        yield look, found


def audits(booted: Booted, kernel: Kernel, directory: Path) -> dict[str, Audit]:
    """What rtscope check says, by look."""
    options = booted.options.split()
    if not booted.scripted:
        target = vm_target(f"vm:{kernel.name},{booted.machine}")
        given = msgspec.structs.replace(target.kernel, options=[*kernel.options, *options])
        state, warnings = read_state(msgspec.structs.replace(target, kernel=given))
        return {look.name: audit(state, target.name, warnings) for look in booted.looks}
    script = "".join(f"{look.script}\nlook '{look.name}' {look.seen_by}\n" for look in booted.looks)
    machine = machine_of(kernel, booted.machine, options, booted.hardware.split())
    files = looked(machine, script, directory)
    return {name: audit(State(one), kernel.name, []) for name, one in files.items()}


@pytest.mark.parametrize("booted", machines())
def test_what_is_wrong_is_found_and_nothing_else(
    booted: Booted,
    request: pytest.FixtureRequest,
    kernel_named: Callable[[str], Kernel],
    tmp_path: Path,
) -> None:
    fixture = booted.kernel.endswith("_kernel")
    kernel = request.getfixturevalue(booted.kernel) if fixture else kernel_named(booted.kernel)
    seen = audits(booted, kernel, tmp_path)
    for look, wanted in expected(booted):
        found = {one.rule: one.found for one in seen[look.name].findings}
        silent = [rule for rule, words in wanted.items() if words not in found.get(rule, "")]
        assert (look.name, {rule: found.get(rule) for rule in silent}) == (look.name, {})
        more = {
            rule: reported for rule, reported in found.items() if rule not in {*wanted, *booted.may}
        }
        assert (look.name, more) == (look.name, {})
        unseen = {one.rule: one.reason for one in seen[look.name].unseen}
        assert unseen.keys() == (booted.blind | look.blind) - found.keys(), look.name


def test_each_rule_has_a_machine_that_has_its_fault_or_a_reason_why_not() -> None:
    found = {rule for booted in MACHINES for look in booted.looks for rule in look.adds}
    assert found.isdisjoint(IN_FILES)
    assert found | IN_FILES.keys() == NAMES


def test_each_rule_but_those_has_a_machine_that_is_free_of_its_fault() -> None:
    free = {
        rule
        for booted in MACHINES
        for look, wanted in expected(booted)
        for rule in NAMES - booted.blind - look.blind - booted.may - wanted.keys()
    }
    assert NAMES - free <= IN_FILES.keys()
