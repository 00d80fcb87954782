# SPDX-License-Identifier: GPL-2.0-only
"""Write the man pages and the completion of shells: python -m rtscope.manual DOCS FOLDER.

The date of pages is that of $SOURCE_DATE_EPOCH, so that the same release always has the same ones.
"""

import os
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from typer._completion_shared import get_completion_script

from rtscope.manual.pages import pages

COMPLETION: Final = {"bash": "rtscope", "zsh": "_rtscope", "fish": "rtscope.fish"}
"""the file of each shell, as its folder of completions wants it named"""


def main(docs: Path, folder: Path) -> None:
    """Write each page as in /usr/share/man, and the completion, below a folder."""
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))
    for page in pages(docs, datetime.fromtimestamp(seconds, UTC).date().isoformat()):
        path = folder / f"man{page.section}" / f"{page.name}.{page.section}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page.source())
    for shell, name in COMPLETION.items():
        path = folder / "completion" / shell / name
        path.parent.mkdir(parents=True, exist_ok=True)
        script = get_completion_script(
            prog_name="rtscope", complete_var="_RTSCOPE_COMPLETE", shell=shell
        )
        path.write_text(script + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
