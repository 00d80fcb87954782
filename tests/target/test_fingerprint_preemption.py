# SPDX-License-Identifier: GPL-2.0-only
"""A real-time kernel is told from one that merely preempts, with the evidence."""

import pytest

from rtscope.target.fingerprint import machine_of

DEBUGFS = "/sys/kernel/debug/sched/preempt"
CONFIG = "/boot/config-x"
VERSION = "uname:version"
RELEASE = "uname:release"
CMDLINE = "/proc/cmdline"
VOLUNTARY = "CONFIG_PREEMPT_VOLUNTARY=y\nCONFIG_PREEMPT_DYNAMIC=y\n"
DYNAMIC = "#1 SMP PREEMPT_DYNAMIC Debian 6.12.57-1 (2025-11-05)"


RT = "#1 SMP PREEMPT_RT"


@pytest.mark.parametrize(
    ("files", "model", "evidence"),
    [
        ({VERSION: f"{RT} Debian 6.12.57-1"}, "rt", "uname -v contains PREEMPT_RT"),
        ({VERSION: "#1 SMP PREEMPT RT Debian 4.19.37"}, "rt", "uname -v contains PREEMPT RT"),
        ({"/proc/version": f"Linux version 6.12.1 (me@box) {RT}"}, "rt", "contains PREEMPT_RT"),
        ({CONFIG: "CONFIG_PREEMPT_RT=y\n"}, "rt", "CONFIG_PREEMPT_RT=y"),
        ({"/sys/kernel/realtime": "1\n"}, "rt", "/sys/kernel/realtime is 1"),
        ({VERSION: RT, DEBUGFS: "full (lazy) \n"}, "rt", f"RT; {DEBUGFS} is at (lazy)"),
        ({VERSION: "#1 SMP PREEMPT_RT_FREE"}, None, "voluntary or none"),
        ({CONFIG: "# CONFIG_PREEMPT_RT is not set\nCONFIG_PREEMPT=y\n"}, "full", "PREEMPT=y"),
        ({"/sys/kernel/realtime": "0\n"}, None, None),
        ({VERSION: DYNAMIC, DEBUGFS: "none (full) lazy\n", CMDLINE: "preempt=lazy"}, "full",
         "/sys/kernel/debug/sched/preempt is at (full)"),
        ({VERSION: DYNAMIC, DEBUGFS: "(none) voluntary full\n"}, "none", "at (none)"),
        ({VERSION: DYNAMIC, CMDLINE: "ro preempt=full\n"}, "full", "preempt=full on the command"),
        ({VERSION: DYNAMIC, CMDLINE: "preempt=none preempt=voluntary"}, "voluntary", "command"),
        ({VERSION: DYNAMIC, CMDLINE: "preempt=voluntary preempt=rt"}, "voluntary", "command"),
        ({VERSION: DYNAMIC, CMDLINE: "ro -- preempt=full"}, None, "PREEMPT_DYNAMIC kernel"),
        ({VERSION: DYNAMIC, RELEASE: "6.18.2", CMDLINE: "preempt=lazy"}, "lazy",
         "preempt=lazy on the command line"),
        ({VERSION: DYNAMIC, RELEASE: "6.12.57", CMDLINE: "preempt=full preempt=lazy"}, "full",
         "preempt=full on the command line"),
        ({VERSION: DYNAMIC, RELEASE: "6.12.57", CMDLINE: "ro", CONFIG: VOLUNTARY}, "voluntary",
         "CONFIG_PREEMPT_VOLUNTARY=y as default, and no valid preempt="),
        ({CONFIG: "CONFIG_PREEMPT_LAZY=y\nCONFIG_PREEMPT_DYNAMIC=y\n"}, "lazy",
         "CONFIG_PREEMPT_LAZY=y as default, but the command line could not be read"),
        ({VERSION: DYNAMIC}, None, "PREEMPT_DYNAMIC kernel, but neither"),
        ({CMDLINE: "preempt=full", CONFIG: "CONFIG_PREEMPT_NONE=y\n"}, "none", "PREEMPT_NONE"),
        ({VERSION: "#1 SMP PREEMPT", CONFIG: "CONFIG_PREEMPT_LAZY=y\n"}, "lazy", "PREEMPT_LAZY"),
        ({VERSION: "#1 SMP PREEMPT", RELEASE: "6.12.1"}, "full", "uname -v contains PREEMPT"),
        ({VERSION: "#1 SMP PREEMPT", RELEASE: "6.13.0"}, None, "full or lazy"),
        ({VERSION: "#1 SMP PREEMPT"}, None, "full or lazy"),
        ({VERSION: "#1 SMP Debian"}, None, "voluntary or none"),
    ],
)  # fmt: skip
def test_the_model_is_told_with_its_evidence(
    files: dict[str, str], model: str | None, evidence: str | None
) -> None:
    machine = machine_of(dict(files))
    assert machine.preemption == model
    assert (machine.preemption_evidence is None) == (evidence is None)
    assert (evidence or "") in (machine.preemption_evidence or "")
