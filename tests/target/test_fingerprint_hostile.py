# SPDX-License-Identifier: GPL-2.0-only
"""No file of a target, however garbled, breaks the fingerprint or what is stored of it."""

import gzip
import re
from pathlib import Path
from typing import Final

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from rtscope.model.machine import Machine
from rtscope.target.fingerprint import machine_of

CPU: Final = "/sys/devices/system/cpu/"
RICH: Final = Path(__file__).parent / "machines" / "debian-13-rt.txt"
PARTS: Final = re.split(r"^==> (.*) <==\n", RICH.read_text(encoding="utf-8"), flags=re.MULTILINE)
FILES: Final[dict[str, str | bytes]] = dict(zip(PARTS[1::2], PARTS[2::2], strict=True))
PATHS: Final = sorted({
    *FILES,
    "cpuid:hypervisor",
    "/proc/config.gz",
    "/proc/device-tree/compatible",
    "/proc/device-tree/fw-cfg@1/compatible",
    "/proc/device-tree/hypervisor/compatible",
    "/proc/device-tree/model",
    "/proc/interrupts",
    "/proc/irq/5/smp_affinity_list",
    "/proc/timer_list",
    "/proc/version",
    "/sys/hypervisor/type",
    "/sys/kernel/debug/sched/preempt",
    "/sys/kernel/realtime",
    CPU + "cpu0/microcode/version",
})  # fmt: skip

ABSURD: Final = st.sampled_from([
    "", "\n", "-1", "9" * 400, "-" + "9" * 30, "0x7fffffff", "1e9", "nan", "٣", "\ud800", "\0" * 99,
    "0-8191", "0-99999999", "0-8191," * 9000, "(" * 500, "=" * 500, ":" * 500, "\x1b[31m\u202e<b>",
    "CONFIG_HZ=99999999999\nCONFIG_PREEMPT=yes\n", "MemTotal: " + "9" * 40 + " kB\n",
    "MemTotal: 999999999999999 kB\n", "999999999G", "<script>alert(1)</script>",
    "processor : 9999\nprocessor : -3\nCPU implementer : 0xfffffffff\nCPU part : 0xzz\n",
    " 5: 1 2 3\n 6:\n:\n 7: x  y  \n", b"\x1f\x8b", b"\xff\xfe\x00",
    gzip.compress(b"CONFIG_HZ=", mtime=0)[:-5],
])  # fmt: skip
CONTENT: Final = ABSURD | st.text(max_size=200) | st.binary(max_size=200)


def assert_storable(machine: Machine) -> None:
    encoded = msgspec.json.encode(machine)
    assert msgspec.json.decode(encoded, type=Machine) == machine


def texts_of(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for item in value.values() for text in texts_of(item)]
    if isinstance(value, list):
        return [text for item in value for text in texts_of(item)]
    return []


@given(st.dictionaries(st.sampled_from(PATHS), CONTENT, max_size=12))
def test_any_garbled_files_of_a_machine_give_a_record_that_can_be_kept(
    garbled: dict[str, str | bytes],
) -> None:
    machine = machine_of(FILES | garbled)
    assert_storable(machine)
    for text in texts_of(msgspec.to_builtins(machine)):
        assert text.isprintable()
        assert len(text) <= 4096


def test_a_configuration_that_does_not_unpack_reports_nothing() -> None:
    packed = gzip.compress(b"CONFIG_HZ=100\n")
    for garbled in (b"CONFIG_HZ=100\n", packed[:10] + b"\xff" * 20, packed[:12]):
        assert machine_of({"/proc/config.gz": garbled}).hz is None


def test_a_configuration_that_unpacks_without_end_is_read_only_at_its_start() -> None:
    bomb = gzip.compress(b"CONFIG_HZ=100\n" + b"#\n" * (16 << 20) + b"CONFIG_HZ=1000\n")
    assert len(bomb) < 100_000
    assert machine_of({"/proc/config.gz": bomb}).hz == 100


def test_sharers_and_interrupts_without_measure_do_not_fill_the_memory() -> None:
    files: dict[str, str | bytes] = {CPU + "present": "0-8191"}
    for number in range(5000):
        files[f"/proc/irq/{number}/smp_affinity_list"] = "0-3\n"
        files[f"/sys/kernel/irq/{number}/actions"] = f"nvme{number}\n"
    for number in range(8192):
        cache = f"{CPU}cpu{number}/cache/index0/"
        files |= {
            cache + "level": str(number % 9 + 1),
            cache + "type": f"Kind{number}",
            cache + "size": "32K",
            cache + "shared_cpu_list": "0-8191",
            f"{CPU}cpu{number}/topology/thread_siblings_list": "0-8191",
        }
    machine = machine_of(files)
    assert (len(machine.cpus), len(machine.interrupts)) == (8192, 1024)
    assert sum(len(cache.shared_by) for cache in machine.caches) <= 16 * 8192
    assert sum(len(cpu.smt_siblings) for cpu in machine.cpus) <= 64 * 8192
