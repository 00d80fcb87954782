# SPDX-License-Identifier: GPL-2.0-only
"""Sentences about the worst paths of two exact runs."""

from typing import Final

from rtscope.statistics.paths import Path, PathComparison
from rtscope.wording.plain import plain

_INNERMOST: Final = 3
"""functions of a call chain that are shown"""


def paths_sentence(compared: PathComparison) -> str:
    """B's worst path has 9,000 instructions more; functions: 12 entered (+9,500), 3 left (-200)."""
    a, b = compared.a.instructions, compared.b.instructions
    if all(one.change == "same" for one in compared.functions):
        return f"the worst paths are the same: {a:,} instructions"
    apart = f"{abs(b - a):,} instructions {'more' if b >= a else 'fewer'}"
    parts = []
    for change in ("entered", "left", "longer", "shorter"):
        ones = [one for one in compared.functions if one.change == change]
        if ones:
            parts.append(f"{len(ones)} {change} ({sum(one.difference for one in ones):+,})")
    return f"B's worst path has {apart} than A's; functions: {', '.join(parts)}"


def path_line(side: str, path: Path) -> str:
    """A: x86_64-rt, seed 1: 5,060 instructions, longest in … → slow_driver."""
    chain = path.cause[-_INNERMOST:]
    if len(path.cause) > len(chain):
        chain = ["…", *chain]
    longest = f", longest in {' → '.join(map(plain, chain))}" if chain else ""
    kernel = plain(path.kernel)
    return f"{side}: {kernel}, seed {path.seed}: {path.instructions:,} instructions{longest}"
