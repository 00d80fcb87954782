# SPDX-License-Identifier: GPL-2.0-only
"""What the place that runs the tests allows, found by trying it, or the reason why not."""

import functools
import os
import subprocess
from pathlib import Path

import pytest

_FIRST_PID_NAMESPACE = "pid:[4026531836]"
TRACEFS = "test -e /sys/kernel/tracing/tracing_on || mount -t tracefs tracefs /sys/kernel/tracing"
"""in a mount namespace: tracefs in its place, also where nobody has mounted it"""
_CONNECTOR = Path("/proc/net/connector")


@functools.cache
def refusal(*command: str) -> str:
    """Why a command that does nothing fails here; empty where it does not."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return f"`{' '.join(command)}`: {done.stderr.strip()}" if done.returncode else ""


def unshare(*namespaces: str) -> tuple[str, ...]:
    """What gives a command namespaces of its own. Skips the test where the kernel gives none."""
    command = ("unshare", *namespaces)
    if why := refusal(*command, "true"):
        pytest.skip(why)
    return command


def _lacks_realtime() -> str:
    if os.geteuid():
        return "needs root"
    return refusal("chrt", "--fifo", "1", "true")


def _lacks_process_events() -> str:
    if Path("/proc/self/ns/pid").readlink().name != _FIRST_PID_NAMESPACE:
        return "the kernel sends process events to the first PID namespace only"
    if not _CONNECTOR.exists() or "cn_proc" not in _CONNECTOR.read_text():
        return f"the kernel sends no process events here: no cn_proc in {_CONNECTOR}"
    return ""


def _lacks_kernel_threads() -> str:
    second = Path("/proc/2/comm")
    if not second.exists() or second.read_text() != "kthreadd\n":
        return "threads of the kernel are in the first PID namespace only"
    return ""


def _lacks_sysctls() -> str:
    if os.statvfs("/proc/sys").f_flag & os.ST_RDONLY:
        return "/proc/sys is read-only here"
    return ""


def _lacks_tracefs() -> str:
    if os.geteuid():
        return "needs root"
    return refusal("unshare", "--mount", "sh", "-c", TRACEFS)


def _needs(reason: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(bool(reason), reason=reason)


needs_realtime = _needs(_lacks_realtime())
needs_process_events = _needs(_lacks_process_events())
needs_kernel_threads = _needs(_lacks_kernel_threads())
needs_sysctls = _needs(_lacks_sysctls())
needs_tracefs = _needs(_lacks_tracefs())
