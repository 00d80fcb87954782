# SPDX-License-Identifier: GPL-2.0-only
"""The JSON Schema of a run file: python -m rtscope.store.schema > docs/reference/run.schema.json"""

import inspect
import json
import sys

import msgspec

from rtscope.model.run import Run


def run_schema() -> str:
    """JSON Schema (draft 2020-12) of a Run, made from the record itself."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema"} | msgspec.json.schema(Run)
    for definition in schema["$defs"].values():
        # Python 3.13 takes the indentation out of docstrings; older ones do not.
        definition["description"] = inspect.cleandoc(definition["description"])
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(run_schema())
