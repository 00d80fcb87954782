# SPDX-License-Identifier: GPL-2.0-only
"""Options of the agent in words: for --help, refusals and the tables in docs/reference/probe.

python -m rtscope.wording.options PAGE... writes the tables of these pages anew.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from rtscope.model.description import Description, Load, Option, Probe
from rtscope.model.units import format_duration_ns
from rtscope.target.description import our_description

EVERY_PROBE: Final = "every probe"
_HOUR_NS: Final = 3600 * 10**9
_TABLE: Final = re.compile(
    r"(?P<begin><!-- options of (?P<name>[a-z ]+): written by make docs -->\n)"
    r".*?(?P<end><!-- end of options -->\n)",
    re.DOTALL,
)
_LOADS: Final = re.compile(
    r"(<!-- loads: written by make docs -->\n).*?(<!-- end of loads -->\n)", re.DOTALL
)


def range_words(option: Option) -> str:
    """Return the range of a number or a time, such as "from 1 to 99"; empty where all is allowed.

    A single choice of 0 outside of the range is named, too.
    """
    low, high = _bound(option, option.min), option.max
    words = "0 or " if option.zero else ""
    if high is not None:
        words += f"from {low} to {_bound(option, high)}"
    elif option.min > 1:
        words += f"at least {low}"
    elif option.min:
        words += "more than 0"
    if option.step > 1:
        words += f", a multiple of {option.step}"
    return words.removeprefix(", ")


def wanted_words(option: Option) -> str:
    """Return the accepted values of an option, to complete "--x 'y' is not ..."."""
    if option.choices:
        return _list(option.choices)
    if option.wanted:
        return option.wanted
    words = "a time" if option.kind == "time" else "a number"
    if option.unit and option.kind != "time":
        words += f" in {option.unit}"
    if limits := range_words(option):
        words += f"{' ' if option.max is not None or option.zero else ' of '}{limits}"
    if option.kind == "time":
        words += f", such as {option.default or '1ms'}"
    return words


def default_of(option: Option, probe: Probe | None = None) -> str | None:
    """Return the default of an option, of `probe` where it has another one."""
    if probe and (own := probe.presets.get(option.name)):
        return own
    if probe and option.name == "samples" and probe.samples:
        return str(probe.samples)
    return option.computed or option.default


def help_words(option: Option, default: str | None, text: str | None = None) -> str:
    """Return the help of an option, or `text`, with its choices, range, unit and default."""
    parts = [text or option.help]
    if option.choices:
        parts.append(f"({_list(option.choices)})")
    elif option.max is not None or option.min > 1:
        parts[0] += f", {range_words(option)}" if option.kind in ("number", "time") else ""
    if option.kind == "time":
        parts.append(f"(default unit: {option.unit})")
    if default:
        parts.append(f"[default: {default}]")
    return " ".join(parts)


def metrics_words(probe: Probe) -> str:
    """Return the names of a probe's metrics, each with its unit unless it is a count."""
    return ", ".join(
        f"{name} ({probe.units[name]})" if name in probe.units else name for name in probe.metrics
    )


def load_help(load: Load) -> tuple[str, str]:
    """Return how a load is written, and its help with its strengths and their default."""
    if load.strength is None:
        return (load.name, load.help)
    words = f"{load.help}; N {_strength(load)} [default: {load.strength_default}]"
    return (f"{load.name}[:N]", words)


def with_tables(page: str, description: Description) -> str:
    """Return a page of docs/ with each table between its two comments written anew."""
    page = _LOADS.sub(lambda found: found[1] + _table_of_loads(description) + found[2], page)
    return _TABLE.sub(
        lambda found: found["begin"] + _table_of(found["name"], description) + found["end"], page
    )


def _table_of_loads(description: Description) -> str:
    rows = [
        f"| `{load.name}` | {load.help} | {_strength(load)} | {load.strength_default or ''} |\n"
        for load in description.loads
    ]
    return "| load | work | strength | default |\n|---|---|---|---|\n" + "".join(rows)


def _strength(load: Load) -> str:
    return f"{load.strength}, from 1 to {load.strength_max}" if load.strength else ""


def _table_of(name: str, description: Description) -> str:
    if name == EVERY_PROBE:
        return _table(description.session, None)
    probe = description.probe(name)
    if probe is None:
        raise SystemExit(f"there is no probe {name}")
    others = _presets(probe, description.session)
    return "\n".join(filter(None, [_table(probe.options, probe), *others]))


def _presets(probe: Probe, session: Iterable[Option]) -> Iterator[str]:
    """Name the options of every probe that have another default here, or do not apply."""
    defaults = [
        f"`--{option.name} {default_of(option, probe)}`".replace(" yes`", "`")
        for option in session
        if _applies(option, probe) and default_of(option, probe) != default_of(option)
    ]
    if defaults:
        listed = ", ".join(defaults)
        yield f"Defaults that differ from those of [every probe](options.md): {listed}.\n"
    if without := [f"`--{option.name}`" for option in session if not _applies(option, probe)]:
        yield f"{', '.join(without)} does not apply.\n"


def _applies(option: Option, probe: Probe) -> bool:
    return probe.presets.get(option.name, "") is not None


def _table(options: Iterable[Option], probe: Probe | None) -> str:
    rows = [
        f"| {_names(option)} | {_accepted(option)} | {_code(option, probe)} | {option.help} |\n"
        for option in options
        if not option.internal
    ]
    if not rows:
        return ""
    return "| option | values | default | meaning |\n|---|---|---|---|\n" + "".join(rows)


def _code(option: Option, probe: Probe | None) -> str:
    """Return the default, as code where it is a value and not words."""
    default = default_of(option, probe) or ""
    return f"`{default}`" if default and not option.computed else default


def _names(option: Option) -> str:
    value = f" {option.metavar}" if option.takes_value else ""
    names = [f"`-{option.letter}`"] if option.letter else []
    names.append(f"`--{option.name}{value}`")
    if option.alias:
        names.append(f"`--{option.alias}`")
    return ", ".join(names)


def _accepted(option: Option) -> str:
    """Return the values that an option takes, for a table."""
    words = range_words(option)
    match option.kind:
        case "choice":
            accepted = ", ".join(f"`{choice}`" for choice in option.choices)
        case "number":
            accepted = " ".join(word for word in (option.unit or "number", words) if word)
        case "time":
            accepted = ", ".join(word for word in (f"time in {option.unit}", words) if word)
        case "words":
            accepted = f"text, up to {option.max} times"
        case "parsed":
            accepted = option.wanted or ""
        case _:
            accepted = "text" if option.kind == "text" else ""
    return accepted


def _list(choices: list[str]) -> str:
    return " or ".join([", ".join(choices[:-1]), choices[-1]])


def _bound(option: Option, bound: int) -> str:
    if option.kind != "time" or not bound:
        return str(bound)
    if bound % _HOUR_NS == 0:
        return f"{bound // _HOUR_NS}h"
    return format_duration_ns(bound)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        path = Path(name)
        path.write_text(with_tables(path.read_text(), our_description()))
