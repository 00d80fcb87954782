# SPDX-License-Identifier: GPL-2.0-only
"""The published tables are whole, add up as far as they can, and are refused when they are not."""

import msgspec
import pytest

from rtscope.model.errors import RtscopeError
from rtscope.model.reference import Reference, Value
from rtscope.model.units import NS_PER_UNIT
from rtscope.references.library import decode_reference, reference_named, reference_names

PROBES = {"cyclic", "gtod", "sched", "async", "signal", "event", "loop", "pi", "migrate", "noise",
          "daq"}  # fmt: skip


def test_all_five_publications_are_there() -> None:
    assert reference_names() == ["celleb", "driver-loop", "loongson-2f", "slac-microtca", "t2080"]


@pytest.mark.parametrize("name", reference_names())
def test_a_reference_is_whole_and_its_averages_lie_between_the_extremes(name: str) -> None:
    reference = reference_named(name)
    assert reference.name == name
    assert msgspec.json.decode(msgspec.json.encode(reference), type=Reference) == reference
    assert all((reference.authors, reference.title, reference.published, reference.hardware))
    assert all((reference.kernel, reference.tables))
    for table in reference.tables:
        assert all((table.title, table.place, table.entries, table.caveats or reference.caveats))
        assert table.probe is None or table.probe in PROBES
        for figure in table.metrics:
            assert (figure.ours == "between") == (figure.below_ns is not None)
            if figure.ours in ("min", "mean", "max", "stddev"):
                assert figure.unit in NS_PER_UNIT
        columns = {figure.ours: place for place, figure in enumerate(table.metrics)}
        places = [columns[kind] for kind in ("min", "mean", "max") if kind in columns]
        for entry in table.entries:
            numbers = [entry.values[place].number for place in places]
            known = [number for number in numbers if number is not None]
            assert known == sorted(known), (table.name, entry.name)


def values_of(reference: str, *names: str) -> list[Value]:
    tables = [one for one in reference_named(reference).tables if one.name in names or not names]
    return [value for table in tables for entry in table.entries for value in entry.values]


def test_numbers_keep_the_digits_and_the_relation_that_were_printed() -> None:
    assert {"4.760000", "3.0", "842842", "PASS"} <= {one.text for one in values_of("celleb")}
    bounds = [(one.relation, one.number) for one in values_of("slac-microtca", "signal")[:3]]
    assert bounds == [("about", 30), ("above", 6000), ("above", 160)]


GOOD = """
title = "T"
authors = ["A"]
published = "here"
hardware = "h"
kernel = "k"
[[tables]]
name = "t"
title = "T"
place = "p"
rows = "entries"
figures = [{ name = "Max", unit = "us", ours = "max" }]
entries = [{ name = "idle", values = [27] }]
"""


@pytest.mark.parametrize(
    ("good", "bad", "words"),
    [
        ("[27]", "[27, 28]", "'idle' has 2 values for 1 figures"),
        ("[27]", '["many"]', "'many' is not a value"),
        ("[27]", "[true]", "is not a value"),
        ("[27]", '["PASS"]', "has PASS as 'Max', which is in us"),
        ('unit = "us"', 'unit = "furlongs"', "furlongs"),
        ('ours = "max"', 'ours = "best"', "computed by 'best', which is none of min, mean"),
        ('unit = "us"', 'unit = "verdict"', "has 27 as 'Max', which is in verdict"),
        ('place = "p"', "", "place"),
        ('place = "p"', 'place = "p"\nplase = "q"', "plase"),
        ("[27] }]", '[27] }, { name = "idle", values = [1] }]', "'idle' stands twice"),
        ('title = "T"\nauthors', "title = \nauthors", "line 2"),
    ],
)
def test_a_wrong_reference_is_refused_with_the_reason(good: str, bad: str, words: str) -> None:
    assert good in GOOD
    with pytest.raises(RtscopeError, match="reference x: ") as refused:
        decode_reference("x", GOOD.replace(good, bad, 1))
    assert words in str(refused.value)


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(RtscopeError, match="no reference 'loongson': those there are celleb"):
        reference_named("loongson")
