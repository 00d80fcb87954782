# SPDX-License-Identifier: GPL-2.0-only
"""A figure from a guest is told from one of bare metal."""

import pytest

from rtscope.target.fingerprint import machine_of

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
    ("files", "told"),
    [
        ({CPUINFO: METAL}, "none"),
        ({CPUINFO: METAL, VENDOR: "Amazon EC2\n", PRODUCT: "m5.metal\n"}, "none"),
        ({CPUINFO: METAL, VENDOR: "Dell Inc.", PRODUCT: "PowerEdge R650"}, "none"),
        ({CPUINFO: GUEST}, "unidentified hypervisor"),
        ({CPUINFO: GUEST, VENDOR: "QEMU"}, "QEMU"),
        ({CPUINFO: GUEST, CPUID: "KVMKVMKVM"}, "KVM"),
        ({CPUINFO: GUEST, CPUID: "TCGTCGTCGTCG", VENDOR: "QEMU"}, "QEMU TCG"),
        ({CPUINFO: GUEST, CPUID: "VMwareVMware", VENDOR: "VMware, Inc."}, "VMware"),
        ({CPUINFO: GUEST, CPUID: "VBoxVBoxVBox", VENDOR: "innotek GmbH"}, "VirtualBox"),
        ({CPUINFO: GUEST, CPUID: "KVMKVMKVM", PRODUCT: "VirtualBox"}, "KVM (VirtualBox)"),
        ({CPUINFO: GUEST, CPUID: "Microsoft Hv", PRODUCT: "Virtual Machine"}, "Hyper-V"),
        ({CPUINFO: GUEST, CPUID: "XenVMMXenVMM", VENDOR: "Xen"}, "Xen"),
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
def test_the_hypervisor_is_named_or_its_absence_told(
    files: dict[str, str], told: str | None
) -> None:
    assert machine_of(dict(files)).virtualisation == told
