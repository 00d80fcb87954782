# SPDX-License-Identifier: GPL-2.0-only
"""Check a farm file against labgrid, ssh and the lab, without leasing a board."""

from collections.abc import Iterator
from contextlib import closing

import msgspec

from rtscope.farm.board import HereBoard, SshBoard
from rtscope.farm.farmfile import BoardSpec, FarmFile
from rtscope.farm.leasing import Leases
from rtscope.model.errors import RtscopeError


class BoardCheck(msgspec.Struct, frozen=True):
    """What was found of a board."""

    name: str
    target: str
    problem: str = ""
    """why it cannot be measured; it names the file and the line"""
    held: str = ""
    """who has it now; it can be measured later"""


def check_farm(file: FarmFile) -> Iterator[BoardCheck]:
    """Check each board."""
    with closing(Leases(file)) as leases:
        for number, spec in enumerate(file.farm.board):
            try:
                held = _check(file, number, spec, leases)
            except RtscopeError as error:
                text = str(error)
                where = (
                    "" if text.startswith(f"{file.path}:") else f"{file.where(number, 'target')}: "
                )
                yield BoardCheck(spec.title, spec.target, f"{where}{text}")
            else:
                yield BoardCheck(spec.title, spec.target, held=held)


def _check(file: FarmFile, number: int, spec: BoardSpec, leases: Leases) -> str:
    """Who has the board now. Raises RtscopeError."""
    if spec.is_labgrid:
        held = leases.check_place(number)
        leases.check_environment(number)
        return held
    if spec.target.startswith("ssh:"):
        with closing(SshBoard(spec, lambda: True)) as board:
            board.identify()
        return ""
    HereBoard(spec).reach()
    return ""
