# SPDX-License-Identifier: GPL-2.0-only
"""The QEMU plugin that records the guest's execution, and the symbols of the recorded code."""

import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

import msgspec

from rtscope.explain.symbols import Symbols, from_system_map
from rtscope.lab.kernels import (
    cache_directory,
    kernel_config,
    kernel_system_map,
)
from rtscope.lab.plugins import built_plugin, with_plugin
from rtscope.lab.vm import VmTarget, remember
from rtscope.model.errors import RtscopeError
from rtscope.model.request import SymbolsRequest
from rtscope.target.agent import Agent
from rtscope.target.protocol import End
from rtscope.target.protocol import Symbols as SymbolsLine

_SILENCE_S: Final = 90.0
_SMALLEST_RING: Final = 1 << 16
_LARGEST_RING: Final = 1 << 22
_ENTRY_INSTRUCTIONS: Final = 3
"""minimum average instructions per block"""
_SLOWER: Final = 5
"""slow-down factor of the plugin"""


class Wanted(msgspec.Struct, frozen=True):
    """A call of the agent's function for worst samples, to record with the execution before it."""

    number: int
    """from 1"""
    instructions: int
    """to record before it"""


def watched(
    target: VmTarget, symbols: Symbols, notice_address: int, wanted: Iterable[Wanted], output: Path
) -> VmTarget:
    """The same VM, with the plugin writing the execution before the wanted calls to `output`.
    Raises RtscopeError.
    """
    calls = list(wanted)
    most = max(call.instructions for call in calls) // _ENTRY_INSTRUCTIONS
    ring = min(max(1 << most.bit_length(), _SMALLEST_RING), _LARGEST_RING)
    words = [f"notice={notice_address:#x}", f"ring={ring}", f"output={output}"]
    words += [f"wanted={call.number}:{call.instructions}" for call in calls]
    words += [f"{key}={value:#x}" for key, value in _running_task(target, symbols).items()]
    limit_s = target.boot_limit_s * _SLOWER
    machine = with_plugin(target, built_plugin("recording.c", "guest.c"), words)
    return msgspec.structs.replace(machine, boot_limit_s=limit_s)


def kernel_symbols(target: VmTarget, on_start: Callable[[Agent], None]) -> Symbols:
    """The functions of the kernel and its modules: from its System.map, if it has one, and from
    the running kernel, which is asked once and then cached. `on_start` is called with the
    agent if one is started for it. Raises RtscopeError.
    """
    known = from_system_map(kernel_system_map(target.kernel))
    modules = target.modules()
    if known and not modules:
        return Symbols(known)
    hashes = [hashlib.sha256(data).hexdigest() for data in modules.values()]
    asked = [target.kernel.sha256, *hashes, target.board, target.spec.memory, target.spec.cpus]
    key = hashlib.sha256(repr([*asked, bool(known)]).encode()).hexdigest()[:32]
    path = cache_directory() / "symbols" / f"{key}.txt"
    try:
        return Symbols(known + path.read_text(encoding="utf-8"))
    except (OSError, RtscopeError):
        pass
    text = _asked(target, SymbolsRequest(modules_only=bool(known)), on_start)
    symbols = Symbols(known + text)
    remember(text.encode(), path)
    return symbols


def _asked(target: VmTarget, request: SymbolsRequest, on_start: Callable[[Agent], None]) -> str:
    texts: list[str] = []
    with target.started_agent(request) as agent:
        on_start(agent)
        for line in agent.lines(_SILENCE_S):
            if isinstance(line, SymbolsLine):
                texts.append(line.text)
            if isinstance(line, End) and line.status != "complete":
                raise RtscopeError(
                    f"the kernel {target.kernel.name} does not report the addresses of its "
                    "functions"
                )
    return "".join(texts)


RECORDED_ARCHITECTURES: Final = ("x86_64", "aarch64", "riscv64")
"""the architectures that the plugin and `_running_task` support"""


def _running_task(target: VmTarget, symbols: Symbols) -> dict[str, int]:
    """The location of the current task and the preemption count, in the plugin's format. x86:
    arch/x86/include/asm/current.h and preempt.h (struct pcpu_hot from 6.2 to 6.14); arm64 and
    riscv: the thread_info at the beginning of a task.
    """
    found = {"offsets": symbols.address("__per_cpu_offset")}
    match target.kernel.arch:
        case "x86_64":
            hot = symbols.address("pcpu_hot")
            found["current"] = symbols.address("current_task") if hot is None else hot
            found["preempt"] = symbols.address("__preempt_count") if hot is None else hot + 8
        case "aarch64":
            emulated_pan = b"CONFIG_ARM64_SW_TTBR0_PAN=y" in (kernel_config(target.kernel) or b"")
            found["current"] = symbols.address("__entry_task")
            found["preempt_in_task"] = 16 if emulated_pan else 8
        case "riscv64":
            found["preempt_in_task"] = 8
    return {key: value for key, value in found.items() if value is not None}
