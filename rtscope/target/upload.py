# SPDX-License-Identifier: GPL-2.0-only
"""The agent on a board: uploaded once, into a directory private to the user."""

import hashlib
import os
import re
from pathlib import Path
from typing import Final

import msgspec

from rtscope.model.description import Description
from rtscope.model.errors import RtscopeError
from rtscope.target.connection import LOST, Connection
from rtscope.target.local import agent_description, agent_path

_PLACES: Final = ("cache", "/tmp", "/dev/shm")  # noqa: S108 - none but a private folder is used
_ARCHES: Final = {
    "aarch64": "aarch64",
    "mips64": "mips64el",
    "ppc64": "powerpc64",
    "riscv64": "riscv64",
    "x86_64": "x86_64",
}
"""the output of uname -m, and the agent for it"""
_BIG_ENDIAN: Final = "2"
"""the sixth byte of an ELF file"""
_MAY_NOT_RUN: Final = 126
"""sh's exit status for a file that it cannot execute"""
_MACHINE: Final = re.compile(r"(?P<machine>[A-Za-z0-9_]{1,32}) (?P<uid>[0-9]{1,10})")

_FOLDERS: Final = r"""
set -fu
uid=$(id -u)
folder() {
	case $1 in
	cache) printf %s "${XDG_CACHE_HOME:-${HOME:-}/.cache}/rtscope/agents" ;;
	*) printf %s "$1/rtscope-agents-$uid" ;;
	esac
}
is_own() {
	set -- $(LC_ALL=C ls -ldn "$1" 2>/dev/null)
	case ${1:-} in
	drwx--[-S]---*) [ "$3" = "$uid" ] ;;
	*) false ;;
	esac
}
"""
"""start of scripts: the agent's possible directories, and a check that they are private"""

_IDENTIFY: Final = r"""
order=
[ "$(uname -m)" != mips64 ] || order=$(dd if=/bin/sh bs=1 skip=5 count=1 2>/dev/null | od -An -tu1)
printf "\nrtscope: %s\n" "$(uname -m) $(id -u)" $order
"""

_FIND: Final = (
    _FOLDERS
    + r"""
name=$1 size=$2
shift 2
for place; do
	file=$(folder "$place")/$name
	is_own "${file%/*}" && [ "$(wc -c <"$file")" -eq "$size" ] || continue
	"$file" --version >/dev/null || continue
	printf "\nrtscope: %s\n" "$file"
	break
done 2>/dev/null
"""
)

_BRING: Final = (
    _FOLDERS
    + r"""
folder=$(folder "$1") name=$2 size=$3
umask 077
mkdir -p "$folder" || exit
is_own "$folder" || { echo "$folder is not a folder of user $uid alone" >&2; exit 1; }
part=$folder/.part-$$
trap "rm -f \"\$part\"" EXIT
trap "exit 1" HUP INT TERM
cat >"$part" || exit
[ "$(wc -c <"$part")" -eq "$size" ] || { echo "$folder: not all of it arrived" >&2; exit 1; }
chmod 700 "$part" || exit
"$part" --version >/dev/null || exit
mv -f "$part" "$folder/$name" || exit
printf "\nrtscope: %s\n" "$folder/$name"
find "$folder" -name ".part-*" -mtime +0 -exec rm -f {} + 2>/dev/null
set +f
for old in "$folder"/rtscope-agent-*; do
	[ "$old" = "$folder/$name" ] || rm -f "$old"
done
"""
)

_BECOME_ROOT: Final = """exec sudo -n "$1" --version >/dev/null"""


class Installed(msgspec.Struct, frozen=True):
    """An agent that can be started on a board."""

    command: list[str]
    """the command that starts it, before its arguments"""
    folder: str
    """its private directory"""
    description: Description | None
    """its description; None if the agent is too old to have one"""
    not_root: str = ""
    """a message if it runs without root privileges"""


def installed_agent(name: str, connection: Connection) -> Installed:
    """The agent for the board's architecture on the board `name`, uploaded if needed. Raises
    RtscopeError if there is no agent, or no place for it.
    """
    arch, agent, uid = _looked(name, connection)
    description = agent_description(arch)
    content = agent.read_bytes()
    words = (f"rtscope-agent-{hashlib.sha256(content).hexdigest()[:16]}", str(len(content)))
    found = connection.run(_FIND, *words, *_PLACES).answers
    path = found[0] if found else _brought(name, connection, agent, words)
    folder = path.rpartition("/")[0]
    if uid == 0:
        return Installed([path], folder, description)
    asked = connection.run(_BECOME_ROOT, path)
    if asked.status == 0:
        return Installed(["sudo", "-n", path], folder, description)
    why = asked.complaint or f"it ended with status {asked.status}"
    not_root = f"the agent on {name} ran without root privileges: sudo -n refused it ({why})"
    return Installed([path], folder, description, not_root)


def _looked(name: str, connection: Connection) -> tuple[str, Path, int]:
    """The board's architecture, the local agent file for it, and the user's ID on the board."""
    said = connection.run(_IDENTIFY)
    found = _MACHINE.fullmatch(said.answers[0]) if said.answers else None
    if not found:
        why = f": {said.complaint}" if said.complaint else ""
        raise RtscopeError(
            f"{name} accepted the login, but its commands do not respond like those of Linux{why}"
        )
    machine = found["machine"]
    if machine == "mips64" and said.answers[1:] == [_BIG_ENDIAN]:
        machine = "mips64 of big endian"
    if machine == os.uname().machine:
        return machine, agent_path(), int(found["uid"])
    if machine not in _ARCHES:
        known = ", ".join(_ARCHES.values())
        raise RtscopeError(f"{name} is {machine}: rtscope has agents for {known} only")
    try:
        arch = _ARCHES[machine]
        return arch, agent_path(arch), int(found["uid"])
    except RtscopeError as error:
        raise RtscopeError(f"{name} is {machine}: {error}") from None


def _brought(name: str, connection: Connection, agent: Path, words: tuple[str, str]) -> str:
    """The agent's path, in the first usable directory."""
    refusals = []
    for place in _PLACES:
        with agent.open("rb") as content:
            said = connection.run(_BRING, place, *words, stdin=content)
        if said.status == 0 and said.answers:
            return said.answers[0]
        if said.status == LOST:
            raise RtscopeError(f"the connection to {name} was lost: {said.complaint}")
        denied = said.status == _MAY_NOT_RUN and "Permission denied" in said.complaint
        hint = " (mounted noexec?)" if denied else ""
        refusals.append(f"{said.complaint or f'status {said.status}'}{hint}")
    raise RtscopeError(
        f"{name} has no directory for the agent (an executable file of {int(words[1]) / 1e6:.1f} "
        f"MB): "
        f"{'; '.join(refusals)}"
    )
