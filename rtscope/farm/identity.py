# SPDX-License-Identifier: GPL-2.0-only
"""Which system answers over a connection: its boot, its architecture and its kernel."""

import re
from typing import Final

import msgspec

from rtscope.farm.farmfile import BoardSpec
from rtscope.model.errors import BootError, RtscopeError
from rtscope.target.connection import LOST, Connection

_ASK: Final = r"""
read -r boot </proc/sys/kernel/random/boot_id
printf "\nrtscope: %s\n" "$boot $(uname -m) $(uname -r)"
"""
_ANSWER: Final = re.compile(r"([0-9a-f-]{36}) ([\w]{1,40}) ([\w.+~-]{1,120})")


class Identity(msgspec.Struct, frozen=True):
    """A system that has booted."""

    boot: str
    """the kernel's boot_id, another one after each boot"""
    arch: str
    release: str


def identity_of(name: str, connection: Connection) -> Identity:
    """Ask the board `name`. Raises BootError if it does not answer."""
    said = connection.run(_ASK)
    found = _ANSWER.fullmatch(said.answers[0]) if said.answers else None
    if found:
        return Identity(*found.groups())
    if said.status == LOST:
        raise BootError(f"the connection to {name} was lost: {said.complaint}")
    raise BootError(f"{name} does not answer like a Linux system: {said.complaint}")


def check_identity(name: str, spec: BoardSpec, found: Identity) -> None:
    """Refuse a board of another architecture or kernel than the farm file has. Raises
    RtscopeError.
    """
    if spec.arch and found.arch != spec.arch:
        raise RtscopeError(
            f'{name} is {found.arch}, but the farm file says arch = "{spec.arch}": correct the '
            "file, or the place's matches in labgrid"
        )
    if not found.release.startswith(spec.kernel):
        raise RtscopeError(
            f'{name} runs {found.release}, but the farm file wants kernel = "{spec.kernel}": '
            "check what it boots"
        )
