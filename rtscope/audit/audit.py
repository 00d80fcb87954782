# SPDX-License-Identifier: GPL-2.0-only
"""Evaluate every rule on one state."""

from typing import Final

from rtscope.audit.rule import Rule
from rtscope.audit.rules import (
    boot,
    clock,
    effects,
    groups,
    interrupts,
    isolation,
    kernel,
    memory,
    power,
    scheduling,
    services,
    surroundings,
    timers,
    tracing,
)
from rtscope.audit.state import NotSeen, State
from rtscope.model.audit import SEVERITIES, Audit, Finding, Unseen

SUBJECTS: Final[dict[str, list[Rule]]] = {
    "Kernel configuration": kernel.RULES,
    "The kernel's command line": boot.RULES,
    "Boot parameters without effect": effects.RULES,
    "Clocks": clock.RULES,
    "Scheduling": scheduling.RULES,
    "Frequency, idle states, SMT": power.RULES,
    "Interrupts": interrupts.RULES,
    "Isolated CPUs": isolation.RULES,
    "Control groups": groups.RULES,
    "Memory": memory.RULES,
    "Watchdogs": timers.RULES,
    "Tracers left on": tracing.RULES,
    "systemd and D-Bus": services.RULES,
    "Firmware, hypervisor and user": surroundings.RULES,
}
RULES: Final = [rule for rules in SUBJECTS.values() for rule in rules]


def audit(state: State, target: str, warnings: list[str]) -> Audit:
    """Evaluate each rule: findings, and rules that could not be checked, each worst first."""
    findings, unseen, sound = [], [], []
    for rule in sorted(RULES, key=lambda rule: SEVERITIES.index(rule.severity)):
        try:
            found = rule.check(state)
        except NotSeen as reason:
            unseen.append(Unseen(rule.id, rule.severity, str(reason)))
            continue
        if found is None:
            sound.append(rule.id)
        else:
            findings.append(
                Finding(
                    rule=rule.id,
                    severity=rule.severity,
                    found=found,
                    wanted=rule.wanted,
                    why=rule.why,
                    how=rule.how,
                    link=rule.link,
                    profile=rule.profile,
                )
            )
    machine = state.machine
    words = [machine.hostname, machine.kernel_release, machine.cpu_model]
    return Audit(
        target=target,
        machine=" · ".join(word for word in words if word),
        findings=findings,
        unseen=unseen,
        sound=sound,
        warnings=warnings,
    )


def rules_page() -> str:
    """The list of all rules, as Markdown."""
    parts = []
    for subject, rules in SUBJECTS.items():
        parts.append(f"### {subject}\n")
        for rule in rules:
            parts.append(
                f"**{rule.id}** ({rule.severity}). Expected: {rule.wanted}. {rule.why}\n"
                f"Remedy: {rule.how}. <{rule.link}>\n"
                + (f"In a profile: `{rule.profile}`\n" if rule.profile else "")
            )
    return "\n".join(parts)
