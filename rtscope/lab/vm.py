# SPDX-License-Identifier: GPL-2.0-only
"""A target: a VM that boots one of the lab's kernels with the agent inside."""

import hashlib
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, get_args

import msgspec

from rtscope.lab.additions import Additions, additions
from rtscope.lab.boards import Board, find_board
from rtscope.lab.boot import ARGUMENTS_SIZE, Boot
from rtscope.lab.emulator import BOOT_LIMIT_S
from rtscope.lab.guest import Guest
from rtscope.lab.hostclock import emulated_tsc_khz
from rtscope.lab.image import initramfs
from rtscope.lab.kernels import (
    Kernel,
    cache_directory,
    check_whole,
    find_kernel,
    has_module,
    kernel_config,
    kernel_file,
    kernel_modules,
    takes_snapshots,
)
from rtscope.lab.machine import Preempt, Spec, parse_spec, qemu_command, qemu_version
from rtscope.lab.modules import needed_module
from rtscope.model.errors import RtscopeError
from rtscope.model.request import AgentRequest, MachineRequest, Request, measurement_in
from rtscope.model.run import Lab
from rtscope.store.files import write_file
from rtscope.target.agent import Agent, Capabilities
from rtscope.target.command import guest_command
from rtscope.target.local import agent_description, agent_path
from rtscope.target.protocol import files_of

_SILENCE_S: Final = 90.0
_TSC_OPTION: Final = "tsc_early_khz="
_ASK_MACHINE: Final = MachineRequest()
_MODEL_SYMBOLS: Final[dict[Preempt, str]] = {
    "none": "CONFIG_PREEMPT_NONE",
    "voluntary": "CONFIG_PREEMPT_VOLUNTARY",
    "full": "CONFIG_PREEMPT",
    "lazy": "CONFIG_PREEMPT_LAZY",
}
_FILES = msgspec.json.Decoder(dict[str, str])


class VmTarget(msgspec.Struct, frozen=True):
    """One kind of VM; each started agent has its own VM."""

    name: str
    spec: Spec
    kernel: Kernel
    board: Board
    qemu: str
    """version"""
    restores: bool
    """starts each run from a snapshot taken at the end of the boot"""
    boot_limit_s: float = BOOT_LIMIT_S
    """limit of the emulator's CPU time"""
    unseen: list[str] = []
    """more QEMU options for the agent's VM, which the guest cannot detect"""
    needed: str | None = None
    """a module that the agent needs, besides the requested ones"""
    additions: Additions = Additions()
    """the user's modules, files and commands"""

    @property
    def capabilities(self) -> Capabilities:
        """The target's capabilities."""
        return Capabilities(
            exact_time=self.spec.mode == "exact",
            side_by_side=True,
            lasting=False,
            user_programs=False,
            modules=True,
            seed=self.spec.seed,
            cpus=self.spec.cpus,
        )

    def fitted(self, request: AgentRequest) -> "VmTarget":
        """The VM with the module that the request's probe needs.

        Raises RtscopeError if the kernel lacks it.
        """
        asked = measurement_in(request)
        module = needed_module(asked) if asked else None
        if asked is None or module is None or module in {self.needed, *self.additions.parameters}:
            return self
        if not has_module(self.kernel, module):
            raise RtscopeError(
                f"{self.name}: the kernel {self.kernel.name} has no module {module}, which the "
                f"probe {asked.probe} needs here: {_how_to_have_modules(self.kernel)}"
            )
        return msgspec.structs.replace(self, needed=module)

    @contextmanager
    def started_agent(self, request: AgentRequest) -> Iterator[Guest]:
        """A booting guest that always ends with the block. In exact mode its agent writes no
        progress. The samples are written to the request's file when the guest has ended.
        Raises RtscopeError.
        """
        wanted = request.samples_file if isinstance(request, Request) else None
        samples_file = Path(wanted) if wanted else None
        check_whole(self.kernel)
        boot = self.fitted(request)._boot(request)
        described = agent_description(self.kernel.arch)
        guest = Guest(boot, self.boot_limit_s, self.unseen, samples_file, described)
        try:
            yield guest
        finally:
            guest.close()

    def machine_files(self, on_start: Callable[[Agent], None]) -> dict[str, str | bytes]:
        """The output of the agent's verb `machine` for this VM, run once and then cached. Raises
        RtscopeError.
        """
        path = cache_directory() / "machines" / f"{self._boot(_ASK_MACHINE).key}.json"
        try:
            return self._config() | _FILES.decode(path.read_bytes())
        except (OSError, msgspec.MsgspecError):
            pass
        with self.started_agent(_ASK_MACHINE) as guest:
            on_start(guest)
            files = files_of(guest.lines(_SILENCE_S))
        text = {name: content for name, content in files.items() if isinstance(content, str)}
        remember(msgspec.json.encode(text), path)
        return self._config() | text

    def kernel_options(self) -> list[str]:
        """The kernel parameters in addition to those of every kernel."""
        more: list[str] = []
        if self.spec.mode == "exact":
            more = self.kernel.exact_options
        elif self.spec.mode == "fast" and any(
            option.startswith(_TSC_OPTION) for option in self.kernel.exact_options
        ):
            khz = emulated_tsc_khz()
            more = [f"{_TSC_OPTION}{khz}"] if khz else []
        # An emulated serial port that interrupts another CPU for each byte looks to the kernel
        # like an interrupt without a handler, and it would disable the agent's own port.
        sound = [] if self.spec.mode == "exact" else ["noirqdebug"]
        return [*self.kernel.options, *more, *sound]

    def guest_files(self) -> dict[str, bytes]:
        """The user's files and commands, the modules to load at boot, and /rtscope.modules, which
        lists them in order with their parameters, and "!" before the required ones. Raises
        RtscopeError.
        """
        files = self.additions.guest_files()
        modules = self.modules()
        if not modules:
            return files
        parameters = {self.needed: ""} if self.needed else {}
        parameters |= self.additions.parameters
        lines = [
            f"!/modules/{name}.ko {parameters[name]}".rstrip() + "\n"
            if name in parameters
            else f"/modules/{name}.ko\n"
            for name in modules
        ]
        files = files | {f"modules/{name}.ko": data for name, data in modules.items()}
        return files | {"rtscope.modules": "".join(lines).encode()}

    def modules(self) -> dict[str, bytes]:
        """The modules to load at boot, by name, in order. Raises RtscopeError."""
        asked = [*self.additions.parameters, *([self.needed] if self.needed else [])]
        return kernel_modules(self.kernel, *asked, own=self.additions.modules)

    def _config(self) -> dict[str, str | bytes]:
        """The kernel's configuration: the guest's own is compressed, and only text is cached."""
        config = kernel_config(self.kernel)
        return {f"/boot/config-{self.kernel.release}": config.decode()} if config else {}

    def _boot(self, request: AgentRequest) -> Boot:
        seed = self.spec.seed
        if (asked := measurement_in(request)) and asked.seed is not None:
            seed = asked.seed
        described = agent_description(self.kernel.arch)
        words = guest_command(request, seed, described, exact=self.spec.mode == "exact")
        given = "".join(f"{word}\n" for word in words).encode()
        stops = self.restores and len(given) < ARGUMENTS_SIZE
        image = self._image({} if stops else {"rtscope.args": given})
        command = qemu_command(self.board, self.spec, self.kernel_options(), stops=stops)
        lab = self._lab(command, image, seed)
        return Boot(lab, kernel_file(self.kernel), image, given if stops else None)

    def _image(self, more: dict[str, bytes]) -> bytes:
        files = {"init": agent_path(self.kernel.arch).read_bytes()} | more | self.guest_files()
        if config := kernel_config(self.kernel):
            files[f"boot/config-{self.kernel.release}"] = config
        return initramfs(files, ["init", *self.additions.executables])

    def _lab(self, command: list[str], image: bytes, seed: int) -> Lab:
        exact = self.spec.mode == "exact"
        return Lab(
            mode=self.spec.mode,
            mips=self.spec.mips if exact else None,
            cpus=self.spec.cpus,
            seed=seed,
            qemu=self.qemu,
            command=command,
            kernel=self.kernel.name,
            kernel_source=self.kernel.source,
            kernel_sha256=self.kernel.sha256,
            config_sha256=self.kernel.config_sha256,
            patches=self.kernel.patches,
            initramfs_sha256=_hash(image),
        )


def _check_preempt(name: str, model: Preempt | None, config: bytes) -> None:
    """Refuse a preemption model that the kernel does not offer at boot: it would ignore it."""
    if model is None:
        return
    if b"CONFIG_PREEMPT_DYNAMIC=y\n" not in config:
        raise RtscopeError(
            f"{name}: the kernel does not support preempt= at boot: it needs "
            "CONFIG_PREEMPT_DYNAMIC, and the lab must know its configuration (--config)"
        )
    # A model that is offered is in the configuration, set or not.
    known = set(re.findall(r"CONFIG_\w+", config.decode(errors="replace")))
    offered = [one for one in get_args(Preempt) if _MODEL_SYMBOLS[one] in known]
    if model not in offered:
        raise RtscopeError(
            f"{name}: the kernel does not offer preempt={model} at boot, only {', '.join(offered)}"
        )


def vm_target(name: str) -> VmTarget:
    """The target of a name such as "vm:6.12-rt-amd64,mips=500", with or without "vm:". Raises
    RtscopeError.
    """
    text = name.removeprefix("vm:")
    name, spec = f"vm:{text}", parse_spec(text)
    kernel = find_kernel(spec.kernel)
    board = find_board(kernel.board, kernel.arch)
    if spec.cpus > board.most_cpus:
        raise RtscopeError(f"{name}: the board of {spec.kernel} has at most {board.most_cpus} CPUs")
    _check_preempt(name, spec.preempt, kernel_config(kernel) or b"")
    added = additions(spec, kernel)
    if spec.mode == "kvm" and kernel.arch != os.uname().machine:
        raise RtscopeError(
            f"{name}: mode=kvm runs kernels of this computer's architecture, not of "
            f"{kernel.arch}: use "
            "mode=fast"
        )
    restores = spec.start != "booted" and board.restores and takes_snapshots(kernel)
    if spec.start == "restored" and not board.restores:
        raise RtscopeError(
            f"{name}: the emulated board of {spec.kernel} does not support snapshots: leave out "
            "start=restored"
        )
    if spec.start == "restored" and not restores:
        raise RtscopeError(
            f"{name}: {spec.kernel} cannot be restored from a snapshot: it needs "
            "CONFIG_FW_CFG_SYSFS, or its module; add a Debian kernel again to get the module"
        )
    return VmTarget(name, spec, kernel, board, qemu_version(board), restores, additions=added)


def _how_to_have_modules(kernel: Kernel) -> str:
    if kernel.key:
        return f"`rtscope lab kernel build {kernel.name}` builds rtscope's modules with it"
    return (
        "kernels built by the lab have rtscope's modules; a Debian kernel gets them when it is "
        "added again"
    )


def remember(answer: bytes, path: Path) -> None:
    """Cache a VM's answer; if that fails, the VM is asked again."""
    with suppress(OSError, RtscopeError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(answer, path, "a VM's answer", overwrite=True)


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
