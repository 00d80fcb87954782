# SPDX-License-Identifier: GPL-2.0-only
"""What stops real-time threads, as the agent finds it in the files of any kernel."""

import subprocess
from pathlib import Path

import pytest

from rtscope.model.machine import Share, Throttling
from rtscope.target.local import agent_path
from rtscope.target.protocol import AgentWarning, Start, ThrottlingFound, decode_line
from tests.agent.probing import needs_root

DEBUG = "sys/kernel/debug/sched"
SYMBOLS = "0 T schedule\n"
GROUP_SYMBOL = "0 T sched_group_set_rt_runtime\n"
ALL = "0-3"
SECOND = 10**9
BOOTED = [Share(ALL, 950_000_000, SECOND)]


def files(version: str, runtime_us: int = 950_000, **more: str) -> dict[str, str]:
    return {
        "proc/version": f"Linux version {version} (somebody)\n",
        "proc/sys/kernel/sched_rt_runtime_us": f"{runtime_us}\n",
        "proc/sys/kernel/sched_rt_period_us": "1000000\n",
        "sys/devices/system/cpu/online": f"{ALL}\n",
        "proc/kallsyms": SYMBOLS,
    } | more


def debug(runtime: str = "") -> dict[str, str]:
    """sched/debug with another group's runtime and, if given, that of the root group."""
    limit = "  .rt_runtime                    : {}\n"
    other = f"rt_rq[0]:/other\n{limit.format('1.000000')}\n" if runtime else ""
    root = f"rt_rq[0]:{'/' if runtime else ''}\n  .rt_nr_running  : 0\n"
    text = f"Sched Debug\n\n{other}{root}{limit.format(runtime) if runtime else ''}\ndl_rq[0]:\n"
    return {f"{DEBUG}/debug": text}


def servers(name: str, *runtimes_ns: int) -> dict[str, str]:
    return {
        f"{DEBUG}/{name}_server/cpu{cpu}/{file}": f"{ns}\n"
        for cpu, runtime_ns in enumerate(runtimes_ns)
        for file, ns in (("runtime", runtime_ns), ("period", SECOND))
    }


def bpf(state: str) -> dict[str, str]:
    return {"sys/kernel/sched_ext/state": f"{state}\n"}


def group(path: str, runtime_us: int) -> dict[str, str]:
    folder = f"sys/fs/cgroup/cpu{path.rstrip('/')}"
    return {
        "proc/self/cgroup": f"5:cpuset:/x\n4:cpuacct,cpu:{path}\n0::/\n",
        f"{folder}/cpu.rt_runtime_us": f"{runtime_us}\n",
        f"{folder}/cpu.rt_period_us": "1000000\n",
    }


EXT = files("7.2.1") | servers("ext", 5, 5)


def measured(agent: Path, *options: str) -> bytes:
    return subprocess.run(
        [agent, "cyclic", *options], capture_output=True, timeout=60, check=True
    ).stdout


def found(root: Path, content: dict[str, str]) -> Throttling:
    for path, text in content.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    done = subprocess.run(
        [agent_path(), "machine", "--json", "--sysroot", root],
        capture_output=True, timeout=60, check=True,
    )  # fmt: skip
    lines = [decode_line(line) for line in done.stdout.splitlines()]
    (line,) = (line for line in lines if isinstance(line, ThrottlingFound))
    return line.throttling


@pytest.mark.parametrize(
    ("mechanism", "content", "state", "shares"),
    [
        ("realtime", files("6.1.0-rt"), "on", BOOTED),
        ("realtime", files("6.1.0-rt", 1_000_000), "off", []),
        ("realtime", files("6.1.0-rt", -1), "off", []),
        ("realtime", files("6.12.1"), "none", []),
        ("realtime", files("6.12.1") | debug(), "none", []),
        ("realtime", files("6.12.1") | debug("800.000000"), "on", [Share(ALL, 8 * 10**8, SECOND)]),
        ("realtime", files("7.2.1", 1_000_000) | debug("1000.000000"), "off", []),
        ("realtime", files("6.12.1", -1) | debug("950.000000"), "off", []),
        ("realtime", files("6.12.1") | {"proc/kallsyms": SYMBOLS + GROUP_SYMBOL}, "on", BOOTED),
        ("realtime", files("6.12.1") | {"proc/kallsyms": ""}, "unknown", []),
        ("realtime", files("6.12.1") | group("/", 950_000), "on", BOOTED),
        ("realtime", files("6.1.0") | group("/a/b", 100_000), "on", [Share(ALL, 10**8, SECOND)]),
        ("realtime", files("6.12.1") | group("/a", -1), "off", []),
        ("realtime", {}, "unknown", []),
        ("fair_server", files("6.11.9"), "none", []),
        ("fair_server", files("6.12.1"), "unknown", []),
        ("fair_server", files("6.12.1") | debug(), "none", []),
        ("fair_server", files("6.12.1") | servers("fair", 5, 0, 5, 7), "on",
         [Share("0,2", 5, SECOND), Share("1", 0, SECOND), Share("3", 7, SECOND)]),
        ("fair_server", files("6.12.1") | servers("fair", 0, 0, 0, 0, 9), "off",
         [Share(ALL, 0, SECOND)]),
        ("ext_server", EXT, "none", None),
        ("ext_server", EXT | bpf("disabled"), "idle", None),
        ("ext_server", EXT | bpf("enabled"), "on", None),
        ("ext_server", files("6.12.1") | debug() | bpf("enabled"), "none", None),
        ("ext_server", files("7.2.1") | bpf("enabled"), "unknown", None),
    ],
)  # fmt: skip
def test_what_stops_real_time_threads_is_found_where_the_kernel_has_it(
    mechanism: str, content: dict[str, str], state: str, shares: list[Share] | None, tmp_path: Path
) -> None:
    throttle = getattr(found(tmp_path, content), mechanism)
    assert throttle.state == state
    assert shares is None or throttle.shares == shares
    assert throttle.why


@needs_root
def test_a_run_has_what_was_found_and_warns_of_what_stops_its_threads(agent_path: Path) -> None:
    lines = [decode_line(line) for line in measured(agent_path, "--json", "-D100ms").splitlines()]
    *_, start = (line for line in lines if isinstance(line, Start))
    warned = {line.code for line in lines if isinstance(line, AgentWarning)}
    throttling = start.throttling
    assert throttling
    assert ("rt-throttling" in warned) == (throttling.realtime.state == "on")
    assert ("fair-server" in warned) == (throttling.fair_server.state == "on")
    assert ("fair-server-unknown" in warned) == (throttling.fair_server.state == "unknown")


@needs_root
@pytest.mark.parametrize("policy", ["other", "deadline"])
def test_threads_that_nothing_stops_are_not_warned_of(policy: str, agent_path: Path) -> None:
    lines = [
        decode_line(line)
        for line in measured(agent_path, "--json", "-D100ms", "--policy", policy).splitlines()
    ]
    warned = {line.code for line in lines if isinstance(line, AgentWarning)}
    assert not {"rt-throttling", "fair-server", "fair-server-unknown"} & warned
