# SPDX-License-Identifier: GPL-2.0-only
"""Debian's packages of the last commit, and the container image of them."""

import json
import re
import shutil
import subprocess
import tempfile
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
pytestmark = pytest.mark.long

# Packages of Debian are downloaded. The kernel is for the test "lab".
INSTALL: Final = """
apt-get update -qq
apt-get install -qq --no-install-recommends ./*.deb \
    man-db linux-image-amd64 qemu-system-x86 >install.log 2>&1
export AUTOPKGTEST_TMP=$(mktemp -d)
for test in measure agent lab; do
    sh tests/$test >$test.log 2>&1 && echo $test passed || tail -n 20 $test.log
done
apt-get purge -qq rtscope rtscope-agent rtscope-doc >purge.log 2>&1
find /etc /opt /srv /usr /var -name '*rtscope*'
"""


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("packages")
    subprocess.run([ROOT / "setup" / "deb", folder], check=True)
    return folder


def test_lintian_finds_nothing_in_the_packages(packages: Path) -> None:
    lines = (packages / "lintian.txt").read_text().splitlines()
    assert [line for line in lines if line[:2] in ("E:", "W:")] == []


def test_the_packages_measure_in_a_bare_debian_and_leave_nothing(
    packages: Path, tmp_path: Path
) -> None:
    for deb in packages.glob("*.deb"):
        shutil.copy(deb, tmp_path)
    shutil.copytree(ROOT / "debian" / "tests", tmp_path / "tests")
    done = subprocess.run(
        [ROOT / "setup" / "root", "-n", "trixie", "", tmp_path, "sh", "-euc", INSTALL],
        stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.splitlines() == ["measure passed", "agent passed", "lab passed"]


@pytest.fixture(scope="module")
def image(packages: Path) -> Iterator[Path]:
    """The container image's bundle: rootfs and config.json, where every user can read it."""
    with tempfile.TemporaryDirectory(prefix="rtscope-test-", dir="/var/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        oci = folder / "oci"
        subprocess.run([ROOT / "setup" / "image", packages, oci], check=True)
        (manifest,) = json.loads((oci / "index.json").read_text())["manifests"]
        version = manifest["annotations"]["org.opencontainers.image.ref.name"]
        bundle = folder / "bundle"
        unpack: list[str | Path] = [
            "umoci",
            "unpack",
            "--rootless",
            "--image",
            f"{oci}:{version}",
            bundle,
        ]
        subprocess.run(unpack, check=True)
        bundle.chmod(0o755)
        (folder / "home").mkdir()
        (folder / "home").chmod(0o777)
        yield bundle


def contained(image: Path, *words: str) -> subprocess.Popen[str]:
    """The image's program, as an unprivileged user who sees the image's files and a home."""
    process = json.loads((image / "config.json").read_text())["process"]
    command: list[str | Path] = [
        *("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--"),
        *("bwrap", "--ro-bind", image / "rootfs", "/", "--proc", "/proc", "--dev", "/dev"),
        *("--tmpfs", "/tmp", "--bind", image.parent / "home", process["cwd"]),
        *("--chdir", process["cwd"], "--unshare-pid", "--die-with-parent", "--clearenv"),
        *("--setenv", "HOME", process["cwd"], "--setenv", "PATH", "/usr/bin:/bin"),
        *("--", process["args"][0], *words),
    ]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def output(image: Path, *words: str) -> str:
    with contained(image, *words) as running:
        try:
            text, errors = running.communicate(timeout=300)
        except subprocess.TimeoutExpired:
            running.kill()
            raise
    assert running.returncode == 0, errors
    return text


def test_the_container_image_measures_and_serves(image: Path) -> None:
    output(image, "measure", "-D", "300ms", "--policy", "other", "--no-report", "--quiet")
    run = json.loads(output(image, "list", "-n1", "--json"))
    with contained(image, "serve", "--port", "0") as server:
        assert server.stderr
        limit = threading.Timer(120, server.kill)
        limit.start()
        try:
            address = re.search(r"http://\S+", server.stderr.readline())
            assert address
            page = urllib.request.urlopen(f"{address[0].rstrip('/')}/run/{run['id']}", timeout=60)
            assert run["id"] in page.read().decode()
        finally:
            limit.cancel()
            server.kill()
