# SPDX-License-Identifier: GPL-2.0-only
"""Addresses of the kernel's functions: which one an address lies in."""

import re
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rtscope.model.errors import RtscopeError

USER_SPACE: Final = "user space"
_KERNEL: Final = 1 << 63
_ADDRESS: Final = (1 << 64) - 1
_TEXT: Final = "_stext"
_LONGEST_FUNCTION: Final = 1 << 20
_MOST_SYMBOLS: Final = 2_000_000
_NO_FUNCTION: Final = ("__pfx_", "__cfi_", "$", ".")
_LEADING: Final = (
    *("__per_cpu_offset", "pcpu_hot", "current_task", "__preempt_count", "__entry_task"),
    "init_task",
)
"""as the agent's verb `symbols` chooses them"""
_CLONE: Final = re.compile(r"\.(?:isra|constprop|part|cold|lto_priv|llvm)(?:\.[0-9]+)?")
_LINE: Final = re.compile(r"([0-9a-f]{1,16}) (\S{1,600})(?: (\[\S{1,80}\]))?")


def from_system_map(text: str) -> str:
    """The functions of a System.map, and the data that lead to the running task, as Symbols takes
    them; empty where it holds no functions, as a distribution's that only names its place."""
    lines = []
    for line in text.splitlines():
        address, _, rest = line.partition(" ")
        kind, _, name = rest.partition(" ")
        function = kind in {"t", "T", "w", "W"} and not name.startswith(_NO_FUNCTION)
        if function or name in _LEADING:
            lines.append(f"{address} {name}\n")
    return "".join(lines)


def from_kallsyms(text: str) -> "Symbols":
    """The functions in the text of /proc/kallsyms; none where it is not that."""
    lines = []
    for line in text.splitlines():
        address, _, rest = line.strip().partition(" ")
        kind, _, name = rest.partition(" ")
        if kind in {"t", "T", "w", "W"} and address.strip("0"):
            lines.append(f"{address} {name.replace(chr(9), ' ')}\n")
    try:
        return Symbols("".join(lines))
    except RtscopeError:
        return Symbols("")


def name_at(symbols: "Symbols", address: int) -> str:
    """The function at an address, or at an offset from the kernel's _stext; empty: unknown."""
    address &= _ADDRESS
    if address < _KERNEL:
        base = symbols.address(_TEXT)
        address = base + address if base else 0
    if not _KERNEL <= address <= _ADDRESS:
        return ""
    names, chosen, _ = symbols.functions(np.array([address], np.uint64))
    name = names[int(chosen[0])]
    return "" if name.startswith("0x") else name


class Symbols:
    """The functions of one kernel and its modules."""

    def __init__(self, text: str) -> None:
        """Read lines of address in hexadecimal, name and perhaps [module].

        Raises RtscopeError where they are no such lines.
        """
        found: dict[int, str] = {}
        self._addresses: dict[str, int] = {}
        for number, line in enumerate(text.splitlines()):
            parts = _LINE.fullmatch(line)
            if not parts or number == _MOST_SYMBOLS:
                raise RtscopeError(f"this is no line of a kernel's symbols: {line[:80]!r}")
            address, name = int(parts[1], 16), parts[2]
            self._addresses.setdefault(name, address)
            if address >= _KERNEL:
                found.setdefault(address, f"{name} {parts[3]}" if parts[3] else name)
        starts = sorted(found)
        self._starts = np.array(starts, dtype=np.uint64)
        self._cold = np.array([".cold" in found[start] for start in starts], dtype=bool)
        self._names = [_CLONE.sub("", found[start]) for start in starts]

    def address(self, name: str) -> int | None:
        """Where this symbol is; None where there is none."""
        return self._addresses.get(name)

    def functions(
        self, addresses: NDArray[np.uint64]
    ) -> tuple[list[str], NDArray[np.int64], NDArray[np.bool_]]:
        """The functions that addresses lie in: names; for each address, the place of its function
        among the names; and whether it is that function's beginning."""
        if len(self._starts):
            place = np.searchsorted(self._starts, addresses, side="right").astype(np.int64) - 1
            start = self._starts[np.maximum(place, 0)]
            known = (place >= 0) & (addresses - start < _LONGEST_FUNCTION)
            begins = known & (addresses == start) & ~self._cold[np.maximum(place, 0)]
        else:
            place = np.full(len(addresses), -1, dtype=np.int64)
            known = begins = np.zeros(len(addresses), dtype=bool)
        names: dict[str, int] = {}
        by_place: dict[int, int] = {}
        chosen = np.empty(len(addresses), dtype=np.int64)
        for key, of_key in _grouped(np.where(known, place, -1), addresses):
            if key >= 0:
                index = by_place.setdefault(key, names.setdefault(self._names[key], len(names)))
                chosen[of_key] = index
                continue
            for index_in_key in of_key:
                address = int(addresses[index_in_key])
                name = USER_SPACE if address < _KERNEL else f"{address:#x}"
                chosen[index_in_key] = names.setdefault(name, len(names))
        return list(names), chosen, begins


def _grouped(
    keys: NDArray[np.int64], addresses: NDArray[np.uint64]
) -> list[tuple[int, NDArray[np.int64]]]:
    """Each key with the indices where it stands."""
    order = np.argsort(keys, kind="stable")
    cuts = np.flatnonzero(np.diff(keys[order])) + 1
    return [(int(keys[part[0]]), part) for part in np.split(order, cuts) if len(part)]
