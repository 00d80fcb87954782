# SPDX-License-Identifier: GPL-2.0-only
"""Write the outputs of documents again: python -m tests.cli.fresh PAGE... (make outputs).

A block of a page that follows the comment `<!-- fresh -->` has commands behind `$ `, each with its
output. The commands of a page run in one shell session's folder and store, in their order, with a
board called `board` that is a namespace of this computer (tests/target/board.py).
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from tests.target.board import running_board

BLOCK: Final = re.compile(r"(<!-- fresh -->\n```console\n)(.*?)(```\n)", re.DOTALL)
LIMIT_S: Final = 1800
WIDTH: Final = "110"


def commands_in(block: str) -> list[str]:
    """The commands of a block."""
    return [line[2:] for line in block.splitlines() if line.startswith("$ ")]


def written(page: str, folder: Path, environment: dict[str, str]) -> str:
    """The page with the outputs that its commands have now. Raises CalledProcessError."""

    def output(match: re.Match[str]) -> str:
        lines = []
        for command in commands_in(match[2]):
            done = subprocess.run(
                ["bash", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT_S,
                check=False,
            )  # fmt: skip
            if done.returncode not in (0, 1):
                raise subprocess.CalledProcessError(done.returncode, command, done.stdout)
            shown = [line.rstrip() for line in done.stdout.strip("\n").splitlines()]
            lines += [f"$ {command}", *shown]
        return f"{match[1]}{chr(10).join(lines)}\n{match[3]}"

    return BLOCK.sub(output, page)


def main(paths: list[Path]) -> None:
    """Write the pages."""
    commands = Path(sys.executable).parent
    with tempfile.TemporaryDirectory() as name, running_board(Path(name)) as board:
        for path in paths:
            folder = Path(name) / "pages" / path.stem
            folder.mkdir(parents=True)
            environment = os.environ | {
                "PATH": f"{board.folder}/bin:{commands}:{os.environ['PATH']}",
                "HOME": str(folder),
                "XDG_CACHE_HOME": str(Path.home() / ".cache"),
                "XDG_DATA_HOME": str(folder / "data"),
                "XDG_RUNTIME_DIR": board.runtime,
                "COLUMNS": WIDTH,
            }
            path.write_text(written(path.read_text(), folder, environment))


if __name__ == "__main__":
    main([Path(word) for word in sys.argv[1:]])
