# SPDX-License-Identifier: GPL-2.0-only
"""Files in TOML that people write: read whole, or refused with the file, the line, and what was
expected there.

tomllib reports where the syntax is wrong but keeps no positions of what is right. They are found by
reading the file again: a key stands where the first lines of the file, up to and with its own, are
TOML that has the key, and one statement less is TOML that has not.
"""

import difflib
import itertools
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TypeVar, get_args

import msgspec

from rtscope.model.errors import RtscopeError

MOST_BYTES: Final = 256 * 1024

Place = tuple[str | int, ...]
"""where in a file: ("measure", 0, "loads", 2)"""
Record = TypeVar("Record", bound=msgspec.Struct)

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


class TomlKind(msgspec.Struct, frozen=True):
    """A kind of file, for the sentences about it."""

    name: str
    """such as "plan" """
    expected: Mapping[str, str]
    """what each key wants, such as "a number from 1 to 99"; else one line of text"""


def read_text(path: Path, kind: TomlKind) -> str:
    """The text of a file. Raises RtscopeError."""
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise RtscopeError(f"{path} cannot be read: {error.strerror}") from None
    if len(data) > MOST_BYTES:
        raise RtscopeError(
            f"{path} is larger than {MOST_BYTES // 1024} KiB, which no {kind.name} is"
        )
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise RtscopeError(
            f"{path}:{line}: this is not UTF-8 text, so it is no {kind.name}"
        ) from None
    return text.replace("\r\n", "\n")


def parse_text(
    text: str,
    path: Path,
    record: type[Record],
    kind: TomlKind,
    decode: Any = None,  # noqa: ANN401 - msgspec's dec_hook
) -> Record:
    """The record that a text holds; `path` is for its errors, `decode` for types of its own.

    Raises RtscopeError that names the file and, if there is one, the line.
    """
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise RtscopeError(_syntax(error, text, path)) from None
    except RecursionError:
        raise RtscopeError(f"{path}: this is no {kind.name}: it is nested too deeply") from None
    except ValueError:
        raise RtscopeError(
            f"{path}: this is no {kind.name}: a number has too many digits"
        ) from None
    try:
        return msgspec.convert(content, type=record, dec_hook=decode)
    except msgspec.ValidationError as error:
        where, sentence = explained(error, record, kind)
        raise RtscopeError(f"{path}:{line_of(text, where)}: {sentence}") from None


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


def explained(
    error: msgspec.ValidationError, record: type[msgspec.Struct], kind: TomlKind
) -> tuple[Place, str]:
    """Return where msgspec found an error, and a sentence for a person."""
    found, place = _MESSAGE.fullmatch(str(error)).groups()  # type: ignore[union-attr]
    where: list[str | int] = []
    for part in _PART.finditer(place or ""):
        if not (part[1] or part[2]):
            break
        where.append(part[1] or int(part[2]))
    held = _record_at(record, where)
    field = re.search(r"^Object .* field `(.*)`$", found, re.DOTALL)
    if field and "unknown" in found and held:
        keys = [one.encode_name for one in msgspec.structs.fields(held)]
        near = difflib.get_close_matches(field[1], keys, 1)
        text = f"'{field[1][:40]}' is not a key of {_table(where, kind)}; its keys are "
        text += ", ".join(keys) + "".join(f". Is it {key}?" for key in near)
        return (*where, field[1]), text
    if field:
        wanted = kind.expected.get(field[1], "one line of text")
        return tuple(where), f"{_table(where, kind)} lacks {field[1]}: give {wanted}"
    key = next((part for part in reversed(where) if isinstance(part, str)), "")
    if not found.startswith(("Expected ", "Invalid enum value ")):
        inside = where and (isinstance(where[-1], str) or not held)
        return tuple(where), f"{key}: {found}" if inside else found
    got = re.search(r"got `(.*)`|value ('.*')", found)
    instead = f", not {_TOML_NAMES.get(got[1], got[1]) if got[1] else got[2]}" if got else ""
    return tuple(where), f"{key}: expected {kind.expected.get(key, 'one line of text')}{instead}"


def _record_at(record: type[msgspec.Struct], where: list[str | int]) -> type[msgspec.Struct] | None:
    """The record that a table at this place is read as; None where there is a list or a value."""
    held: type[msgspec.Struct] | None = record
    for key in (part for part in where if isinstance(part, str)):
        fields = msgspec.structs.fields(held) if held else ()
        held = next((_record_in(one.type) for one in fields if one.encode_name == key), None)
    return held


def _record_in(kind: Any) -> type[msgspec.Struct] | None:  # noqa: ANN401 - any type
    """The record within a list, a union or an annotation."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return kind
    return next((held for inner in get_args(kind) if (held := _record_in(inner))), None)


def _table(where: list[str | int], kind: TomlKind) -> str:
    if not where:
        return f"the {kind.name}"
    name = ".".join(part for part in where if isinstance(part, str))
    return f"[[{name}]]" if isinstance(where[-1], int) else name
