# SPDX-License-Identifier: GPL-2.0-only
"""Targets by their names."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from rtscope.lab.vm import vm_target
from rtscope.model.errors import RtscopeError
from rtscope.target.agent import Target
from rtscope.target.local import LOCAL
from rtscope.target.ssh import ssh_target

_held: Final[dict[str, Target]] = {}
"""boards that a farm run holds, by name"""


def target_of(name: str) -> Target:
    """Return the target of this name: local, ssh:BOARD, vm:KERNEL, or one that is held.

    A board is connected when it is asked for first. Raises RtscopeError.
    """
    if held := _held.get(name):
        return held
    if name == "local":
        return LOCAL
    if name.startswith("vm:"):
        return vm_target(name)
    if name.startswith("ssh:"):
        return ssh_target(name)
    if name.startswith("labgrid:"):
        raise RtscopeError(
            f"'{name}' has to be leased first: name it in a farm file and measure it by "
            "`rtscope farm run` (docs/how-to/farm.md)"
        )
    raise RtscopeError(
        f"'{name}' cannot be reached: a target is local, the machine that this runs on, "
        "ssh:USER@HOST, or vm:KERNEL, one of the lab's (`rtscope lab kernel list`)"
    )


@contextmanager
def held(target: Target) -> Iterator[None]:
    """Let this target be found by its name within the block."""
    _held[target.name] = target
    try:
        yield
    finally:
        del _held[target.name]
