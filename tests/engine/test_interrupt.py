# SPDX-License-Identifier: GPL-2.0-only
"""Signals go where a command wants them, and back to where they went before."""

import os
import signal

import pytest

from rtscope.engine.interrupt import Interrupt

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Agent:
    """Notes what it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def interrupt(self) -> None:
        self.asked.append("interrupt")

    def kill(self) -> None:
        self.asked.append("kill")


@pytest.mark.parametrize("number", SIGNALS)
def test_the_second_signal_is_the_end_of_the_agent(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    interrupt, agent, late = Interrupt(), Agent(), Agent()

    with interrupt.installed():
        interrupt.watch(agent)
        os.kill(os.getpid(), number)
        assert (interrupt.signal, agent.asked) == (number, ["interrupt"])
        os.kill(os.getpid(), number)

        interrupt.watch(late)

    assert (agent.asked, late.asked[:1]) == (["interrupt", "kill"], ["interrupt"])
    assert signal.getsignal(number) is before
