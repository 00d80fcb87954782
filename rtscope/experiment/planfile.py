"""Plan files: TOML, read whole or refused with the file, the line, and what was expected there.

tomllib tells where the syntax is wrong but keeps no positions of what is right. They are found by
reading the file again: a key stands where the first lines of the file, up to and with its own, are
TOML that has the key, and one statement less is TOML that has not.
"""

import itertools
import re
import tomllib
from pathlib import Path
from typing import Any, Final

import msgspec

from rtscope.model.budget import parse_limit
from rtscope.model.errors import RtscopeError
from rtscope.model.plan import BudgetRule, Measure, Plan, PlanLimit, PlanTime
from rtscope.model.units import parse_time_ns

MOST_BYTES: Final = 256 * 1024

Place = tuple[str | int, ...]
"""where in a plan: ("measure", 0, "loads", 2)"""

_EXPECTED: Final = {
    "title": 'the plan\'s title in one line, such as "Idle and under load"',
    "measure": "one or several tables [[measure]]",
    "budget": "tables [[budget]]",
    "probes": 'a list of probes, such as ["cyclic", "gtod"]',
    "loads": 'a list of loads, such as ["idle", "files:50+network:1"]',
    "intervals": 'a list of times, such as ["200us", "1ms"]',
    "policies": 'a list of fifo, deadline and other, such as ["fifo"]',
    "targets": 'a list of targets, such as ["local"]',
    "limits": 'a list of limits, such as ["max<50us", "missed<1"]',
    "order": '"shuffled" or "as written"',
    "repetitions": "a number from 1 to 10000",
    "seed": "a number from 0 to 4294967295",
    "priority": "a number from 1 to 99",
    "samples": "a number from 1, such as 100_000",
    "duration": 'a time, such as "30s"',
    "break": 'a time, such as "100us"',
    "watchdog": 'a time, such as "10s"',
    "worst": "a number from 0 to 64",
    "options": "a table of the probe's own options by their names, whose values are text, numbers, "
    'or lists of these, such as { method = ["nanosleep", "timerfd"] }',
}
_LISTS: Final = ("intervals", "limits")
_TOML_NAMES: Final = {
    "array": "a list",
    "bool": "true or false",
    "float": "a number with a point",
    "int": "a number",
    "object": "a table",
    "str": "text",
}
_MESSAGE: Final = re.compile(r"(.*?)(?: - at `(?:key` in `)?\$(.*)`)?", re.DOTALL)
_PART: Final = re.compile(r"\.([a-z_]+)|\[([0-9]+)\]|\[\.\.\.\]")


class PlanFile:
    """A plan and the file that it was read from, which can tell where something stands."""

    def __init__(self, plan: Plan, path: Path, text: str) -> None:
        """`text` is the file's."""
        self.plan = plan
        self.path = path
        self._text = text

    def on(self, targets: list[str]) -> "PlanFile":
        """The same for other targets than the plan names."""
        return PlanFile(msgspec.structs.replace(self.plan, targets=targets), self.path, self._text)

    def refusal(self, where: Place, sentence: str) -> RtscopeError:
        """An error that names the file and the line of `where`, or of the table it would be in."""
        return RtscopeError(f"{self.path}:{line_of(self._text, where)}: {sentence}")


def read_plan(path: Path) -> PlanFile:
    """Read a plan file. Raises RtscopeError that names the file and, if there is one, the line."""
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise RtscopeError(f"{path} cannot be read: {error.strerror}") from None
    if len(data) > MOST_BYTES:
        raise RtscopeError(f"{path} is larger than {MOST_BYTES // 1024} KiB, which no plan is")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise RtscopeError(f"{path}:{line}: this is not UTF-8 text, so it is no plan") from None
    return parse_plan(text.replace("\r\n", "\n"), path)


def parse_plan(text: str, path: Path) -> PlanFile:
    """Read a plan's text; `path` is for its errors. Raises RtscopeError."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise RtscopeError(_syntax(error, text, path)) from None
    except RecursionError:
        raise RtscopeError(f"{path}: this is no plan: it is nested too deeply") from None
    except ValueError:
        raise RtscopeError(f"{path}: this is no plan: a number has too many digits") from None
    try:
        plan = msgspec.convert(content, type=Plan, dec_hook=_decode)
    except msgspec.ValidationError as error:
        where, sentence = _explained(str(error))
        raise RtscopeError(f"{path}:{line_of(text, where)}: {sentence}") from None
    return PlanFile(plan, path, text)


def line_of(text: str, where: Place) -> int:
    """The line, counted from 1, of the statement that brings `where`, or its nearest table."""
    lines = text.split("\n")
    content = tomllib.loads(text)
    while where and not _holds(content, where):
        where = where[:-1]
    without, brings = 0, len(lines)  # lines from the top that have it not, and that have it
    while where:
        middle = _end_of_statement(lines, without, brings)
        if middle is None:
            break
        if _holds(_parsed(lines[:middle]), where):
            brings = middle
        else:
            without = middle
    return without + 1 if where else 1


def _end_of_statement(lines: list[str], low: int, high: int) -> int | None:
    """A number of lines between these, near the middle, that is TOML; None where there is none."""
    middle = (low + high) // 2
    for count in itertools.chain(range(middle, low, -1), range(middle + 1, high)):
        if _parsed(lines[:count]) is not None:
            return count
    return None


def _decode(kind: type, value: Any) -> Any:  # noqa: ANN401 - any TOML value
    try:
        if kind is PlanTime:
            if not isinstance(value, str):
                raise ValueError(
                    f'{str(value)[:60]} is not a time: write one in quotes, such as "200us"'
                )
            return PlanTime(parse_time_ns(value))
        if kind is PlanLimit:
            if not isinstance(value, str):
                raise ValueError(
                    f'{str(value)[:60]} is not a limit: write one in quotes, such as "max<50us"'
                )
            parse_limit(value)
            return PlanLimit(value)
    except RtscopeError as error:
        raise ValueError(str(error)) from None
    raise NotImplementedError(kind)


def _parsed(lines: list[str]) -> dict[str, Any] | None:
    try:
        return tomllib.loads("\n".join(lines))
    except (ValueError, RecursionError):
        return None


def _holds(content: Any, where: Place) -> bool:  # noqa: ANN401 - any TOML value
    for key in where:
        try:
            content = content[key]
        except (KeyError, IndexError, TypeError):
            return False
    return True


def _syntax(error: tomllib.TOMLDecodeError, text: str, path: Path) -> str:
    message, _, place = str(error).partition(" (at ")
    line = re.match(r"line ([0-9]+), column ([0-9]+)", place)
    number = int(line[1]) if line else text.rstrip().count("\n") + 1
    at = f", column {line[2]}" if line else ", at the end of the file"
    return f"{path}:{number}{at}: this is not TOML: {message[:1].lower()}{message[1:]}"


def _explained(message: str) -> tuple[Place, str]:
    """Where msgspec found what, and a sentence for a person."""
    found, place = _MESSAGE.fullmatch(message).groups()  # type: ignore[union-attr]
    where: list[str | int] = []
    for part in _PART.finditer(place or ""):
        if not (part[1] or part[2]):
            break
        where.append(part[1] or int(part[2]))
    field = re.search(r"^Object .* field `(.*)`$", found, re.DOTALL)
    if field and "unknown" in found:
        keys = ", ".join(part.encode_name for part in msgspec.structs.fields(_record(where)))
        text = f"'{field[1][:40]}' is not a key of {_table(where)}; its keys are {keys}"
        return (*where, field[1]), text
    if field:
        return tuple(where), f"{_table(where)} lacks {field[1]}: give {_EXPECTED[field[1]]}"
    key = next((part for part in reversed(where) if isinstance(part, str)), "")
    if not found.startswith(("Expected ", "Invalid enum value ")):
        inside = where and isinstance(where[-1], str)
        return tuple(where), f"{key}: {found}" if inside or key in _LISTS else found
    got = re.search(r"got `(.*)`|value ('.*')", found)
    instead = f", not {_TOML_NAMES.get(got[1], got[1]) if got[1] else got[2]}" if got else ""
    return tuple(where), f"{key}: expected {_EXPECTED.get(key, 'one line of text')}{instead}"


def _record(where: list[str | int]) -> type[Plan | Measure | BudgetRule]:
    return Plan if not where else Measure if where[0] == "measure" else BudgetRule


def _table(where: list[str | int]) -> str:
    return f"[[{where[0]}]]" if where else "the plan"
