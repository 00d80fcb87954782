# SPDX-License-Identifier: GPL-2.0-only
"""The head that every rt-tests program (cyclictest, oslat) gives its --json file."""

import re
import shlex
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import PurePosixPath

import msgspec

from rtscope.model.errors import RtscopeError
from rtscope.model.machine import Machine
from rtscope.model.run import Status
from rtscope.model.units import parse_time_ns
from rtscope.store.foreign import machine_of


class SysInfo(msgspec.Struct, frozen=True):
    """uname, and whether /sys/kernel/realtime said 1."""

    nodename: str | None = None
    release: str | None = None
    version: str | None = None
    machine: str | None = None
    realtime: int = 0


class Head(msgspec.Struct, frozen=True):
    """Keys before the results; rt-tests before 2.5 spells two of them with a colon."""

    cmdline: str = ""
    rt_test_version: str = ""
    start_time: str = ""
    end_time: str = ""
    return_code: int = 0
    sysinfo: SysInfo = SysInfo()

    @property
    def machine(self) -> Machine:
        """The fingerprint, as far as uname has it."""
        info = self.sysinfo
        realtime = info.realtime == 1
        return machine_of(info.nodename, info.machine, info.release, info.version, realtime)

    @property
    def status(self) -> Status:
        """The status according to the exit status; a break at a threshold exits with 0 as well."""
        return "complete" if self.return_code == 0 else "failed"

    @property
    def command(self) -> list[str]:
        """The words of the command line; its quotes were lost when it was printed."""
        try:
            return shlex.split(self.cmdline)
        except ValueError:
            return self.cmdline.split()

    @property
    def program(self) -> str:
        """The name of the program that wrote the file, without its folder; "" if unknown."""
        return PurePosixPath(self.command[0]).name if self.command else ""

    @property
    def elapsed_ns(self) -> int | None:
        """From start to end, which are printed to the second; None below one."""
        start, end = _time(self.start_time), _time(self.end_time)
        if start is None or end is None or end <= start:
            return None
        return int((end - start).total_seconds()) * 1_000_000_000

    def created(self, otherwise: str) -> str:
        """The start as ISO 8601 in UTC, or `otherwise` where it cannot be read."""
        start = _time(self.start_time)
        return start.strftime("%Y-%m-%dT%H:%M:%SZ") if start else otherwise


def option(cmdline: str, letters: str, names: str) -> int | None:
    """The number given to an option, such as 99 in "cyclictest -Sp99 -i200"."""
    text = _option_text(cmdline, letters, names)
    return int(text) if text and text.isdigit() else None


def time_option_ns(cmdline: str, letters: str, names: str) -> int | None:
    """The time given to an option in ns: a bare number is in us, and 1ms is what rtscope takes."""
    text = _option_text(cmdline, letters, names)
    try:
        return parse_time_ns(text, "us") if text else None
    except RtscopeError:
        return None


def _option_text(cmdline: str, letters: str, names: str) -> str | None:
    """`letters` is a character class of short options, `names` an alternation of long ones."""
    short = rf"-[A-Za-z]{{0,20}}[{letters}][ \t]?"
    number = r"([0-9]{1,15}(?:\.[0-9]{1,9})?[a-z]{0,3})(?!\S)"
    match = re.search(rf"(?:^|\s)(?:{short}|--(?:{names})[= ]){number}", cmdline)
    return match[1] if match else None


def _time(text: str) -> datetime | None:
    try:
        return parsedate_to_datetime(text).astimezone(UTC)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
