# SPDX-License-Identifier: GPL-2.0-only
"""What was measured and how, as pairs of words and values."""

import shlex

from rtscope.model.cpulist import format_cpu_list
from rtscope.model.machine import Machine, Throttle
from rtscope.model.run import Run
from rtscope.model.units import format_duration_ns
from rtscope.wording.plain import plain
from rtscope.wording.run import idle_states_text, preemption_text, tuning_text
from rtscope.wording.values import NOTHING, span_text


def fingerprint(run: Run) -> tuple[list[tuple[str, str]], list[tuple[str, list[str]]]]:
    """The facts of a run and its machine, and longer lists to fold away."""
    facts = [*_asked(run), *_lab(run), *_machine(run)]
    details = [(title, lines) for title, lines in _details(run.machine) if lines]
    if run.tuning and run.tuning.exceptions:
        lines = [f"{one.state}: {one.what}: {one.why}" for one in run.tuning.exceptions]
        details.append(("Changes that did not hold", lines))
    if run.lab and run.lab.console:
        details.append(("Lines of the guest's console", run.lab.console.splitlines()))
    return [(plain(name), plain(value)) for name, value in facts], [
        (title, [plain(line) for line in lines]) for title, lines in details
    ]


def _asked(run: Run) -> list[tuple[str, str]]:
    asked = run.asked
    rows = [
        ("run", f"{run.id}, started {run.created}, status {run.status}"),
        (
            "measured by",
            f"{run.source}{f' (agent {run.agent_version})' if run.agent_version else ''}",
        ),
        ("target", run.target),
    ]
    if run.tags:
        rows.append(("tags", ", ".join(run.tags)))
    if run.tuning:
        rows.append(("tuned", tuning_text(run)))
    if idle := idle_states_text(run):
        rows.append(("idle states", idle))
    times = [
        ("interval", asked.interval_ns),
        ("break at", asked.threshold_ns),
    ]
    rows += [(name, format_duration_ns(ns)) for name, ns in times if ns]
    if asked.duration_ns:
        rows.append(("duration asked", span_text(asked.duration_ns)))
    if asked.samples:
        rows.append(("samples asked", f"{asked.samples:,} of each thread"))
    return rows + [_option(name, value) for name, value in asked.options.items()]


def _option(name: str, value: str | float | bool) -> tuple[str, str]:
    if name.endswith("_ns") and isinstance(value, int):
        return name.removesuffix("_ns").replace("_", " "), format_duration_ns(value)
    return name.replace("_", " "), str(value)


def _lab(run: Run) -> list[tuple[str, str]]:
    """What somebody else needs to get the same bits."""
    lab = run.lab
    if lab is None:
        return []
    began = "restored from a snapshot of its booted machine" if lab.restored else "booted"
    values = [
        ("lab", f"{lab.mode} mode, {began}, seed {lab.seed}"),
        ("emulator", f"QEMU {lab.qemu}"),
        ("emulator's command line", shlex.join(lab.command)),
        ("lab's kernel", f"{lab.kernel}, from {lab.kernel_source}"),
        ("patches", "; ".join(lab.patches)),
        ("kernel's SHA-256", lab.kernel_sha256),
        ("configuration's SHA-256", lab.config_sha256),
        ("initramfs' SHA-256", lab.initramfs_sha256),
    ]
    return [(name, value) for name, value in values if value]


def _machine(run: Run) -> list[tuple[str, str]]:
    machine = run.machine
    memory = machine.memory_bytes
    values = [
        ("host", run.machine_name),
        ("board", machine.board),
        ("CPU", machine.cpu_model),
        ("architecture", machine.architecture),
        ("CPUs", _cpus(machine)),
        ("SMT", _smt(machine)),
        ("memory", f"{memory / 2**30:.1f} GiB" if memory else None),
        ("kernel", machine.kernel_release),
        ("kernel build", machine.kernel_version),
        ("preemption", preemption_text(run)),
        ("kernel command line", machine.command_line),
        ("tick", f"{machine.hz} Hz" if machine.hz else None),
        ("high-resolution timers", _yes(machine.high_resolution_timers)),
        ("clock source", machine.clock_source),
        ("clock sources there", ", ".join(machine.clock_sources)),
        ("frequency governor", _governors(machine)),
        ("idle driver", machine.idle_driver),
        *_throttling(machine),
        ("microcode", machine.microcode),
        ("virtualisation", machine.virtualisation),
    ]
    return [(name, value or NOTHING) for name, value in values]


def _throttling(machine: Machine) -> list[tuple[str, str | None]]:
    found = machine.throttling
    if found is None:
        sysctl = f"{machine.rt_runtime_us} us of each {machine.rt_period_us or '?'} us"
        known = machine.rt_runtime_us is not None
        return [("sysctl kernel.sched_rt_runtime_us", sysctl if known else None)]
    return [
        ("real-time throttling", _throttle(found.realtime)),
        ("fair server", _throttle(found.fair_server)),
        ("ext server", _throttle(found.ext_server)),
    ]


def _throttle(found: Throttle) -> str:
    state = "not in this kernel" if found.state == "none" else found.state
    return "; ".join([state, *map(str, found.shares), found.why])


def _details(machine: Machine) -> list[tuple[str, list[str]]]:
    return [
        (
            "Idle states",
            [
                f"{state.name}"
                f"{'' if (us := state.exit_latency_us) is None else f': {us} us to leave'}"
                f"{', disabled' if state.disabled else ''}"
                for state in machine.idle_states
            ],
        ),
        (
            "Caches",
            [
                f"L{cache.level} {cache.kind}, {cache.size_bytes / 1024:,.0f} KiB, "
                f"CPUs {format_cpu_list(cache.shared_by)}"
                for cache in machine.caches
            ],
        ),
        (
            "CPUs one by one",
            [
                f"CPU {cpu.number}{'' if cpu.online else ', offline'}"
                f"{', isolated' if cpu.isolated else ''}"
                f"{'' if cpu.package is None else f', package {cpu.package}'}"
                f"{'' if cpu.core is None else f', core {cpu.core}'}"
                f"{f', {cpu.kind}' if cpu.kind else ''}"
                f"{'' if cpu.capacity is None else f', capacity {cpu.capacity}'}"
                f"{f', siblings {format_cpu_list(cpu.smt_siblings)}' if cpu.smt_siblings else ''}"
                f"{f', governor {cpu.governor}' if cpu.governor else ''}"
                f"{f' of {cpu.driver}' if cpu.driver else ''}"
                f"{f', {cpu.min_khz / 1e6:.2f} to {cpu.max_khz / 1e6:.2f} GHz' if cpu.min_khz and cpu.max_khz else ''}"  # noqa: E501
                for cpu in machine.cpus
            ],
        ),
        (
            "Interrupt affinities",
            [
                f"{interrupt.number} {interrupt.name}: CPUs {interrupt.affinity}"
                for interrupt in machine.interrupts
            ],
        ),
    ]


def _yes(value: bool | None) -> str:
    return "not known" if value is None else "on" if value else "off"


def _cpus(machine: Machine) -> str | None:
    if not machine.cpus:
        return None
    online = sum(cpu.online for cpu in machine.cpus)
    isolated = [cpu.number for cpu in machine.cpus if cpu.isolated]
    return f"{online} online of {len(machine.cpus)}; " + (
        f"isolated: {format_cpu_list(isolated)}" if isolated else "none isolated"
    )


def _smt(machine: Machine) -> str | None:
    if not any(cpu.smt_siblings for cpu in machine.cpus):
        return None
    shared = [cpu for cpu in machine.cpus if len(cpu.smt_siblings) > 1]
    return f"on for {len(shared)} CPUs" if shared else "off"


def _governors(machine: Machine) -> str | None:
    pairs = {
        f"{cpu.governor}{f' ({cpu.driver})' if cpu.driver else ''}"
        for cpu in machine.cpus
        if cpu.governor
    }
    return ", ".join(sorted(pairs)) or None
