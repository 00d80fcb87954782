# SPDX-License-Identifier: GPL-2.0-only
"""What the agent says of throttling and servers is compared with what a spinning thread loses."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from rtscope.lab.kernels import Kernel
from rtscope.lab.vm import vm_target
from rtscope.model.machine import Throttle, Throttling
from rtscope.target.protocol import AgentWarning, AnyLine, Start, decode_line
from rtscope.tuning.profile import read_profile, steps_of
from tests.lab.guest_program import results, run_guest

Built = Callable[[str], Kernel]

LIMIT_S = 900
SPAN_S = 3
MOST_OF_OTHERS_US = 15_000
"""that the kernel's own threads and interrupts take in the span"""
MEASURED = ["booted", "sysctl off", "server off", "tuned", "group limited"]

KERNELS = [
    pytest.param("x86_64-rt", marks=pytest.mark.kernels),
    pytest.param("x86_64-rt-7.2", marks=pytest.mark.long),
    pytest.param("x86_64-rt-group", marks=pytest.mark.long),
    pytest.param("x86_64-rt-group-7.2", marks=pytest.mark.long),
]


class Setting(NamedTuple):
    """What the agent found and warned of, and what the spinning thread lost a second."""

    found: Throttling
    warned: set[str]
    alone_us: float
    waiting_us: float


def agent_lines(said: str, step: str) -> list[AnyLine]:
    part = said.replace("\r", "").split(f"@ {step}\n", maxsplit=1)[1].split("@ ", maxsplit=1)[0]
    return [decode_line(line.encode()) for line in part.splitlines() if line.startswith("{")]


def settings(said: str) -> dict[str, Setting]:
    lost = {what: int(text) / SPAN_S for what, text in results(said).items() if text.isdigit()}
    found = {}
    for name in [*MEASURED, "undone", "no debugfs"]:
        lines = agent_lines(said, name)
        start = [line for line in lines if isinstance(line, Start)][-1]
        assert start.throttling
        found[name] = Setting(
            start.throttling,
            {line.code for line in lines if isinstance(line, AgentWarning)},
            lost.get(f"{name} alone", 0.0),
            lost.get(f"{name} waiting", 0.0),
        )
    return found


def taken_us(throttle: Throttle, *, from_real_time: bool) -> float:
    """What a mechanism takes from a real-time thread in a second, as the agent says."""
    if throttle.state != "on":
        return 0
    (share,) = throttle.shares
    taken_ns = share.period_ns - share.runtime_ns if from_real_time else share.runtime_ns
    return taken_ns / share.period_ns * 1e6


def about(measured_us: float, said_us: float) -> bool:
    """The span holds two to four turns of a mechanism whose period is a second, to 1 %."""
    return 0.99 * 2 / 3 * said_us <= measured_us <= 4 / 3 * said_us + MOST_OF_OTHERS_US / SPAN_S


@pytest.mark.parametrize("name", KERNELS)
def test_what_the_agent_says_is_what_a_spinning_thread_loses(
    name: str, built: Built, agent_path: Path, tmp_path: Path
) -> None:
    kernel = built(name)
    rules = "\n".join(steps_of(read_profile("minimal"), None)[-1].rules)
    said = run_guest(
        vm_target(f"vm:{kernel.name},mips=62.5"),
        "throttling_guest.c",
        tmp_path,
        files={"agent": agent_path.read_bytes(), "rules": rules.encode()},
        limit_s=LIMIT_S,
    ).said
    found = settings(said)

    for one, setting in ((one, found[one]) for one in MEASURED):
        throttled_us = taken_us(setting.found.realtime, from_real_time=True)
        served_us = taken_us(setting.found.fair_server, from_real_time=False)
        assert about(setting.alone_us, throttled_us), one
        assert about(setting.waiting_us, max(throttled_us, served_us)), one
        assert ("rt-throttling" in setting.warned) == (throttled_us > 0), one
        assert ("fair-server" in setting.warned) == (served_us > 0), one
    grouped, since_7 = "group" in name, name.endswith("7.2")
    states = {one: setting.found.realtime.state for one, setting in found.items()}
    assert states["booted"] == ("none" if not grouped else "off" if since_7 else "on")
    assert states["group limited"] == ("on" if grouped else "none")
    assert found["sysctl off"].found.fair_server.state == "on"
    assert found["tuned"].found.fair_server.state == "off"
    assert found["undone"].found == found["booted"].found
    blind = found["no debugfs"]
    assert blind.found.realtime.state == states["group limited"]
    assert blind.found.fair_server.state == "unknown"
    assert "fair-server-unknown" in blind.warned
