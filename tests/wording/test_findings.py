# SPDX-License-Identifier: GPL-2.0-only
"""Every kind of finding has a sentence; golden/findings.txt holds them all for a reader.

After a change of words, write the file again: python -m tests.wording.test_findings
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
from hypothesis import given

from rtscope.model.finding import Finding
from rtscope.model.run import Run
from rtscope.statistics.differing import differing
from rtscope.statistics.reach import reach
from rtscope.statistics.sharing import sharing
from rtscope.statistics.speeds import speeds
from rtscope.wording.findings import sentence
from tests.strategies import runs
from tests.wording.examples import CPUS, MEMORY, PLACEMENTS, THREADS

GOLDEN: Final = Path(__file__).parent / "golden" / "findings.txt"
EXAMPLES: Final = [*CPUS, *MEMORY, *PLACEMENTS, *THREADS]


def kinds(base: type[Finding] = Finding) -> Iterator[type[Finding]]:
    for kind in base.__subclasses__():
        yield kind
        yield from kinds(kind)


def lines() -> str:
    return "".join(f"{type(one).__name__}: {sentence(one).text}\n" for one in EXAMPLES)


def test_every_kind_has_an_example() -> None:
    assert [kind for kind in kinds() if kind not in map(type, EXAMPLES)] == []


def test_the_sentences_are_those_of_the_golden_file() -> None:
    assert lines() == GOLDEN.read_text()


@given(runs())
def test_every_finding_of_any_run_has_words(run: Run) -> None:
    for analysis in (differing, reach, sharing, speeds):
        assert all(sentence(one).text for one in analysis(run))


def test_findings_are_json_with_their_kind() -> None:
    for one in EXAMPLES:
        record = msgspec.json.decode(msgspec.json.encode(one))
        assert record["kind"] == type(one).__struct_config__.tag
        assert msgspec.json.decode(msgspec.json.encode(one), type=type(one)) == one


if __name__ == "__main__":
    GOLDEN.write_text(lines())
