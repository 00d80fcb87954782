# SPDX-License-Identifier: GPL-2.0-only
"""Run tests in a chroot, on a host that is a root file system of its own, with canary files on it.

Usage: python -m tests.target.jail FOLDER TOKEN CHECKOUT PREFIX PYTEST-ARGUMENT...

This is run as the first process of namespaces of its own. FOLDER is as root.py takes it. PREFIX is
where Python is installed; it and CHECKOUT are read-only here. The chroot has the host's /dev, as
chroots often do. The output is one line of JSON: what became of the tests, and which files of the
host and of the chroot are missing or changed.
"""

import json
import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

from tests.target.root import bind, bind_read_only, enter_root, leave_hosts_mounts, make_root

JAIL = Path("/jail")
REPORT = Path("/tmp/report.xml")
_SONG = "sings"
_PLACES = ("root", "home/pi", "home/admin", "tmp", "var/tmp", "dev/shm", "etc", "run")


def _copy_host(sources: list[Path]) -> None:
    """Fill the chroot with what the host has."""
    for host in sources:
        place = JAIL / str(host)[1:]
        if host.is_symlink():
            place.symlink_to(host.readlink())
        elif host.is_dir():
            place.mkdir(parents=True)
            bind_read_only(host, place)
    for name in ("proc", "dev", "sys"):
        (JAIL / name).mkdir()
        bind(Path("/", name), JAIL / name)
    shutil.copytree("/etc", JAIL / "etc", symlinks=True)
    for name in ("root", "home", "tmp", "var/tmp", "run"):
        (JAIL / name).mkdir(parents=True, exist_ok=True)
        (JAIL / name).chmod(Path("/", name).stat().st_mode)


def _put_canaries() -> list[Path]:
    canaries = []
    for place in (root / name for root in (Path("/"), JAIL) for name in _PLACES):
        (place / "folder").mkdir(parents=True, exist_ok=True)
        canaries += [place / "canary", place / "folder" / "canary"]
    for canary in canaries:
        canary.write_text(_SONG)
    return canaries


def main(folder: str, token: str, checkout: str, prefix: str, *arguments: str) -> None:
    os.umask(0o022)
    leave_hosts_mounts()
    root = make_root(Path(folder), token)
    binds = [Path(checkout), *([] if prefix.startswith("/usr") else [Path(prefix)])]
    for host in binds:
        place = root / str(host)[1:]
        place.mkdir(parents=True)
        bind_read_only(host, place)
    enter_root(root, token)

    JAIL.mkdir()
    if "mounted" in arguments[0]:
        bind(JAIL, JAIL)
    names = ("usr", "bin", "sbin", "lib", "lib32", "lib64")
    _copy_host([*(Path("/", name) for name in names), *binds])
    canaries = [*_put_canaries(), *Path("/dev").iterdir()]
    pytest = [f"{checkout}/.venv/bin/python", "-m", "pytest", "-p", "no:cacheprovider", "-q"]
    done = subprocess.run(
        ["chroot", JAIL, "env", "-C", checkout, *pytest, f"--junitxml={REPORT}", *arguments[1:]],
        env={"PATH": os.environ["PATH"], "HOME": "/root", "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    print(done.stdout[-10_000:], file=sys.stderr)
    report = JAIL / str(REPORT)[1:]
    counts = ET.parse(report).getroot()[0].attrib if report.exists() else {}
    dead = [path for path in canaries if not path.exists()]
    dead += [path for path in canaries if path.is_file() and path.read_text() != _SONG]
    outcomes = ("tests", "errors", "failures", "skipped")
    print(
        json.dumps(
            {
                **{name: int(counts.get(name, -1)) for name in outcomes},
                "canaries": len(canaries),
                "dead": sorted(map(str, dead)),
            }
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
