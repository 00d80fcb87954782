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
        "high_resolution_timers": False,
        "rt_runtime_us": -1,
        "rt_period_us": 1_000_000,
        "caches": [],
        "virtualisation": None,
    },
    "pseries-qemu": {
        "architecture": "ppc64",
        "cpu_model": "POWER9 (architected)",
        "board": "IBM pSeries (emulated by qemu)",
        "preemption": "none",
        "virtualisation": "QEMU",
        "idle_driver": "pseries_idle",
        "idle_states": [IdleState("snooze", 0), IdleState("CEDE", 120)],
    },
    "t2080-rt": {"cpu_model": "e6500", "board": "fsl,T2080RDB", "preemption": "rt"},
    "debian-13-rt": {
        "cpu_model": "Intel(R) Core(TM) i7-7700K CPU @ 4.20GHz",
        "board": "ASUSTeK COMPUTER INC. PRIME Z270-A",
        "kernel_version": "#1 SMP PREEMPT_RT Debian 6.12.57-1 (2025-11-05)",
        "command_line": "BOOT_IMAGE=/boot/vmlinuz-6.12.57+deb13-rt-amd64 root=UUID=6f2d ro "
        "isolcpus=managed_irq,domain,2-3,6-7 nohz_full=2-3,6-7",
        "preemption_evidence": "uname -v contains PREEMPT_RT; "
        "CONFIG_PREEMPT_RT=y in the kernel's configuration",
        "clock_sources": ["tsc", "hpet", "acpi_pm"],
        "rt_runtime_us": 950_000,
        "idle_states": [
            IdleState("POLL", 0),
            IdleState("C1", 2),
            IdleState("C1E", 10),
            IdleState("C3", 70, True),
            IdleState("C6", 85, True),
        ],
        "microcode": "0xf8",
    },
    "debian-12-rt-guest": {
        "cpu_model": "AMD EPYC 7551 32-Core Processor",
        "board": "QEMU Standard PC (Q35 + ICH9, 2009)",
        "preemption_evidence": "/sys/kernel/realtime is 1; uname -v contains PREEMPT_RT",
        "virtualisation": "KVM (QEMU)",
    },
    "debian-12-preempt-full": {
        "preemption_evidence": "preempt=full on the command line of a PREEMPT_DYNAMIC kernel",
        "virtualisation": "KVM (Amazon EC2)",
        "board": "Amazon EC2 m5a.large",
    },
}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_known_machine_is_described_as_it_is(name: str) -> None:
    machine = msgspec.structs.asdict(machine_of(files_of(name)))
    assert {key: machine[key] for key in EXPECTED[name]} == EXPECTED[name]


def arm_cores(*parts: str) -> str:
    """/proc/cpuinfo of cores with these part numbers."""
    return "".join(
        f"processor\t: {i}\nCPU implementer\t: 0x41\nCPU part\t: {part}\n\n"
        for i, part in enumerate(parts)
    )


PI, RT = files_of("raspberry-pi-4"), files_of("debian-13-rt")
BIG_LITTLE = arm_cores("0xd03", "0xd03", "0xd08", "0xd08")
HYBRID = {"/sys/devices/cpu_core/cpus": "0-3\n", "/sys/devices/cpu_atom/cpus": "4-7\n"}
NODES = {f"/sys/devices/system/node/node{n}/cpulist": f"{2 * n}-{2 * n + 1}\n" for n in range(2)}


@pytest.mark.parametrize(
    ("files", "field", "values"),
    [
        (RT, "number", list(range(8))),
        (RT, "isolated", [False, False, True, True] * 2),
        (RT, "smt_siblings", [[n % 4, n % 4 + 4] for n in range(8)]),
        (RT, "core", [0, 1, 2, 3] * 2),
        (RT, "package", [0] * 8),
        (RT, "governor", ["performance"] * 8),
        (RT, "driver", ["intel_pstate"] * 8),
        (RT, "min_khz", [800_000] * 8),
        (RT, "max_khz", [4_500_000] * 8),
        (RT, "kind", [None] * 8),
        (RT | HYBRID, "kind", ["core"] * 4 + ["atom"] * 4),
        (PI | {CPU + "cpu1/topology/cluster_cpus_list": "0-1\n"}, "cluster", [[], [0, 1], [], []]),
        (PI | NODES, "node", [0, 0, 1, 1]),
        (PI | {CPU + "online": "0,2-3\n"}, "online", [True, False, True, True]),
        (PI | {"/proc/cpuinfo": BIG_LITTLE}, "kind", ["Cortex-A53"] * 2 + ["Cortex-A72"] * 2),
        (
            PI | {f"{CPU}cpu{n}/cpu_capacity": f"{446 if n < 2 else 1024}\n" for n in range(4)},
            "capacity",
            [446, 446, 1024, 1024],
        ),
        (
            PI | {CPU + "cpu1/cpufreq/cpuinfo_max_freq": "1800000\n"},
            "peak_khz",
            [None, 1_800_000, None, None],
        ),
        (
            {path: text for path, text in files_of("t2080-rt").items() if "/sys/" not in path},
            "number",
            list(range(8)),
        ),
    ],
)
def test_each_cpu_is_described(
    files: dict[str, str | bytes], field: str, values: list[object]
) -> None:
    assert [getattr(cpu, field) for cpu in machine_of(files).cpus] == values


def test_a_shared_cache_is_listed_once_with_its_sharers() -> None:
    assert machine_of(PI).caches[-1] == Cache(2, "unified", 1 << 20, [0, 1, 2, 3])
    caches = machine_of(RT).caches
    assert len(caches) == 4 + 4 + 4 + 1
    assert caches[-1] == Cache(3, "unified", 8 << 20, list(range(8)))


def test_without_proc_and_sys_uname_still_reports_a_real_time_kernel() -> None:
    files = {path: text for path, text in files_of("t2080-rt").items() if ":" in path}
    machine = machine_of(files)
    assert (machine.preemption, machine.high_resolution_timers, machine.cpus) == ("rt", True, [])
    assert machine_of({}) == Machine()


HZ = gzip.compress(b"# CONFIG_HZ_250 is not set\nCONFIG_HZ_1000=y\nCONFIG_HZ=1000\n")
RESOLUTION, TIMERS = "clock:monotonic_resolution_ns", "/proc/timer_list"


@pytest.mark.parametrize(
    ("files", "field", "value"),
    [
        ({"/proc/cpuinfo": arm_cores("0xd05", "0xd0b")}, "cpu_model", "Cortex-A55 + Cortex-A76"),
        (
            {"/proc/cpuinfo": "processor : 0\nCPU implementer : 0x7f\nCPU part : 0x123\n"},
            "cpu_model",
            "implementer 0x7f part 0x123",
        ),
        ({"/proc/cpuinfo": "isa : rv64imafdc\n"}, "cpu_model", "rv64imafdc"),
        ({"/proc/config.gz": HZ}, "hz", 1000),
        ({RESOLUTION: "1"}, "high_resolution_timers", True),
        ({RESOLUTION: "4000000"}, "high_resolution_timers", False),
        ({RESOLUTION: "1", TIMERS: "  .hres_active    : 0\n"}, "high_resolution_timers", False),
        ({TIMERS: "  .hres_active    : 1\n"}, "high_resolution_timers", True),
        ({TIMERS: ""}, "high_resolution_timers", None),
        ({RESOLUTION: "soon"}, "high_resolution_timers", None),
    ],
)
def test_a_file_describes_the_machine(
    files: dict[str, str | bytes], field: str, value: object
) -> None:
    assert getattr(machine_of(files), field) == value


DEBUGFS = "/sys/kernel/debug/sched/preempt"
CONFIG = "/boot/config-x"
VERSION = "uname:version"
RELEASE = "uname:release"
CMDLINE = "/proc/cmdline"
VOLUNTARY = "CONFIG_PREEMPT_VOLUNTARY=y\nCONFIG_PREEMPT_DYNAMIC=y\n"
DYNAMIC = "#1 SMP PREEMPT_DYNAMIC Debian 6.12.57-1 (2025-11-05)"
RT_KERNEL = "#1 SMP PREEMPT_RT"


@pytest.mark.parametrize(
    ("files", "model", "evidence"),
    [
        ({VERSION: f"{RT_KERNEL} Debian 6.12.57-1"}, "rt", "uname -v contains PREEMPT_RT"),
        ({VERSION: "#1 SMP PREEMPT RT Debian 4.19.37"}, "rt", "uname -v contains PREEMPT RT"),
        ({"/proc/version": f"Linux version 6.12.1 {RT_KERNEL}"}, "rt", "contains PREEMPT_RT"),
        ({CONFIG: "CONFIG_PREEMPT_RT=y\n"}, "rt", "CONFIG_PREEMPT_RT=y"),
        ({"/sys/kernel/realtime": "1\n"}, "rt", "/sys/kernel/realtime is 1"),
        ({VERSION: RT_KERNEL, DEBUGFS: "full (lazy) \n"}, "rt", f"RT; {DEBUGFS} is at (lazy)"),
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
def test_the_model_is_reported_with_its_evidence(
    files: dict[str, str], model: str | None, evidence: str | None
) -> None:
    machine = machine_of(dict(files))
    assert machine.preemption == model
    assert (machine.preemption_evidence is None) == (evidence is None)
    assert (evidence or "") in (machine.preemption_evidence or "")


CPUID = "cpuid:hypervisor"
CPUINFO = "/proc/cpuinfo"
VENDOR = "/sys/class/dmi/id/sys_vendor"
PRODUCT = "/sys/class/dmi/id/product_name"
MODEL = "/proc/device-tree/model"
COMPATIBLE = "/proc/device-tree/compatible"
NODE = "/proc/device-tree/hypervisor/compatible"
GUEST = "flags\t\t: fpu hypervisor lahf_lm\n"
DUMMY = {MODEL: "linux,dummy-virt\0", COMPATIBLE: "linux,dummy-virt\0"}
PSERIES = "platform : pSeries\n"
METAL = "flags\t\t: fpu lahf_lm\n"


@pytest.mark.parametrize(
    ("files", "reported"),
    [
        ({CPUINFO: METAL}, "none"),
        ({CPUINFO: METAL, VENDOR: "Amazon EC2\n", PRODUCT: "m5.metal\n"}, "none"),
        ({CPUINFO: GUEST}, "unidentified hypervisor"),
        ({CPUINFO: GUEST, VENDOR: "QEMU"}, "QEMU"),
        ({CPUINFO: GUEST, CPUID: "KVMKVMKVM"}, "KVM"),
        ({CPUINFO: GUEST, CPUID: "TCGTCGTCGTCG", VENDOR: "QEMU"}, "QEMU TCG"),
        ({CPUINFO: GUEST, CPUID: "VMwareVMware", VENDOR: "VMware, Inc."}, "VMware"),
        ({CPUINFO: GUEST, CPUID: "VBoxVBoxVBox", VENDOR: "innotek GmbH"}, "VirtualBox"),
        ({CPUINFO: GUEST, CPUID: "XenVMMXenVMM", VENDOR: "Xen"}, "Xen"),
        ({CPUINFO: GUEST, CPUID: "KVMKVMKVM", PRODUCT: "VirtualBox"}, "KVM (VirtualBox)"),
        ({CPUINFO: GUEST, CPUID: "Microsoft Hv", PRODUCT: "Virtual Machine"}, "Hyper-V"),
        ({CPUINFO: GUEST, "/sys/hypervisor/type": "xen\n"}, "Xen"),
        ({CPUINFO: GUEST, CPUID: "KVMKVMKVM", VENDOR: "Google", PRODUCT: "Google Compute Engine"},
         "KVM (Google Compute Engine)"),
        ({CPUINFO: GUEST, CPUID: "ACRNACRNACRN"}, "ACRN"),
        ({CPUINFO: GUEST, CPUID: "SomethingNew"}, "hypervisor SomethingNew"),
        ({VENDOR: "Google", PRODUCT: "Eve"}, "none"),
        ({VENDOR: "Amazon EC2", PRODUCT: "c7g.large"}, "Amazon EC2"),
        ({VENDOR: "Amazon EC2", PRODUCT: "c7g.metal"}, "none"),
        (DUMMY, "virtual machine (linux,dummy-virt)"),
        (DUMMY | {"/proc/device-tree/fw-cfg@9020000/compatible": "qemu,fw-cfg-mmio\0"}, "QEMU"),
        ({MODEL: "riscv-virtio,qemu\0", COMPATIBLE: "riscv-virtio\0"}, "QEMU"),
        ({MODEL: "XENVM-4.17\0", NODE: "xen,xen-4.17\0xen,xen\0"}, "Xen"),
        ({MODEL: "Renesas Salvator-X\0", COMPATIBLE: "renesas,salvator-x\0"}, "none"),
        ({CPUINFO: PSERIES, COMPATIBLE: "qemu,pseries\0", NODE: "linux,kvm\0"}, "KVM (QEMU)"),
        ({CPUINFO: PSERIES, COMPATIBLE: "IBM,9009-22A\0"}, "PowerVM"),
        ({CPUINFO: PSERIES, COMPATIBLE: "IBM,x\0", NODE: "linux,kvm\0"}, "KVM"),
        ({CPUINFO: "system type : MIPS Malta\n"}, None),
        ({}, None),
    ],
)  # fmt: skip
def test_the_hypervisor_is_named_or_its_absence_reported(
    files: dict[str, str], reported: str | None
) -> None:
    assert machine_of(dict(files)).virtualisation == reported
