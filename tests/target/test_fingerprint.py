# SPDX-License-Identifier: GPL-2.0-only
"""What a user is told of a machine, from the files that its kernel shows.

tests/target/machines holds what kernels print on known machines, in the layout of
`rtscope-agent machine`; ␀ stands for the NUL that ends a device-tree string.
"""

import gzip
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rtscope.model.machine import Cache, IdleState, Interrupt, Machine
from rtscope.target.fingerprint import machine_of

MACHINES = Path(__file__).parent / "machines"
CPU = "/sys/devices/system/cpu/"


def files_of(name: str) -> dict[str, str | bytes]:
    text = (MACHINES / f"{name}.txt").read_text(encoding="utf-8").replace("␀", "\0")
    parts = re.split(r"^==> (.*) <==\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], (content[:-1] for content in parts[2::2]), strict=True))


EXPECTED: dict[str, dict[str, Any]] = {
    "raspberry-pi-4": {
        "hostname": "raspberrypi",
        "architecture": "aarch64",
        "cpu_model": "Cortex-A72",
        "board": "Raspberry Pi 4 Model B Rev 1.2",
        "memory_bytes": 3885396 * 1024,
        "kernel_release": "6.12.47+rpt-rpi-v8",
        "preemption": "full",
        "preemption_evidence": "CONFIG_PREEMPT=y in the kernel's configuration",
        "hz": 250,
        "clock_source": "arch_sys_counter",
        "high_resolution_timers": True,
        "idle_driver": "none",
        "idle_states": [],
        "microcode": None,
        "virtualisation": "none",
        "interrupts": [
            Interrupt(11, "arch_timer", "0-3"),
            Interrupt(30, "fe00b880.mailbox", "0-3"),
            Interrupt(35, "mmc0,mmc1", "0-2"),
            Interrupt(39, "eth0", "0-3"),
        ],
    },
    "visionfive-2": {
        "architecture": "riscv64",
        "cpu_model": "sifive,u74-mc",
        "board": "StarFive VisionFive 2 v1.3B",
        "preemption": None,
        "preemption_evidence": "voluntary or none: uname -v does not say PREEMPT, and the kernel's "
        "configuration could not be read",
        "hz": None,
        "virtualisation": "none",
        "interrupts": [
            Interrupt(5, "riscv-timer", "0-3"),
            Interrupt(9, "ttyS0", "0-3"),
            Interrupt(12, "end0", "2"),
        ],
    },
    "loongson-2f": {
        "architecture": "mips64",
        "cpu_model": "ICT Loongson-2 V0.3 FPU V0.1",
        "board": "lemote-yeeloong-2f-8.9inches",
        "preemption": "full",
        "preemption_evidence": "uname -v says PREEMPT",
        "hz": None,
        "high_resolution_timers": False,
        "rt_runtime_us": -1,
        "rt_period_us": 1_000_000,
        "caches": [],
        "virtualisation": None,
        "interrupts": [
            Interrupt(2, "cascade", "0"),
            Interrupt(5, "timer", "0"),
            Interrupt(14, "pata_amd", "0"),
        ],
    },
    "pseries-qemu": {
        "architecture": "ppc64",
        "cpu_model": "POWER9 (architected)",
        "board": "IBM pSeries (emulated by qemu)",
        "preemption": "none",
        "preemption_evidence": "CONFIG_PREEMPT_NONE=y in the kernel's configuration",
        "virtualisation": "QEMU",
        "idle_driver": "pseries_idle",
        "idle_states": [IdleState("snooze", 0), IdleState("CEDE", 120)],
    },
    "t2080-rt": {
        "cpu_model": "e6500",
        "board": "fsl,T2080RDB",
        "preemption": "rt",
        "preemption_evidence": "uname -v says PREEMPT_RT",
        "virtualisation": "none",
    },
    "debian-13-rt": {
        "architecture": "x86_64",
        "cpu_model": "Intel(R) Core(TM) i7-7700K CPU @ 4.20GHz",
        "board": "ASUSTeK COMPUTER INC. PRIME Z270-A",
        "kernel_version": "#1 SMP PREEMPT_RT Debian 6.12.57-1 (2025-11-05)",
        "command_line": "BOOT_IMAGE=/boot/vmlinuz-6.12.57+deb13-rt-amd64 root=UUID=6f2d ro "
        "isolcpus=managed_irq,domain,2-3,6-7 nohz_full=2-3,6-7",
        "preemption": "rt",
        "preemption_evidence": "uname -v says PREEMPT_RT; "
        "CONFIG_PREEMPT_RT=y in the kernel's configuration",
        "clock_source": "tsc",
        "clock_sources": ["tsc", "hpet", "acpi_pm"],
        "rt_runtime_us": 950_000,
        "idle_driver": "intel_idle",
        "idle_states": [
            IdleState("POLL", 0),
            IdleState("C1", 2),
            IdleState("C1E", 10),
            IdleState("C3", 70, True),
            IdleState("C6", 85, True),
        ],
        "microcode": "0xf8",
        "virtualisation": "none",
    },
    "debian-12-rt-guest": {
        "cpu_model": "AMD EPYC 7551 32-Core Processor",
        "board": "QEMU Standard PC (Q35 + ICH9, 2009)",
        "preemption": "rt",
        "preemption_evidence": "/sys/kernel/realtime is 1; uname -v says PREEMPT_RT",
        "virtualisation": "KVM (QEMU)",
    },
    "debian-12-preempt-full": {
        "preemption": "full",
        "preemption_evidence": "preempt=full on the command line of a PREEMPT_DYNAMIC kernel",
        "virtualisation": "KVM (Amazon EC2)",
        "board": "Amazon EC2 m5a.large",
    },
}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_known_machine_is_told_as_it_is(name: str) -> None:
    machine = msgspec.structs.asdict(machine_of(files_of(name)))
    assert {key: machine[key] for key in EXPECTED[name]} == EXPECTED[name]


def test_smt_siblings_isolation_and_frequency_are_told_of_each_cpu() -> None:
    cpus = machine_of(files_of("debian-13-rt")).cpus
    assert [cpu.number for cpu in cpus] == list(range(8))
    assert [cpu.number for cpu in cpus if cpu.isolated] == [2, 3, 6, 7]
    assert cpus[6].smt_siblings == [2, 6]
    assert (cpus[6].core, cpus[6].package) == (2, 0)
    assert (cpus[6].governor, cpus[6].driver) == ("performance", "intel_pstate")
    assert (cpus[6].min_khz, cpus[6].max_khz) == (800_000, 4_500_000)


def test_clusters_and_memory_nodes_are_told_of_each_cpu() -> None:
    files = files_of("raspberry-pi-4") | {
        CPU + "cpu1/topology/cluster_cpus_list": "0-1\n",
        "/sys/devices/system/node/node0/cpulist": "0-1\n",
        "/sys/devices/system/node/node1/cpulist": "2-3\n",
    }
    cpus = machine_of(files).cpus
    assert [cpu.cluster for cpu in cpus] == [[], [0, 1], [], []]
    assert [cpu.node for cpu in cpus] == [0, 0, 1, 1]


def test_capacity_and_kind_are_told_of_each_cpu() -> None:
    cpuinfo = "".join(
        f"processor\t: {i}\nCPU implementer\t: 0x41\nCPU part\t: {part}\n\n"
        for i, part in enumerate(["0xd03", "0xd03", "0xd08", "0xd08"])
    )
    files = files_of("raspberry-pi-4") | {"/proc/cpuinfo": cpuinfo}
    files |= {f"{CPU}cpu{n}/cpu_capacity": f"{446 if n < 2 else 1024}\n" for n in range(4)}
    files |= {CPU + "cpu1/cpufreq/cpuinfo_max_freq": "1800000\n"}
    cpus = machine_of(files).cpus
    assert [cpu.capacity for cpu in cpus] == [446, 446, 1024, 1024]
    assert [cpu.kind for cpu in cpus] == ["Cortex-A53", "Cortex-A53", "Cortex-A72", "Cortex-A72"]
    assert [cpu.peak_khz for cpu in cpus] == [None, 1_800_000, None, None]


def test_the_kinds_of_core_of_a_hybrid_x86_are_told() -> None:
    hybrid = {"/sys/devices/cpu_core/cpus": "0-3\n", "/sys/devices/cpu_atom/cpus": "4-7\n"}
    cpus = machine_of(files_of("debian-13-rt") | hybrid).cpus
    assert [cpu.kind for cpu in cpus] == ["core"] * 4 + ["atom"] * 4
    assert {cpu.kind for cpu in machine_of(files_of("debian-13-rt")).cpus} == {None}


def test_a_shared_cache_is_listed_once_with_its_sharers() -> None:
    assert machine_of(files_of("raspberry-pi-4")).caches[-1] == Cache(
        2, "unified", 1 << 20, [0, 1, 2, 3]
    )
    caches = machine_of(files_of("debian-13-rt")).caches
    assert len(caches) == 4 + 4 + 4 + 1
    assert caches[-1] == Cache(3, "unified", 8 << 20, list(range(8)))


def test_a_cpu_that_is_offline_is_told_so() -> None:
    files = files_of("raspberry-pi-4") | {CPU + "online": "0,2-3\n"}
    assert [cpu.online for cpu in machine_of(files).cpus] == [True, False, True, True]


def test_without_sys_the_cpus_are_counted_from_proc() -> None:
    files = {path: text for path, text in files_of("t2080-rt").items() if "/sys/" not in path}
    assert [cpu.number for cpu in machine_of(files).cpus] == list(range(8))


def test_without_proc_and_sys_uname_still_tells_a_real_time_kernel() -> None:
    files = {path: text for path, text in files_of("t2080-rt").items() if ":" in path}
    machine = machine_of(files)
    assert (machine.preemption, machine.high_resolution_timers) == ("rt", True)
    assert machine.cpus == []


def test_nothing_read_is_nothing_told() -> None:
    assert machine_of({}) == Machine()


def test_cores_of_two_kinds_are_both_named() -> None:
    cpuinfo = "".join(
        f"processor\t: {i}\nCPU implementer\t: 0x41\nCPU part\t: {part}\n\n"
        for i, part in enumerate(["0xd05", "0xd05", "0xd0b", "0xd0b"])
    )
    assert machine_of({"/proc/cpuinfo": cpuinfo}).cpu_model == "Cortex-A55 + Cortex-A76"


def test_an_unknown_arm_core_is_told_by_its_numbers() -> None:
    cpuinfo = "processor : 0\nCPU implementer : 0x7f\nCPU part : 0x123\n"
    assert machine_of({"/proc/cpuinfo": cpuinfo}).cpu_model == "implementer 0x7f part 0x123"


def test_a_riscv_without_a_named_core_is_told_by_its_instruction_set() -> None:
    assert machine_of({"/proc/cpuinfo": "isa : rv64imafdc\n"}).cpu_model == "rv64imafdc"


def test_hz_is_read_from_the_packed_configuration() -> None:
    packed = gzip.compress(b"# CONFIG_HZ_250 is not set\nCONFIG_HZ_1000=y\nCONFIG_HZ=1000\n")
    assert machine_of({"/proc/config.gz": packed}).hz == 1000


@pytest.mark.parametrize(
    ("resolution", "timers", "told"),
    [
        ("1", "", True),
        ("4000000", "", False),
        ("1", "  .hres_active    : 0\n", False),
        (None, "  .hres_active    : 1\n", True),
        (None, "", None),
        ("soon", "", None),
    ],
)
def test_high_resolution_timers_are_told_on_or_off(
    resolution: str | None, timers: str, told: bool | None
) -> None:
    files: dict[str, str | bytes] = {"/proc/timer_list": timers}
    if resolution is not None:
        files["clock:monotonic_resolution_ns"] = resolution
    assert machine_of(files).high_resolution_timers is told
