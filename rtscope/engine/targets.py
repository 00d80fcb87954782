# SPDX-License-Identifier: GPL-2.0-only
"""Targets by their names."""

from rtscope.lab.vm import vm_target
from rtscope.model.errors import RtscopeError
from rtscope.target.agent import Target
from rtscope.target.local import LOCAL
from rtscope.target.ssh import ssh_target


def target_of(name: str) -> Target:
    """Return the target of this name: local, ssh:BOARD, or vm:KERNEL.

    A board is connected when it is asked for first. Raises RtscopeError.
    """
    if name == "local":
        return LOCAL
    if name.startswith("vm:"):
        return vm_target(name)
    if name.startswith("ssh:"):
        return ssh_target(name)
    raise RtscopeError(
        f"'{name}' cannot be reached: a target is local, the machine that this runs on, "
        "ssh:USER@HOST, or vm:KERNEL, one of the lab's (`rtscope lab kernel list`)"
    )
