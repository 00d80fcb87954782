# SPDX-License-Identifier: GPL-2.0-only
"""A profile for TuneD is applied by the real TuneD, where it can change nothing of this system.

TuneD runs with an unprivileged user's rights in namespaces of its own, on file systems that are
read-only. The script proves that before it starts TuneD: it must find no writable kernel file.
"""

import io
import os
import re
import subprocess
import tarfile
from pathlib import Path

import pytest

from rtscope.tuning.profile import parse_profile, read_profile
from rtscope.tuning.tuned import LeftOut, to_tuned

OURS = """
description = "A loop"

[[step]]
name = "all"
tasks = { away = "{cpus}" }
partition = { cpus = "{cpus}" }

[[step.thread]]
name = "sleep"
of = "program"
policy = "batch"
cpus = "{others}"

[[step.thread]]
name = "sleep"
uid = 7
nice = 3

[[step.file]]
path = "/proc/sys/kernel/timer_migration"
value = "0"

[[step.file]]
path = "/proc/sys/net/*/conf"
value = "0"
"""
SCRIPT = """
writable=$(find /proc /sys -path '/proc/[0-9]*' -prune -o -path /proc/pressure -prune \\
	-o -type f -writable -print -quit 2>/dev/null)
[ -z "$writable" ] || { echo "writable: $writable"; exit 9; }
tar --extract --directory /tmp && cp -r /tmp/etc/tuned/* /etc/tuned || exit 8
sleep 60 & sleep_pid=$!
PYTHONPATH=/tmp/usr/lib/python3/dist-packages \\
	/usr/bin/python3 /tmp/usr/sbin/tuned --no-dbus --debug --profile ours & tuned_pid=$!
for second in $(seq 40); do
	chrt --pid $sleep_pid | grep -q BATCH && break
	sleep 1
done
sleep 1
kill $tuned_pid
wait $tuned_pid
chrt --pid $sleep_pid
"""


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The files of Debian's package as a tar, without the daemon that it would start here."""
    folder = tmp_path_factory.mktemp("tuned")
    done = subprocess.run(
        ["apt-get", "download", "-o", "APT::Sandbox::User=root", "tuned"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    (package, *_) = [*folder.glob("tuned_*.deb"), None]
    if package is None:
        pytest.skip(f"the package tuned cannot be downloaded: {done.stderr.strip()[-200:]}")
    return subprocess.check_output(["dpkg-deb", "--fsys-tarfile", str(package)])


def with_profile(files: bytes, text: str) -> bytes:
    """The tar with a profile added to it."""
    both = io.BytesIO(files)
    with tarfile.open(fileobj=both, mode="a") as archive:
        member = tarfile.TarInfo("./etc/tuned/ours/tuned.conf")
        member.size = len(text.encode())
        archive.addfile(member, io.BytesIO(text.encode()))
    return both.getvalue()


def applied(files: bytes, text: str) -> str:
    """What TuneD printed while the profile was active, and the policy of `sleep` after it."""
    command = [
        *("bwrap", "--unshare-all", "--die-with-parent", "--uid", "0", "--gid", "0"),
        *("--ro-bind", "/usr", "/usr", "--ro-bind", "/sys", "/sys"),
        *("--symlink", "usr/bin", "/bin", "--symlink", "usr/sbin", "/sbin"),
        *("--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64"),
        *("--dev", "/dev", "--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys"),
        *("--dir", "/etc/tuned", "--dir", "/tmp", "--dir", "/run/tuned", "--dir", "/var/log"),
        *("sh", "-c", SCRIPT),
    ]
    if os.geteuid() == 0:
        nobody = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")
        command = [*nobody, *command]
    done = subprocess.run(
        command, input=with_profile(files, text), capture_output=True, timeout=90, check=False
    )
    printed = (done.stdout + done.stderr).decode()
    if "setting up uid map" in printed or "Creating new namespace failed" in printed:
        pytest.skip("users may not make namespaces here")
    return printed


def test_tuned_applies_an_exported_profile_to_threads_and_kernel(tuned: bytes) -> None:
    profile = parse_profile(OURS, Path("ours.toml"))
    text, left_out = to_tuned(profile, "1")
    assert left_out == [
        LeftOut("all", "file", "/proc/sys/net/*/conf"),
        LeftOut("all", "partition"),
        LeftOut("all", "thread", "sleep"),
    ]
    printed = applied(tuned, text)
    assert "static tuning from profile 'ours' applied" in printed
    assert not re.findall("(?i).*(?:unknown option|invalid|cannot expand|traceback).*", printed)
    assert "Setting sysctl parameter 'kernel.timer_migration' to '0'" in printed
    assert "SCHED_BATCH" in printed


@pytest.mark.parametrize("name", ["isolated-cores", "realtime-control", "audio", "minimal"])
def test_every_setting_of_our_profiles_is_in_tuneds_or_reported(name: str) -> None:
    profile = read_profile(name)
    text, left_out = to_tuned(profile, "1" if profile.is_for_cpus else None)
    held = {(one.what, one.name) for one in left_out}
    for step in profile.steps:
        for file in step.file:
            key = file.path.removeprefix("/proc/sys/")
            key = key.replace("/", ".") if key != file.path else key
            known = f"{key}=" in text or (
                "scaling_governor" in key and f"governor={file.value}" in text
            )
            assert known or ("file", file.path) in held
        groups = sum(("thread", rule.name) not in held for rule in step.thread)
        assert len(re.findall("^group", text, re.M)) >= groups
        assert step.partition is None or ("partition", "") in held
