# SPDX-License-Identifier: GPL-2.0-only
"""The auto-analysis of rtla timerlat becomes ledgers."""

import pytest

from rtscope.model.errors import RtscopeError
from rtscope.store.importer import import_bytes

CREATED = "2026-11-24T07:00:00Z"
RULE = "-" * 72
THREAD = f"""\
## CPU 2 hit stop tracing, analyzing it ##
  Previous IRQ interference:\t\t\t\t up to       3.10 us
  IRQ handler delay:\t\t                \t    20.00 us (40.00 %)
  IRQ latency:\t\t\t\t\t\t    21.50 us
  Timerlat IRQ duration:\t\t\t\t     8.00 us (16.00 %)
  Blocking thread:\t\t\t\t\t    12.00 us (24.00 %)
\t                    make:4711     \t\t    12.00 us
    Blocking thread stack trace
\t\t-> timerlat_irq
\t\t-> __hrtimer_run_queues
\t\t-> asm_sysvec_apic_timer_interrupt
\t\t-> _raw_spin_unlock_irqrestore
\t\t-> ext4_writepages
  IRQ interference\t\t\t\t\t     4.00 us (8.00 %)
\t             local_timer:236 \t\t     3.00 us
\t                    eth0:40  \t\t     1.00 us
  Softirq interference\t\t\t\t\t     2.00 us (4.00 %)
\t                   TIMER:1   \t\t     2.00 us
  Thread interference\t\t\t\t\t     1.00 us (2.00 %)
\t             migration/2:24  \t\t     1.00 us
{RULE}
  Thread latency:\t\t\t\t\t    50.00 us (100%)
"""
IDLE = f"""\
## CPU 5 hit stop tracing, analyzing it ##
  IRQ handler delay:\t\t(exit from idle)\t    60.00 us (98.00 %)
  IRQ latency:\t\t\t\t\t\t    61.00 us
  Blocking thread:
\t               swapper/5:0
{RULE}
  IRQ latency:\t\t\t\t\t    61.00 us (100%)
"""


def test_each_cpu_that_hit_the_limit_is_a_sample_whose_terms_sum_to_its_latency() -> None:
    (run,) = import_bytes((THREAD + "\n" + IDLE).encode(), CREATED)
    idle, thread = run.explanations
    assert [(one.cpu, one.max_ns) for one in run.threads] == [(2, 50_000), (5, 61_000)]
    assert [(term.kind, term.name, term.ns) for term in thread.ledger] == [
        ("timer-late", "make/4711", 20_000), ("preemption-off", "make/4711", 12_000),
        ("hard-interrupt", "timerlat", 8_000), ("hard-interrupt", "local_timer", 3_000),
        ("unexplained", "", 3_000), ("soft-interrupt", "TIMER", 2_000),
        ("hard-interrupt", "eth0", 1_000), ("thread", "migration/2/24", 1_000),
    ]  # fmt: skip
    assert thread.ledger[0].function == "_raw_spin_unlock_irqrestore"
    assert [(term.kind, term.ns) for term in idle.ledger] == [
        ("idle-exit", 60_000), ("unexplained", 1_000),
    ]  # fmt: skip


@pytest.mark.parametrize("end", range(60, len(THREAD) - 60, 97))
def test_a_cut_analysis_is_refused(end: int) -> None:
    with pytest.raises(RtscopeError, match="cut"):
        import_bytes(THREAD[:end].encode(), CREATED)
