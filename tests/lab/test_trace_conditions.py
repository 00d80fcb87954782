# SPDX-License-Identifier: GPL-2.0-only
"""What a system may refuse to the kernel's trace: the measurement goes on, with a sentence."""

from pathlib import Path
from typing import NamedTuple

import pytest

from rtscope.lab.kernels import Kernel
from rtscope.target.protocol import AgentWarning, AnyLine, End, ThreadResult, Trace, TraceWindow
from tests.lab.scripted import machine_of, reported

SAMPLES = 300

SCRIPT = f"""
traced() {{ tell "$1" $2 /bin/agent cyclic --json -a 0 -i 2ms -l {SAMPLES} --explain 2; }}
left() {{ ls /sys/kernel/tracing/instances | grep -q . && echo "@ failed: instances are left"; }}
mount -t securityfs securityfs /sys/kernel/security
traced mounted
(sleep 0.3; write 0 /sys/devices/system/cpu/cpu1/online) &
traced 'CPU taken offline'
(sleep 0.3; write 1 /sys/devices/system/cpu/cpu1/online) &
traced 'CPU taken online'
left
free_kb() {{ sed -n 's/MemAvailable: *//p' /proc/meminfo | cut -d' ' -f1; }}
mkdir /filled
mount -t tmpfs -o size=100% tmpfs /filled
dd if=/dev/zero of=/filled/file bs=1024 count=$(($(free_kb) - 16384)) 2> /dev/null
traced 'little memory'
umount /filled
traced 'without permission' as_user
mount -o remount,ro /sys/kernel/tracing
traced 'read-only tracefs'
mount -o remount,rw /sys/kernel/tracing
umount /sys/kernel/tracing
umount /sys/kernel/debug
traced 'not mounted'
mount -t tracefs tracefs /sys/kernel/tracing
left
write confidentiality /sys/kernel/security/lockdown
traced lockdown
"""


class Condition(NamedTuple):
    """What a run under it has."""

    name: str
    words: str = ""
    """in the warning no-trace; empty: samples are explained"""


CONDITIONS = [
    Condition("mounted"),
    Condition("CPU taken offline"),
    Condition("CPU taken online"),
    Condition("little memory"),
    Condition("not mounted"),
    Condition("without permission", "Run as root"),
    Condition("read-only tracefs", "a trace instance"),
    Condition("lockdown", "locked down"),
]


@pytest.fixture(scope="module")
def runs(rt_kernel: Kernel, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[AnyLine]]:
    directory: Path = tmp_path_factory.mktemp("conditions")
    return reported(machine_of(rt_kernel, "mode=fast,cpus=2"), SCRIPT, directory)


@pytest.mark.kernels
@pytest.mark.parametrize("condition", CONDITIONS, ids=lambda one: one.name)
def test_each_condition_gets_a_sentence_and_the_measurement_goes_on(
    condition: Condition, runs: dict[str, list[AnyLine]]
) -> None:
    lines = runs[condition.name]
    (thread,) = (line for line in lines if isinstance(line, ThreadResult))
    windows = [line for line in lines if isinstance(line, TraceWindow)]
    told = [
        line.text for line in lines if isinstance(line, AgentWarning) and line.code == "no-trace"
    ]

    assert thread.count == SAMPLES
    assert isinstance(lines[-1], End)
    assert lines[-1].status == "complete"
    if condition.words:
        assert len(told) == 1
        assert condition.words in told[0]
        assert not windows
        return
    assert not told
    assert len(windows) == 2
    for window in windows:
        assert all(part.complete for part in window.parts if part.cpu == window.cpu)


@pytest.mark.kernels
def test_the_rings_are_sized_from_the_free_memory(runs: dict[str, list[AnyLine]]) -> None:
    (ample,) = (line.ring_kb for line in runs["mounted"] if isinstance(line, Trace))
    (small,) = (line.ring_kb for line in runs["little memory"] if isinstance(line, Trace))

    assert 16 <= small < 512 < ample
