# SPDX-License-Identifier: GPL-2.0-only
"""Seconds until `rtscope farm run` notices that the link to a board is gone.

sudo .venv/bin/python bench/farm.py --times 5

The board is a network namespace with an sshd. Its interface is taken down in the middle of a run,
so that packets are lost without an answer, as when a cable is pulled out.
"""

import argparse
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from rtscope.target.local import agent_path
from tests.target.board import Board, environment_of, running_board

LIMIT_S = 10.0
PLAN = 'title = "Long"\n[[measure]]\nprobes = ["cyclic"]\nloads = ["idle"]\nduration = "10m"\n'
FARM = '[[board]]\ntarget = "ssh:board"\nquiet = false\n'


def noticed_s(board: Board, folder: Path) -> float:
    """Seconds from the loss of the link to the state `recovering`."""
    words = [sys.executable, "-m", "rtscope", "farm", "run", "farm.toml", "plan.toml", "--fresh"]
    own = {"XDG_STATE_HOME": str(folder), "PYTHONPATH": str(Path(__file__).parents[1])}
    process = subprocess.Popen(
        words, cwd=folder, stderr=subprocess.PIPE, text=True,
        env=environment_of(board.folder, board.runtime, agent_path()) | own,
    )  # fmt: skip
    assert process.stderr
    try:
        next(line for line in process.stderr if "measuring 0/1" in line)
        time.sleep(3)
        board.unplug()
        start = time.monotonic()
        next(line for line in process.stderr if "recovering" in line)
        return time.monotonic() - start
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
        subprocess.run(["ip", "link", "set", board.link, "up"], check=True)


def main() -> int:
    """Print all times; return 1 where one is above the limit."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--times", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "plan.toml").write_text(PLAN)
        (folder / "farm.toml").write_text(FARM)
        os.environ["XDG_DATA_HOME"] = name
        with running_board(folder) as board:
            taken = [noticed_s(board, folder) for _ in range(given.times)]
    print(
        f"noticed after {', '.join(f'{one:.1f}' for one in taken)} s; median "
        f"{statistics.median(taken):.1f} s"
    )
    return int(max(taken) > LIMIT_S)


if __name__ == "__main__":
    sys.exit(main())
