# SPDX-License-Identifier: GPL-2.0-only
"""Read the description of our agent, which the build has generated from the agent's tables."""

from functools import cache
from pathlib import Path
from typing import Final

import msgspec

from rtscope.model.description import Description
from rtscope.model.errors import RtscopeError
from rtscope.target.building import is_checkout

_NAME: Final = "description.json"


@cache
def our_description() -> Description:
    """Return what the agents of this rtscope can do. Raises RtscopeError."""
    package = Path(__file__).resolve().parent.parent
    file = package / "target" / _NAME
    if is_checkout(package):
        file = package.parent / "build" / "native" / _NAME
    try:
        return msgspec.json.decode(file.read_bytes(), type=Description)
    except OSError as error:
        raise RtscopeError(
            f"the agent's description {file} cannot be read ({error.strerror}): build it with "
            "`make agent` in the checkout, or install rtscope again"
        ) from None
