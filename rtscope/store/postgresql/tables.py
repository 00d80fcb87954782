# SPDX-License-Identifier: GPL-2.0-only
"""The tables as this version of rtscope uses them; migrations/versions has how they came to be.

They are in a schema of their own, so that a database may hold other programs' tables too.
Identifiers and names sort by their bytes: beginnings of names are found with an index.
"""

from typing import Final

from sqlalchemy import (
    BigInteger,
    Column,
    DateTime,
    Double,
    ForeignKey,
    Identity,
    LargeBinary,
    MetaData,
    Table,
    Text,
)
from sqlalchemy.dialects.postgresql import ARRAY

SCHEMA: Final = "rtscope"
FORMAT: Final = 1
"""the newest revision in migrations/versions"""

_metadata = MetaData(schema=SCHEMA)
_name = Text(collation="C")

runs = Table(
    "runs",
    _metadata,
    Column("saved", BigInteger, Identity(always=True), primary_key=True),
    Column("id", _name, nullable=False, unique=True),
    Column("created", _name, nullable=False),
    Column("host", _name),
    Column("kernel", _name),
    Column("probe", _name, nullable=False),
    Column("load", _name, nullable=False),
    Column("status", _name, nullable=False),
    Column("count", BigInteger, nullable=False),
    Column("max_ns", BigInteger),
    Column("source", _name, nullable=False),
    Column("experiment", _name, nullable=False),
    Column("cell", _name, nullable=False),
    Column("machine", _name),
    Column("started", DateTime(timezone=True), nullable=False),
    Column("tags", ARRAY(_name), nullable=False),
    Column("record", LargeBinary, nullable=False),
    Column("histograms", LargeBinary, nullable=False),
    Column("digest", LargeBinary, nullable=False),
)
"""`created` is as the run has it, `started` the same as a time; `machine` is Run.machine_name;
`record` and `histograms` are those of compact.py, `digest` is SHA-256 of both"""

metrics = Table(
    "metrics",
    _metadata,
    Column(
        "run",
        BigInteger,
        ForeignKey(runs.c.saved, ondelete="CASCADE"),
        primary_key=True,
    ),
    Column("name", _name, primary_key=True),
    Column("value", Double, nullable=False),
)
"""searchable_metrics of each run"""
