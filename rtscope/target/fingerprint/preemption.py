# SPDX-License-Identifier: GPL-2.0-only
"""Which preemption model the kernel runs, and where that was read.

Mainline real-time kernels (6.12 and later) have no /sys/kernel/realtime, which only the patch
series added; they show as PREEMPT_RT in the version text and in the configuration. A
PREEMPT_DYNAMIC kernel holds several models and runs one: debugfs shows which, else `preempt=` on
the command line, else the default it was configured with (kernel/sched/core.c,
Documentation/admin-guide/kernel-parameters.txt).
"""

import re
from typing import Final

from rtscope.target.fingerprint.files import Files, clean, config_of, line_of, number_of, text_of

_DEBUGFS: Final = "/sys/kernel/debug/sched/preempt"
_MODELS: Final = {
    "CONFIG_PREEMPT_LAZY": "lazy",
    "CONFIG_PREEMPT": "full",
    "CONFIG_PREEMPT_VOLUNTARY": "voluntary",
    "CONFIG_PREEMPT_NONE": "none",
}
_FIRST_WITH_LAZY: Final = (6, 13)


def preemption_of(files: Files) -> tuple[str | None, str | None]:
    """The model (rt, lazy, full, voluntary, none; None: not known) and the evidence, in words."""
    version = version_of(files)
    config = config_of(files)
    chosen = _chosen_in_debugfs(files)

    real_time = _real_time_evidence(files, version, config)
    if real_time:
        return "rt", real_time + (f"; {_DEBUGFS} is at ({chosen})" if chosen else "")
    if chosen:
        return chosen, f"{_DEBUGFS} is at ({chosen})"
    default = next((option for option in _MODELS if config.get(option) == "y"), None)
    if config.get("CONFIG_PREEMPT_DYNAMIC") == "y" or re.search(r"\bPREEMPT_DYNAMIC\b", version):
        return _dynamic(files, config, default)
    if default:
        return _MODELS[default], f"{default}=y in the kernel's configuration"
    return _of_version(files, version)


def version_of(files: Files) -> str:
    """What `uname -v` prints: "#1 SMP PREEMPT_RT Debian ..."; empty where not known."""
    version = line_of(files, "uname:version")
    if version:
        return version
    _, mark, rest = text_of(files, "/proc/version").partition(" #")
    return clean(mark.strip() + rest) or ""


def release_of(files: Files) -> str | None:
    """What `uname -r` prints."""
    release = line_of(files, "uname:release")
    if release:
        return release
    match = re.match(r"Linux version (\S{1,100})", text_of(files, "/proc/version"))
    return clean(match[1]) if match else None


def _real_time_evidence(files: Files, version: str, config: dict[str, str]) -> str | None:
    seen = []
    if number_of(files, "/sys/kernel/realtime") == 1:
        seen.append("/sys/kernel/realtime is 1")
    match = re.search(r"\bPREEMPT[_ ]RT\b", version)
    if match:
        seen.append(f"uname -v contains {match[0]}")
    for option in ("CONFIG_PREEMPT_RT", "CONFIG_PREEMPT_RT_FULL"):
        if config.get(option) == "y":
            seen.append(f"{option}=y in the kernel's configuration")
    return "; ".join(seen) or None


def _chosen_in_debugfs(files: Files) -> str | None:
    match = re.search(r"\((none|voluntary|full|lazy)\)", text_of(files, _DEBUGFS))
    return match[1] if match else None


def _dynamic(
    files: Files, config: dict[str, str], default: str | None
) -> tuple[str | None, str | None]:
    asked = _asked_on_command_line(files, config)
    if asked:
        return asked, f"preempt={asked} on the command line of a PREEMPT_DYNAMIC kernel"
    if default is None:
        return None, (
            f"a PREEMPT_DYNAMIC kernel, but neither {_DEBUGFS} nor preempt= on the command line "
            "nor the kernel's configuration shows which model it runs"
        )
    otherwise = (
        "and no valid preempt= on the command line"
        if "/proc/cmdline" in files
        else "but the command line could not be read"
    )
    return _MODELS[default], f"a PREEMPT_DYNAMIC kernel with {default}=y as default, {otherwise}"


def _asked_on_command_line(files: Files, config: dict[str, str]) -> str | None:
    """The last `preempt=` that this kernel knows; it ignores others."""
    known = ["none", "voluntary", "full"]
    if config.get("CONFIG_ARCH_HAS_PREEMPT_LAZY") == "y" or (not config and _has_lazy(files)):
        known.append("lazy")
    asked = None
    for word in text_of(files, "/proc/cmdline").split():
        if word == "--":
            break
        name, _, value = word.partition("=")
        if name == "preempt" and value in known:
            asked = value
    return asked


def _of_version(files: Files, version: str) -> tuple[str | None, str | None]:
    if not version:
        return None, None
    if not re.search(r"\bPREEMPT\b", version):
        return None, (
            "voluntary or none: uname -v does not contain PREEMPT, and the kernel's configuration "
            "could not be read"
        )
    if _has_lazy(files):
        return None, (
            "full or lazy: uname -v contains PREEMPT, and the kernel's configuration could not be "
            "read"
        )
    return "full", "uname -v contains PREEMPT"


def _has_lazy(files: Files) -> bool:
    """Whether a kernel of this release may have lazy preemption."""
    match = re.match(r"([0-9]{1,4})\.([0-9]{1,4})", release_of(files) or "")
    return match is None or (int(match[1]), int(match[2])) >= _FIRST_WITH_LAZY
