# SPDX-License-Identifier: GPL-2.0-only
"""Write the man pages: python -m rtscope.manual DOCS FOLDER.

Their date is that of $SOURCE_DATE_EPOCH, so that the same release always has the same pages.
"""

import os
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from rtscope.manual.pages import pages


def main(docs: Path, folder: Path) -> None:
    """Write each page below a folder, as in /usr/share/man."""
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))
    for page in pages(docs, datetime.fromtimestamp(seconds, UTC).date().isoformat()):
        path = folder / f"man{page.section}" / f"{page.name}.{page.section}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page.source())


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
