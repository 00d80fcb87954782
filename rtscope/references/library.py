# SPDX-License-Identifier: GPL-2.0-only
"""The references that come with rtscope, from the TOML files of this directory."""

import re
import tomllib
from collections import Counter
from collections.abc import Iterable
from importlib.resources import files
from typing import Any, Final

import msgspec

from rtscope.model.errors import RtscopeError
from rtscope.model.reference import HOW_OURS, Reference, Table

NOTHING: Final = "–"

_VALUE: Final = re.compile(r"([~<>]?)(-?[0-9]+(?:\.[0-9]+)?)", re.ASCII)
_RELATIONS: Final = {"": "is", "~": "about", ">": "above", "<": "below"}
_VERDICTS: Final = ("PASS", "FAIL", NOTHING)


def reference_names() -> list[str]:
    """All names, sorted."""
    return sorted(
        file.name.removesuffix(".toml")
        for file in files("rtscope.references").iterdir()
        if file.name.endswith(".toml")
    )


def reference_named(name: str) -> Reference:
    """The reference of that name. Raises RtscopeError where there is none."""
    names = reference_names()
    if name not in names:
        raise RtscopeError(f"there is no reference '{name}': those there are {', '.join(names)}")
    text = (files("rtscope.references") / f"{name}.toml").read_text(encoding="utf-8")
    return decode_reference(name, text)


def decode_reference(name: str, text: str) -> Reference:
    """The reference that a TOML text describes. Raises RtscopeError with the fault."""
    try:
        # As text, a number keeps the digits that were printed.
        content: dict[str, Any] = tomllib.loads(text, parse_float=str)
        for table in content.get("tables", []):
            for entry in table.get("entries", []):
                entry["values"] = [_value(value) for value in entry.get("values", [])]
        reference = msgspec.convert({**content, "name": name}, Reference)
        _check_names("tables", (table.name for table in reference.tables))
        for table in reference.tables:
            _check(table)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, ValueError) as error:
        raise RtscopeError(f"reference {name}: {error}") from None
    return reference


def _value(value: object) -> dict[str, object]:
    text = str(value)
    if text in _VERDICTS:
        return {"text": text}
    match = _VALUE.fullmatch(text)
    if match is None or isinstance(value, bool):
        raise ValueError(
            f"'{text}' is not a value: write a number, '~30', '>160', '<2', PASS, FAIL, or "
            f"'{NOTHING}' where nothing was published"
        )
    return {"text": text, "number": float(match[2]), "relation": _RELATIONS[match[1]]}


def _check(table: Table) -> None:
    _check_names(f"table {table.name}: figures", (metric.name for metric in table.metrics))
    _check_names(f"table {table.name}: entries", (entry.name for entry in table.entries))
    for entry in table.entries:
        if len(entry.values) != len(table.metrics):
            raise ValueError(
                f"table {table.name}: '{entry.name}' has {len(entry.values)} values for "
                f"{len(table.metrics)} figures"
            )
        for metric, value in zip(table.metrics, entry.values, strict=True):
            verdict = value.number is None and value.text != NOTHING
            if verdict != (metric.unit == "verdict") and value.text != NOTHING:
                raise ValueError(
                    f"table {table.name}: '{entry.name}' has {value.text} as '{metric.name}', "
                    f"which is in {metric.unit}"
                )
    for metric in table.metrics:
        if metric.ours and not metric.ours.startswith(HOW_OURS):
            raise ValueError(
                f"table {table.name}: '{metric.name}' is computed by '{metric.ours}', which is "
                f"none of {', '.join(HOW_OURS)}"
            )


def _check_names(what: str, names: Iterable[str]) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ValueError(f"{what}: the name '{twice[0]}' stands twice")
