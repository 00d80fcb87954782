# SPDX-License-Identifier: GPL-2.0-only
"""What agents can do: ours by the description that the build generated, others by their own."""

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final

import msgspec

from rtscope.model.description import Description, Option
from rtscope.model.errors import RtscopeError
from rtscope.model.loadspec import load_parts
from rtscope.target.building import is_checkout

_NAME: Final = "description.json"


@cache
def our_description() -> Description:
    """Return what the agents of this rtscope can do. Raises RtscopeError."""
    package = Path(__file__).resolve().parent.parent
    file = package / "target" / _NAME
    if is_checkout(package):
        file = package.parent / "build" / "native" / _NAME
    try:
        return msgspec.json.decode(file.read_bytes(), type=Description)
    except OSError as error:
        raise RtscopeError(
            f"the agent's description {file} cannot be read ({error.strerror}): build it with "
            "`make agent` in the checkout, or install rtscope again"
        ) from None


def check_known(words: Sequence[str], agent: Description) -> None:
    """Refuse words of ours, by name, that an agent of this description does not know.

    What no agent knows, the agent itself refuses. Raises RtscopeError.
    """
    ours, theirs = our_description().options_of(words[0]), agent.options_of(words[0])
    lacks = []
    if ours and not theirs:
        lacks = [f"the probe or command {words[0]}"]
    elif ours and theirs:
        lacks = list(_lacking(words[1:], ours, theirs, agent))
    if lacks:
        raise RtscopeError(
            f"the agent in RTSCOPE_AGENT (release {agent.agent}, options of version "
            f"{agent.version}; this rtscope has {our_description().version}) lacks "
            f"{', '.join(lacks)}: unset RTSCOPE_AGENT, or name the agent of this release there"
        )


def _lacking(
    words: Sequence[str], ours: dict[str, Option], theirs: dict[str, Option], agent: Description
) -> Iterator[str]:
    """Name options, choices and loads among the words that only our agent has."""
    known_loads = {load.name for load in agent.loads}
    our_loads = {load.name for load in our_description().loads}
    for word in words:
        if word == "--":
            break
        name, _, value = word.removeprefix("--").partition("=")
        if not word.startswith("--") or name not in ours:
            continue
        if name not in theirs:
            yield f"the option --{name}"
        elif value in ours[name].choices and value not in theirs[name].choices:
            yield f"the choice --{name}={value}"
        elif name == "load":
            loads = {load for load, _ in load_parts(value)}
            yield from (f"the load {load}" for load in sorted(loads & our_loads - known_loads))
