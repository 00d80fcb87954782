# SPDX-License-Identifier: GPL-2.0-only
"""A machine for a person: its console is this terminal, and nothing is left of it afterwards."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rtscope.lab.kernels import Kernel
from rtscope.lab.vm import vm_target
from rtscope.model.errors import RtscopeError
from rtscope.model.request import Request


def lab(
    *words: str,
    wait_for: str = "",
    text: str = "",
    number: signal.Signals | None = None,
    **environment: str,
) -> tuple[int, str]:
    """Exit status and output of rtscope lab on a terminal.

    Once the console shows `wait_for`, `text` is typed or a signal sent.
    """
    typing, terminal = os.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "rtscope", "lab", *words],
        stdin=terminal,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env={**os.environ, **environment},
    ) as process:
        assert process.stdout is not None
        ender = threading.Timer(200, process.terminate)
        ender.start()
        shown = ""
        for line in process.stdout:
            shown += line
            if wait_for and wait_for in line:
                os.write(typing, text.encode())
                if number:
                    process.send_signal(number)
        ender.cancel()
        os.close(terminal)
        os.close(typing)
        return process.wait(), shown


def test_boot_shows_the_kernels_log_and_what_the_agent_says(rt_kernel: Kernel) -> None:
    status, shown = lab("boot", rt_kernel.name, "--", "cyclic", "--samples=50")

    assert status == 0
    assert f"Linux version {rt_kernel.release}" in shown
    assert "# complete after" in shown


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_boot_that_is_ended_leaves_no_machine(
    rt_kernel: Kernel, tmp_path: Path, number: signal.Signals
) -> None:
    status, shown = lab(
        "boot",
        rt_kernel.name,
        wait_for="Linux version",
        number=number,
        TMPDIR=str(tmp_path),
    )

    assert status == 128 + number, shown
    assert not list(tmp_path.glob("rtscope-vm-*"))


def test_shell_runs_what_is_typed_and_exit_ends_the_machine(rt_kernel: Kernel) -> None:
    status, shown = lab(
        "shell",
        rt_kernel.name,
        wait_for="exit ends the machine",
        text="rtscope-agent --version\nexit\n",
    )

    assert status == 0
    assert "rtscope-agent 0." in shown
    assert "Restarting system" in shown


@pytest.mark.kernels
def test_shell_has_the_users_file_and_our_modules(rt_kernel: Kernel, tmp_path: Path) -> None:
    program = tmp_path / "hello"
    program.write_text("#!/bin/sh\necho hello from $0\n")
    status, shown = lab(
        "shell",
        rt_kernel.name,
        "--file",
        str(program),
        wait_for="exit ends the machine",
        text="hello; insmod /modules/rtevent.ko; ls /dev/rtevent; exit\n",
    )

    assert status == 0
    assert "hello from /bin/hello" in shown
    assert re.search(r"^/dev/rtevent", shown, re.MULTILINE)


@pytest.mark.kernels
def test_shell_loads_the_module_that_is_asked_for_and_calibrates_its_clock(
    built: Callable[[str], Kernel],
) -> None:
    status, shown = lab(
        "shell",
        f"{built('x86_64-rt').name},load=rtdelay delay_us=37",
        wait_for="exit ends the machine",
        text="cd /sys; cat module/rtdelay/parameters/delay_us; "
        "cat devices/system/clocksource/clocksource0/current_clocksource; exit\n",
    )

    assert status == 0
    assert re.search(r"^37\r?\ntsc", shown, re.MULTILINE)


@pytest.mark.kernels
def test_kvm_measures_or_says_in_time_that_it_does_not_work(rt_kernel: Kernel) -> None:
    target = vm_target(f"vm:{rt_kernel.name},mode=kvm")
    begun = time.monotonic()
    refusal = ""
    with target.started_agent(Request(samples=10)) as agent:
        try:
            assert list(agent.lines(60))
        except RtscopeError as error:
            refusal = str(error)
    assert not refusal or "does not work on this computer, use mode=fast: " in refusal
    assert not refusal or time.monotonic() - begun < 100  # bounded, however busy the host is
