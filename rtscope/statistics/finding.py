# SPDX-License-Identifier: GPL-2.0-only
"""What a run says about the machine, as sentences, most important first."""

import msgspec


class Finding(msgspec.Struct, frozen=True):
    """One sentence."""

    text: str
    disagrees: bool = False
    """the kernel, or whoever else described the machine, says otherwise"""
    cpu: int | None = None
    """the one that it says differs from the rest"""
