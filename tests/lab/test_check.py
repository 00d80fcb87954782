"""A real kernel that is booted wrong on purpose, and one that is booted right: rtscope check."""

import msgspec

from rtscope.lab.kernels import Kernel
from rtscope.lab.vm import vm_target
from rtscope.model.audit import Audit
from rtscope.system.audit import RULES, audit
from rtscope.system.look import read_state

WRONG = {
    "isolcpu=1": ("boot-mistyped", "isolcpu (is it isolcpus?)"),
    "isolcpus=1": ("isolation-rcu", "the isolated CPUs 1"),
    "irqaffinity=0-7": ("boot-cpu-list", "irqaffinity=0-7"),
    "idle=pol": ("boot-bad-value", "idle=pol"),
    "preempt=none": ("boot-preempt-no-effect", "a kernel with CONFIG_PREEMPT_RT"),
    "loglevel=7": ("boot-serial-console", "up to level 7"),
    "trace_event=sched:sched_switch": ("tracing-events", "sched:sched_switch"),
    "watchdog_thresh=20": ("timers-lockup-detector", "is on"),
    "nohz=on": ("kernel-no-hz", "CONFIG_NO_HZ_FULL=y"),
    "mce=dont_log_ce": ("timers-machine-checks", "every 300 s"),
}
"""What is wrong on the command line, or leaves a default that is: the rule that sees it."""
RIGHT = [
    *("isolcpus=managed_irq,domain,1", "rcu_nocbs=1", "irqaffinity=0", "preempt=full"),
    *("nowatchdog", "nohz=off", "mce=ignore_ce", "cpufreq.default_governor=performance"),
]


def checked(kernel: Kernel, options: list[str]) -> Audit:
    """The audit of a machine with two CPUs that is booted with these parameters."""
    target = vm_target(f"vm:{kernel.name},cpus=2")
    given = msgspec.structs.replace(target.kernel, options=options)
    state, warnings = read_state(msgspec.structs.replace(target, kernel=given))
    return audit(state, target.name, warnings)


def test_a_kernel_that_is_booted_wrong_is_told_of_each_fault(rt_kernel: Kernel) -> None:
    found = checked(rt_kernel, list(WRONG))
    told = {one.rule: one.found for one in found.findings}
    for rule, words in WRONG.values():
        assert words in told.get(rule, ""), rule


def test_one_that_is_booted_right_is_not_and_lets_the_rules_look(rt_kernel: Kernel) -> None:
    found = checked(rt_kernel, RIGHT)
    assert {rule for rule, _ in WRONG.values()} <= set(found.sound)
    assert "kernel-preempt-rt" in found.sound
    assert "virtual-machine" in {one.rule for one in found.findings}
    assert {one.rule for one in found.unseen} == {"power-governor", "power-turbo"}
    assert len(found.findings) + len(found.sound) + len(found.unseen) == len(RULES)
