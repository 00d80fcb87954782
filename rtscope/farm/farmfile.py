# SPDX-License-Identifier: GPL-2.0-only
"""Farm files: boards, and how each is reached, in TOML."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec

from rtscope.model.errors import RtscopeError
from rtscope.model.plan import PlanTime
from rtscope.model.tomlfile import Place, TomlKind, line_of, parse_text, read_text
from rtscope.model.units import parse_time_ns

_KIND: Final = TomlKind(
    "farm",
    {
        "board": "one or several tables [[board]]",
        "title": 'one line of text, such as "Nightly"',
        "coordinator": 'labgrid\'s coordinator, such as "lab.example.org:20408"',
        "environment": 'labgrid\'s environment file, such as "lab.yaml"',
        "lease_wait": 'a time in quotes, such as "1h"',
        "target": '"labgrid:PLACE", "labgrid:TAG=VALUE", "ssh:USER@HOST", "vm:KERNEL" or "local"',
        "images": 'a table of labgrid\'s images, such as { kernel = "Image-rt" }',
        "kernel": 'the beginning of a kernel\'s release, such as "6.12"',
        "arch": 'an architecture as `uname -m` prints it, such as "aarch64"',
        "boot": "true or false",
        "boot_wait": 'a time in quotes, such as "3m"',
        "quiet": "true or false",
        "quiet_wait": 'a time in quotes, such as "2m"',
        "recoveries": "a number from 0 to 100",
    },
)
_LABGRID: Final = "labgrid:"
_ONLY_LABGRID: Final = ("role", "state", "images", "boot", "recoveries")
_MOST_RECOVERIES: Final = 100
_PLACE_NAME: Final = re.compile(r"[\w.+-]{1,200}")
_TAG: Final = re.compile(r"(?P<key>[\w.-]{1,100})=(?P<value>[\w.-]{1,100})")


class BoardSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One [[board]] of a farm file."""

    target: str
    name: str = ""
    """"" stands for the target"""
    kernel: str = ""
    """beginning of the release that the board must run; "" for any"""
    arch: str = ""
    """architecture that the board must have; "" for any"""
    role: str = ""
    """the target's name in labgrid's environment; "": the one that has the place"""
    state: str = "shell"
    """the state of labgrid's strategy in which the board is measured"""
    images: dict[str, str] = {}
    """images in place of those of labgrid's environment"""
    boot: bool = True
    """boot the board before it is measured, where something can"""
    boot_wait: PlanTime = PlanTime(180_000_000_000)
    """for its sshd, after a boot"""
    quiet: bool = True
    """check that nothing else runs there"""
    quiet_wait: PlanTime = PlanTime(120_000_000_000)
    """for the board to be quiet"""
    recoveries: int = 2
    """power cycles of a board that hangs, in one plan"""

    @property
    def title(self) -> str:
        """Its name for people."""
        return self.name or self.target

    @property
    def filters(self) -> dict[str, str]:
        """The tags by which labgrid chooses the place; empty for other targets."""
        if not self.target.startswith(_LABGRID):
            return {}
        text = self.target.removeprefix(_LABGRID)
        if _PLACE_NAME.fullmatch(text):
            return {"name": text}
        return dict(part.split("=", 1) for part in text.split(","))

    @property
    def is_labgrid(self) -> bool:
        """Whether labgrid leases it."""
        return self.target.startswith(_LABGRID)


class Farm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of a farm file."""

    board: list[BoardSpec]
    title: str = ""
    coordinator: str = ""
    """"": labgrid's own default, LG_COORDINATOR or 127.0.0.1:20408"""
    environment: str = ""
    """"": no drivers but those that rtscope knows for a place's resources"""
    lease_wait: PlanTime = PlanTime(3600_000_000_000)
    """for a place that somebody else has"""


class FarmFile(msgspec.Struct, frozen=True):
    """A farm and its file, for errors that name the line."""

    farm: Farm
    path: Path
    text: str

    def refusal(self, number: int, key: str, sentence: str) -> RtscopeError:
        """An error about a key of a board; it names the file and the line."""
        return RtscopeError(f"{self.where(number, key)}: {sentence}")

    def where(self, number: int, key: str) -> str:
        """The file and the line of a board's key, or of its table."""
        place: Place = ("board", number, key)
        return f"{self.path}:{line_of(self.text, place)}"

    @property
    def title(self) -> str:
        """Its title, or the file's name."""
        return self.farm.title or self.path.name

    @property
    def environment(self) -> Path | None:
        """The path of labgrid's environment file."""
        return self.path.parent / self.farm.environment if self.farm.environment else None


def read_farm(path: Path) -> FarmFile:
    """Read a farm file. Raises RtscopeError that names the file and, if there is one, the line."""
    text = read_text(path, _KIND)
    file = FarmFile(parse_text(text, path, Farm, _KIND, _decode), path, text)
    if not file.farm.board:
        raise RtscopeError(f"{path}: the farm has no board: add a table [[board]] with a target")
    names: dict[str, int] = {}
    for number, board in enumerate(file.farm.board):
        _check_board(board, partial(file.refusal, number))
        if board.title in names:
            raise file.refusal(
                number, "name", f"two boards have the name '{board.title}': give one another name"
            )
        names[board.title] = number
    return file


def _check_board(board: BoardSpec, refusal: Callable[[str, str], RtscopeError]) -> None:
    kind, _, rest = board.target.partition(":")
    if board.target != "local" and (kind not in ("labgrid", "ssh", "vm") or not rest):
        raise refusal("target", f"target: expected {_KIND.expected['target']}")
    if board.is_labgrid and not _PLACE_NAME.fullmatch(rest):
        for part in rest.split(","):
            if not _TAG.fullmatch(part):
                raise refusal("target", f"target: '{part[:60]}' is neither a place nor TAG=VALUE")
    if not 0 <= board.recoveries <= _MOST_RECOVERIES:
        raise refusal("recoveries", f"recoveries: expected {_KIND.expected['recoveries']}")
    usual = BoardSpec(board.target)
    for key in _ONLY_LABGRID:
        if not board.is_labgrid and getattr(board, key) != getattr(usual, key):
            raise refusal(key, f"{key}: only boards of labgrid have it, not {board.target}")


def _decode(kind: type, value: Any) -> Any:  # noqa: ANN401 - any TOML value
    if kind is not PlanTime:
        raise NotImplementedError(kind)
    if not isinstance(value, str):
        raise ValueError(f'{str(value)[:60]} is not a time: write one in quotes, such as "2m"')
    try:
        return PlanTime(parse_time_ns(value))
    except RtscopeError as error:
        raise ValueError(str(error)) from None
