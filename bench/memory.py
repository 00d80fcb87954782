# SPDX-License-Identifier: GPL-2.0-only
"""Resident memory of the agent over a loaded run: below 8 MB, and flat.

.venv/bin/python bench/memory.py --seconds 120
"""

import argparse
import json
import subprocess
from pathlib import Path

AGENT = Path(__file__).parents[1] / "build" / "native" / "rtscope-agent"


def resident_kb(pid: int) -> int:
    """VmRSS of a process, locked pages included."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])


def main() -> None:
    """Measure, and look at each progress line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=int, default=120)
    seconds = parser.parse_args().seconds
    sizes: list[int] = []
    with subprocess.Popen(
        [AGENT, "cyclic", "--json", "-i200us", f"-D{seconds}s", "--load=mixed", "--progress=1s"],
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if json.loads(line)["type"] == "progress":
                sizes.append(resident_kb(process.pid))
    print(
        f"resident memory over {len(sizes)} s: first {sizes[0]} KiB, last {sizes[-1]} KiB, "
        f"largest {max(sizes)} KiB"
    )


if __name__ == "__main__":
    main()
