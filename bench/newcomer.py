# SPDX-License-Identifier: GPL-2.0-only
"""A newcomer's time to the first verdict: python bench/newcomer.py.

Each row begins with a bare Debian (mmdebstrap's smallest with apt; setup/root), which has a
network, and ends when `rtscope measure --budget` has printed its verdict after five seconds of
measuring. The wheel is that of `make dist`, the Debian packages those of `make deb`. The aim is
three minutes each.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
AIM_S: Final = 180
MEASURE: Final = "rtscope measure --duration 5s --no-report --budget 'max<1s' --quiet"
PIPX: Final = (
    "apt-get -qq update && apt-get -qq install -y --no-install-recommends pipx python3-venv"
    " ca-certificates >/dev/null && pipx install --quiet ./*_x86_64.whl"
    " && PATH=$HOME/.local/bin:$PATH"
)
DEB: Final = (
    "apt-get -qq update && apt-get -qq install -y --no-install-recommends ./rtscope_*_all.deb"
    " ./rtscope-agent_*.deb >/dev/null"
)
ROWS: Final = {
    "Debian 12, pipx": ("bookworm", "dist", "*_x86_64.whl", PIPX),
    "Debian 13, pipx": ("trixie", "dist", "*_x86_64.whl", PIPX),
    "Debian 13, deb": ("trixie", "deb", "*.deb", DEB),
}


def main() -> int:
    """Print a table; the status is 1 where a row failed or took longer than the aim."""
    status = 0
    for name, (suite, folder, pattern, install) in ROWS.items():
        pip = {key: text for key, text in os.environ.items() if key.startswith("PIP_")}
        files = sorted((ROOT / "build" / folder).glob(pattern))
        if not files:
            print(f"{name:18} not measured: run make {folder} first")
            continue
        with tempfile.TemporaryDirectory() as work:
            for file in files:
                shutil.copy(file, work)
            if certificates := pip.get("PIP_CERT"):
                shutil.copy(certificates, Path(work) / "certificates.pem")
                pip["PIP_CERT"] = "/folder/certificates.pem"
            # The root itself is what a newcomer has: its making does not count.
            subprocess.run([ROOT / "setup" / "root", suite, "", work, "true"], check=True)
            exports = "".join(f"export {key}='{value}'; " for key, value in pip.items())
            start = time.monotonic()
            done = subprocess.run(
                [ROOT / "setup" / "root", "-n", suite, "", work,
                 "sh", "-ec", f"{exports}{install}; {MEASURE}"],
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            took_s = time.monotonic() - start
        if done.returncode:
            print(f"{name:18} failed after {took_s:.0f} s\n{done.stdout}{done.stderr}")
            status = 1
            continue
        verdict = next((line for line in done.stdout.splitlines() if "max<" in line), "no verdict")
        print(f"{name:18} {took_s:4.0f} s: {verdict.strip()}")
        status |= took_s > AIM_S
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
