# SPDX-License-Identifier: GPL-2.0-only
"""The hypervisor under which the kernel runs, if any, as far as the guest can detect it."""

import re
from typing import Final

from rtscope.target.fingerprint.files import Files, clean, line_of, text_of
from rtscope.target.fingerprint.processors import Fields, first

_SIGNATURES: Final = {
    "KVMKVMKVM": "KVM",
    "Linux KVM Hv": "KVM",
    "TCGTCGTCGTCG": "QEMU TCG",
    "VMwareVMware": "VMware",
    "VBoxVBoxVBox": "VirtualBox",
    "Microsoft Hv": "Hyper-V",
    "XenVMMXenVMM": "Xen",
    "bhyve bhyve": "bhyve",
    "prl hyperv": "Parallels",
    "lrpepyh vr": "Parallels",
    "ACRNACRNACRN": "ACRN",
    "Jailhouse": "Jailhouse",
    "QNXQVMBSQG": "QNX",
}
"""CPUID leaf 0x40000000, as each hypervisor documents it, blanks squeezed."""

_FIRMWARE: Final = (
    ("Amazon EC2", "Amazon EC2"),
    ("Google Compute Engine", "Google Compute Engine"),
    ("Alibaba Cloud", "Alibaba Cloud"),
    ("DigitalOcean", "DigitalOcean"),
    ("Hetzner", "Hetzner"),
    ("OpenStack", "OpenStack"),
    ("KubeVirt", "KubeVirt"),
    ("VMware", "VMware"),
    ("innotek GmbH", "VirtualBox"),
    ("VirtualBox", "VirtualBox"),
    ("Microsoft Corporation Virtual Machine", "Hyper-V"),
    ("Xen", "Xen"),
    ("Parallels", "Parallels"),
    ("BHYVE", "bhyve"),
    ("Apple Virtualization", "Apple Virtualization"),
    ("RHEL", "KVM"),
    ("QEMU", "QEMU"),
    ("KVM", "KVM"),
    ("Bochs", "Bochs"),
)
"""Prefixes of the DMI names of virtual machines."""

_DEVICE_TREE: Final = (
    ("linux,kvm", "KVM"),
    ("xen,xen", "Xen"),
    ("vmware", "VMware"),
    ("qemu,", "QEMU"),
    ("riscv-virtio", "QEMU"),
    ("linux,dummy-virt", "virtual machine (linux,dummy-virt)"),
)
"""Prefixes of the compatible strings of virtual machines."""


def virtualisation_of(files: Files, cpuinfo: Fields) -> str | None:
    """ "KVM (Amazon EC2)", "QEMU TCG", ...; "none" where none is seen; None: not known."""
    below = _hypervisor(files)
    platform = _platform(files, cpuinfo)
    flags = first(cpuinfo, "flags")

    if below is None and flags is not None:  # x86 has a CPUID bit for guests
        if "hypervisor" not in flags.split():
            return "none"
        below = None if platform else "unidentified hypervisor"
    if below and platform and below.split()[0] != platform:
        return f"{below} ({platform})"
    return below or platform or _nothing_seen(files)


def _hypervisor(files: Files) -> str | None:
    signature = line_of(files, "cpuid:hypervisor", 12)
    if signature:
        return _SIGNATURES.get(signature, f"hypervisor {signature}")
    kind = line_of(files, "/sys/hypervisor/type", 32)
    if kind:
        return "Xen" if kind == "xen" else kind
    node = text_of(files, "/proc/device-tree/hypervisor/compatible")
    return _in_device_tree(node) or clean(node, 64)


def _platform(files: Files, cpuinfo: Fields) -> str | None:
    dmi = "/sys/class/dmi/id/"
    vendor = line_of(files, dmi + "sys_vendor") or ""
    product = line_of(files, dmi + "product_name") or ""
    if vendor == "Amazon EC2" and product.endswith(".metal"):
        return None
    names = [f"{vendor} {product}", vendor, product]
    names += [line_of(files, dmi + file) or "" for file in ("board_vendor", "bios_vendor")]
    for beginning, name in _FIRMWARE:
        if any(text == beginning or text.startswith(beginning + " ") for text in names):
            return name

    machine = [first(cpuinfo, key) or "" for key in ("model name", "model", "machine", "platform")]
    if any("qemu" in text.lower() for text in [*machine, _model(files)]):
        return "QEMU"
    for path in files:
        if path.startswith("/proc/device-tree/fw-cfg") and "qemu," in text_of(files, path):
            return "QEMU"
    found = _in_device_tree(text_of(files, "/proc/device-tree/compatible"))
    if found is None and "pseries" in (first(cpuinfo, "platform") or "").lower():
        return "PowerVM" if not _hypervisor(files) else None
    return found


def _in_device_tree(compatible: str) -> str | None:
    strings = re.split(r"[\0\n]", compatible)
    for beginning, name in _DEVICE_TREE:
        if any(string.startswith(beginning) for string in strings):
            return name
    return None


def _model(files: Files) -> str:
    return line_of(files, "/proc/device-tree/model") or ""


def _nothing_seen(files: Files) -> str | None:
    """Whether a device tree or DMI names show no hypervisor; a MIPS system has neither."""
    hardware = _model(files) or line_of(files, "/sys/class/dmi/id/sys_vendor")
    return "none" if hardware else None
