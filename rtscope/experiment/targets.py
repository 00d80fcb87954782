"""The targets that a user can name."""

from rtscope.lab.vm import vm_target
from rtscope.model.errors import RtscopeError
from rtscope.target.agent import Target
from rtscope.target.local import LOCAL


def target_of(name: str) -> Target:
    """The target of this name: local, or vm: and one of the lab's kernels. Raises RtscopeError."""
    if name == "local":
        return LOCAL
    if name.startswith("vm:"):
        return vm_target(name)
    raise RtscopeError(
        f"'{name}' cannot be reached: a target is local, the machine that this runs on, or "
        "vm:KERNEL, one of the lab's (`rtscope lab kernel list`)"
    )
