# SPDX-License-Identifier: GPL-2.0-only
"""What an older agent lacks is refused by name, before anything is measured."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from rtscope.model.description import Description
from rtscope.model.errors import OptionsRefusedError, RtscopeError
from rtscope.model.request import DryRun, MachineRequest, Request
from rtscope.target.command import command_of
from rtscope.target.description import our_description
from rtscope.target.local import started_agent
from rtscope.target.protocol import Hello, Start, check_description

DIGEST: Final = (8, "0cc6ee2c11233887")
"""version of the description, and the digest of what it has"""


def older(change: Callable[[Any], None]) -> Description:
    """Our description after `change`, one version earlier."""
    raw = msgspec.json.decode(msgspec.json.encode(our_description()))
    change(raw)
    raw["version"] -= 1
    return msgspec.convert(raw, Description)


def without(kind: str, name: str, inner: str = "", option: str = "") -> Callable[[Any], None]:
    """A change that removes an entry, or an entry of the list `inner` of it."""

    def change(raw: Any) -> None:  # noqa: ANN401 - JSON
        if inner:
            (entry,) = [one for one in raw[kind] if one["name"] == name]
            entry[inner] = [one for one in entry[inner] if one["name"] != option]
        else:
            raw[kind] = [one for one in raw[kind] if one["name"] != name]

    return change


def without_timerfd(raw: Any) -> None:  # noqa: ANN401
    (cyclic,) = [probe for probe in raw["probes"] if probe["name"] == "cyclic"]
    (method,) = [one for one in cyclic["options"] if one["name"] == "method"]
    method["choices"] = ["nanosleep"]


without_phase: Final = without("probes", "cyclic", "options", "phase")
ASKED: Final = Request(options={"phase": "fixed", "method": "timerfd"}, load="cpu:1+ipc:1")


@pytest.mark.parametrize(
    ("change", "request_", "named"),
    [
        (without_phase, ASKED, "option --phase"),
        (without_timerfd, ASKED, "choice --method=timerfd"),
        (without("loads", "ipc"), ASKED, "load ipc"),
        (without("probes", "cyclic"), ASKED, "probe or command cyclic"),
        (without("commands", "machine", "options", "audit"), MachineRequest(audit=True),
         "option --audit"),
    ],
)  # fmt: skip
def test_an_older_agent_is_not_asked_for_what_it_lacks(
    change: Callable[[Any], None], request_: Request | MachineRequest, named: str
) -> None:
    with pytest.raises(RtscopeError, match=f"lacks the {named}: unset RTSCOPE_AGENT"):
        command_of(request_, older(change))
    request = Request(load="cpu:1")
    assert "cyclic" in named or command_of(request, older(change)) == command_of(request)


@pytest.fixture
def agent(
    tmp_path: Path, agent_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], None]:
    """Put an agent in the place of ours that answers `describe` by a script's lines."""

    def choose(lines: str) -> None:
        script = tmp_path / "agent"
        script.write_text(f'#!/bin/sh\nif [ "$1" = describe ]; then\n{lines}\nfi\n'
                          f'case "$*" in *--phase*) echo no option --phase >&2; exit 2;; esac\n'
                          f'exec {agent_path} "$@"\n')  # fmt: skip
        script.chmod(0o755)
        monkeypatch.setenv("RTSCOPE_AGENT", str(script))

    return choose


def start_of(request: Request) -> Start:
    with started_agent(DryRun(request)) as agent:
        return next(line for line in agent.lines(20) if isinstance(line, Start))


def test_the_agent_of_rtscope_agent_is_asked_what_it_can_do(
    agent: Callable[[str], None], tmp_path: Path
) -> None:
    trimmed = tmp_path / "description.json"
    trimmed.write_bytes(msgspec.json.encode(older(without_phase)) + b"\n")
    agent(f"cat {trimmed}; exit")
    assert start_of(Request(options={"method": "timerfd"})).options["method"] == "timerfd"
    with pytest.raises(RtscopeError, match="lacks the option --phase: unset RTSCOPE_AGENT"):
        start_of(ASKED)


@pytest.mark.parametrize("answer", ["echo no command >&2; exit 2", "echo hello; exit", "exit 1"])
def test_an_agent_too_old_to_describe_itself_refuses_with_advice(
    agent: Callable[[str], None], answer: str
) -> None:
    agent(answer)
    assert start_of(Request()).probe == "cyclic"
    with pytest.raises(RtscopeError, match="no option --phase; the agent in RTSCOPE_AGENT is old"):
        start_of(ASKED)


@pytest.mark.parametrize("said", ["--load: no, see --cpus", "no option"])
def test_an_agent_without_the_line_refusal_is_understood_by_its_sentence(
    agent: Callable[[str], None], agent_path: Path, said: str
) -> None:
    agent(f"exec {agent_path} describe\nelse echo 'rtscope-agent cyclic: {said}' >&2; exit 2")
    with pytest.raises(OptionsRefusedError) as caught:
        start_of(Request())
    assert caught.value.reason == said
    assert caught.value.options == (["load", "cpus"] if "load" in said else [])


def test_hello_has_the_version_of_the_description() -> None:
    with started_agent(DryRun(Request())) as agent:
        hello = next(agent.lines(20))
    assert isinstance(hello, Hello)
    assert hello.description == our_description().version
    check_description(hello, our_description())
    with pytest.raises(RtscopeError, match="`make agents`"):
        check_description(Hello(1, "0"), our_description())


def test_a_change_of_the_options_increases_the_version() -> None:
    """Help and defaults in words may change freely: no request depends on them."""
    free = {"strength", "strength_default", "help", "summary"}
    free |= {"wanted", "computed", "agent", "version"}

    def bare(value: Any) -> Any:  # noqa: ANN401
        if isinstance(value, dict):
            return {key: bare(one) for key, one in value.items() if key not in free}
        return [bare(one) for one in value] if isinstance(value, list) else value

    content = bare(msgspec.json.decode(msgspec.json.encode(our_description())))
    digest = hashlib.sha256(msgspec.json.encode(content, order="sorted")).hexdigest()[:16]
    assert (our_description().version, digest) == DIGEST, (
        "what agents can be asked for has changed: increase DESCRIPTION_VERSION in "
        f"agent/base/hello.h, and write here the new version with the digest {digest}"
    )
