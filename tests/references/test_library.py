# SPDX-License-Identifier: GPL-2.0-only
"""The published tables are whole, add up as far as they can, and are refused when they are not."""

import msgspec
import pytest

from rtscope.model.errors import RtscopeError
from rtscope.model.reference import Reference, Table
from rtscope.model.units import NS_PER_UNIT
from rtscope.references.library import decode_reference, reference_named, reference_names

PROBES = {"cyclic", "gtod", "sched", "async", "signal", "event", "loop", "pi", "migrate", "noise",
          "daq"}  # fmt: skip


def table_of(reference: str, name: str) -> Table:
    return next(table for table in reference_named(reference).tables if table.name == name)


def test_all_five_publications_are_there() -> None:
    assert reference_names() == ["celleb", "driver-loop", "loongson-2f", "slac-microtca", "t2080"]


@pytest.mark.parametrize("name", reference_names())
def test_every_reference_tells_where_it_is_from_and_what_to_mind(name: str) -> None:
    reference = reference_named(name)
    assert reference.name == name
    assert reference.authors
    assert all((reference.title, reference.published, reference.hardware, reference.kernel))
    assert reference.tables
    for table in reference.tables:
        assert table.title
        assert table.place
        assert table.entries
        assert table.probe is None or table.probe in PROBES
        assert table.caveats or reference.caveats
        for figure in table.figures:
            assert (figure.ours == "between") == (figure.below_ns is not None)
            if figure.ours in ("min", "mean", "max", "stddev"):
                assert figure.unit in NS_PER_UNIT


@pytest.mark.parametrize("name", reference_names())
def test_averages_lie_between_the_extremes(name: str) -> None:
    compared = 0
    for table in reference_named(name).tables:
        by_kind = {figure.ours: place for place, figure in enumerate(table.figures)}
        for entry in table.entries:
            found = [
                entry.values[by_kind[kind]].number
                for kind in ("min", "mean", "max")
                if kind in by_kind
            ]
            known = [number for number in found if number is not None]
            assert known == sorted(known), (table.name, entry.name)
            compared += len(known) - 1
    assert compared > 0 or name in ("driver-loop", "slac-microtca")


def test_numbers_keep_the_digits_that_were_printed() -> None:
    text = {
        value.text
        for table in reference_named("celleb").tables
        for entry in table.entries
        for value in entry.values
    }
    assert {"4.760000", "3.0", "842842", "PASS"} <= text
    for table in ("signal", "interrupt"):
        values = table_of("slac-microtca", table).entries[0].values
        assert [(value.relation, value.number) for value in values] == [
            ("about", 30),
            ("above", 6000),
            ("above", 160),
        ]


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


def test_a_reference_survives_json() -> None:
    reference = decode_reference("x", GOOD)
    assert msgspec.json.decode(msgspec.json.encode(reference), type=Reference) == reference


@pytest.mark.parametrize(
    ("good", "bad", "words"),
    [
        ("[27]", "[27, 28]", "'idle' has 2 values for 1 figures"),
        ("[27]", '["many"]', "'many' is not a value"),
        ("[27]", "[true]", "is not a value"),
        ("[27]", '["PASS"]', "has PASS as 'Max', which is in us"),
        ('unit = "us"', 'unit = "furlongs"', "furlongs"),
        ('ours = "max"', 'ours = "best"', "had by 'best', which is none of min, mean"),
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


def test_an_unknown_name_is_told_the_known_ones() -> None:
    with pytest.raises(RtscopeError, match="no reference 'loongson': those there are celleb"):
        reference_named("loongson")
