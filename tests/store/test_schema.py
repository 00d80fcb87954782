# SPDX-License-Identifier: GPL-2.0-only
"""The published JSON Schema of a run is that of the record."""

import json
import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_the_published_schema_is_that_of_the_record() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "rtscope.store.schema"],
        capture_output=True,
        text=True,
        check=True,
        cwd=DOCS.parent,
    )
    assert (DOCS / "run.schema.json").read_text() == done.stdout, (
        "run: python -m rtscope.store.schema > docs/run.schema.json"
    )
    assert json.loads(done.stdout)["$ref"] == "#/$defs/Run"
