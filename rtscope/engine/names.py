# SPDX-License-Identifier: GPL-2.0-only
"""Names of the functions of the kernel under test, read when the first one is needed."""

from collections.abc import Callable
from typing import Final

from rtscope.explain.remote import NameOf
from rtscope.explain.symbols import Symbols, name_at
from rtscope.lab.recording import kernel_symbols
from rtscope.lab.vm import VmTarget
from rtscope.model.errors import RtscopeError
from rtscope.model.request import SymbolsRequest
from rtscope.target.agent import Agent, Target
from rtscope.target.protocol import Symbols as SymbolsLine

_SILENCE_S: Final = 30.0


def function_names(target: Target, on_start: Callable[[Agent], None]) -> NameOf:
    """Return what names a function by its address; it names none if the kernel reports none."""
    found: list[Symbols] = []

    def name_of(address: int) -> str:
        if not found:
            found.append(_symbols(target, on_start))
        return name_at(found[0], address)

    return name_of


def _symbols(target: Target, on_start: Callable[[Agent], None]) -> Symbols:
    try:
        if isinstance(target, VmTarget):
            return kernel_symbols(target, on_start)
        with target.started_agent(SymbolsRequest()) as agent:
            on_start(agent)
            lines = agent.lines(_SILENCE_S)
            return Symbols("".join(line.text for line in lines if isinstance(line, SymbolsLine)))
    except RtscopeError:
        return Symbols("")
