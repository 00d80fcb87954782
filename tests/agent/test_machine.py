# SPDX-License-Identifier: GPL-2.0-only
"""The agent sends what the kernel shows, within bounds, whatever stands at the paths it reads."""

import gzip
import os
import re
import subprocess
from pathlib import Path

import pytest

from rtscope.target.fingerprint import machine_of
from rtscope.target.local import agent_path
from rtscope.target.protocol import (
    THROTTLING,
    AgentWarning,
    End,
    File,
    ThrottlingFound,
    check_hello,
    decode_line,
)

CPU = "/sys/devices/system/cpu/"


def agent(*arguments: str | Path) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [agent_path(), "machine", *arguments], capture_output=True, timeout=60, check=False
    )


def files_sent(*arguments: str | Path) -> dict[str, str | bytes]:
    done = agent("--json", *arguments)
    assert (done.returncode, done.stderr) == (0, b"")
    lines = [decode_line(line) for line in done.stdout.splitlines()]
    check_hello(lines[0])
    assert isinstance(lines[-1], End)
    assert lines[-1].status == "complete"
    files: dict[str, str | bytes] = {}
    for line in lines[1:-1]:
        if isinstance(line, ThrottlingFound):
            continue
        assert isinstance(line, File)
        content = line.base64 if line.text is None else line.text
        assert content is not None
        assert line.path not in files
        files[line.path] = content
    return files


def write(root: Path, path: str, content: bytes) -> None:
    file = root / path.lstrip("/")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)


def test_this_system_is_described_as_python_sees_it() -> None:
    machine = machine_of(files_sent())
    assert machine.hostname == os.uname().nodename
    assert machine.architecture == os.uname().machine
    assert machine.kernel_release == os.uname().release
    assert machine.kernel_version == os.uname().version
    assert machine.command_line == " ".join(Path("/proc/cmdline").read_text().split())
    assert sum(cpu.online for cpu in machine.cpus) == os.sysconf("SC_NPROCESSORS_ONLN")
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert machine.memory_bytes == pages
    assert machine.high_resolution_timers is not None
    assert machine.cpu_model


def test_a_person_is_shown_the_same_files() -> None:
    shown = agent()
    assert (shown.returncode, shown.stderr) == (0, b"")
    paths = re.findall(r"^==> (.*) <==$", shown.stdout.decode(), re.MULTILINE)
    assert set(paths) == {*files_sent(), THROTTLING}


def test_without_proc_and_sys_it_still_answers(tmp_path: Path) -> None:
    assert files_sent("--sysroot", tmp_path) == {}


def test_what_is_not_a_readable_file_is_left_out_without_waiting(tmp_path: Path) -> None:
    write(tmp_path, "/proc/cmdline", b"quiet\n")
    os.mkfifo(tmp_path / "proc/cpuinfo")
    (tmp_path / "proc/version").mkdir()
    (tmp_path / "proc/meminfo").symlink_to("nowhere")
    (tmp_path / "proc/interrupts").symlink_to("/dev/zero")
    assert files_sent("--sysroot", tmp_path) == {"/proc/cmdline": "quiet\n"}


def test_long_files_are_cut_and_their_bytes_made_text(tmp_path: Path) -> None:
    release = os.uname().release
    write(tmp_path, "/proc/cpuinfo", b"x" * (70 << 10))
    write(tmp_path, "/proc/cmdline", b"caf\xc3\xa9 \xff\x00\x1b[31m")
    write(tmp_path, "/proc/device-tree/compatible", b"qemu,pseries\0IBM\0")
    write(tmp_path, f"/boot/config-{release}", b"#\n" * (300 << 10))
    assert files_sent("--sysroot", tmp_path) == {
        "/proc/cpuinfo": "x" * (64 << 10),
        "/proc/cmdline": "café \ufffd\0\x1b[31m",
        "/proc/device-tree/compatible": "qemu,pseries\0IBM\0",
        f"/boot/config-{release}": "#\n" * (256 << 10),
    }


def test_the_packed_configuration_is_preferred_and_bounded(tmp_path: Path) -> None:
    packed = gzip.compress(b"CONFIG_HZ=250\n")
    write(tmp_path, "/proc/config.gz", packed)
    write(tmp_path, f"/boot/config-{os.uname().release}", b"CONFIG_HZ=1000\n")
    assert files_sent("--sysroot", tmp_path) == {"/proc/config.gz": packed}
    write(tmp_path, "/proc/config.gz", b"\xff" * (2 << 20))
    assert files_sent("--sysroot", tmp_path) == {"/proc/config.gz": b"\xff" * (1 << 20)}


def test_the_timer_list_ends_after_the_resolution(tmp_path: Path) -> None:
    head = "cpu: 0\n clock 0:\n" + " #0: <0>, hrtimer\n" * 100 + "  .hres_active    : 1\n"
    write(tmp_path, "/proc/timer_list", (head + "  .nr_events : 7\ncpu: 1\n").encode())
    assert files_sent("--sysroot", tmp_path) == {"/proc/timer_list": head}
    write(tmp_path, "/proc/timer_list", b"\0" * (100 << 10))
    assert files_sent("--sysroot", tmp_path) == {"/proc/timer_list": "\0" * (64 << 10)}


def test_an_audit_gets_settings_and_threads_too(tmp_path: Path) -> None:
    always = [CPU + "online", CPU + "cpu0/cpuidle/state0/name", "/proc/irq/5/smp_affinity_list"]
    audited = [
        CPU + "cpu1/cpuidle/state0/name",
        CPU + "cpu10/cpuidle/state2/disable",
        CPU + "vulnerabilities/meltdown",
        "/etc/systemd/system.conf.d/cpus.conf",
        "/sys/fs/cgroup/cpuset.cpus.isolated",
        "/sys/fs/cgroup/cpuset/loop/cpuset.cpu_exclusive",
        "/sys/fs/cgroup/cpuset/cpuset.sched_load_balance",
        "/sys/fs/cgroup/a.slice/b.slice/cpu.max",
        "/proc/12/task/12/stat",
        "/proc/12/task/13/stat",
        "/proc/irq/5/effective_affinity_list",
        "/proc/irq/default_smp_affinity",
        "/proc/self/limits",
        "/proc/swaps",
        "/proc/sys/kernel/nmi_watchdog",
        "/sys/kernel/mm/transparent_hugepage/enabled",
        "/sys/kernel/tracing/current_tracer",
    ]
    for path in [*always, *audited, "/proc/12/stat", "/proc/12/task/13/comm"]:
        write(tmp_path, path, b"1\n")
    assert set(files_sent("--sysroot", tmp_path)) == set(always)
    assert set(files_sent("--audit", "--sysroot", tmp_path)) == {*always, *audited}


def test_activity_is_what_changes_while_a_system_works(tmp_path: Path) -> None:
    temperatures = [
        "/sys/class/thermal/thermal_zone3/temp",
        "/sys/class/hwmon/hwmon0/temp12_input",
    ]
    threads = ["/proc/12/task/12/stat", "/proc/12/task/13/stat"]
    clocks = [CPU + "cpu3/cpufreq/scaling_cur_freq", CPU + "cpu3/cpufreq/scaling_governor"]
    sent = ["/proc/stat", *temperatures, *threads, *clocks]
    for path in [*sent, "/proc/cpuinfo", "/sys/class/hwmon/hwmon0/fan1_input"]:
        write(tmp_path, path, b"1\n")
    assert set(files_sent("--activity", "--sysroot", tmp_path)) == set(sent)


def test_firmware_is_asked_for_its_interrupts_only_where_they_are_counted() -> None:
    files = files_sent("--audit")
    info = Path("/proc/cpuinfo").read_text()
    counts = "GenuineIntel" in info and not re.search(r"^flags.*\bhypervisor\b", info, re.MULTILINE)
    may = os.access("/dev/cpu/0/msr", os.R_OK)
    reported = [path for path in files if path.startswith("msr:")]
    assert reported == (["msr:smi_count", "msr:smi_count_later"] if counts and may else [])
    assert not any(path.startswith("msr:") for path in files_sent())


def test_an_audit_of_this_machine_holds_this_process() -> None:
    text = files_sent("--audit")[f"/proc/{os.getpid()}/task/{os.getpid()}/stat"]
    assert isinstance(text, str)
    assert text.startswith(f"{os.getpid()} (")


def test_a_machine_too_large_to_tell_is_cut_with_a_warning(tmp_path: Path) -> None:
    write(tmp_path, "/sys/kernel/irq/0/actions", b"eth0\n")
    for number in range(1, 33_000):
        (tmp_path / f"sys/kernel/irq/{number}").symlink_to("0")
    done = agent("--json", "--sysroot", tmp_path)
    lines = [decode_line(line) for line in done.stdout.splitlines()]
    assert sum(isinstance(line, File) for line in lines) == 32768
    (warning,) = [line for line in lines if isinstance(line, AgentWarning)]
    assert warning.code == "machine-cut"
    assert "left out" in warning.text


@pytest.mark.parametrize("arguments", [[], ["--json"]])
def test_a_full_disk_is_reported(arguments: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [agent_path(), "machine", *arguments], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 1
    assert done.stderr == b"rtscope-agent machine: the output could not be written in full\n"
