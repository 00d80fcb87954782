# SPDX-License-Identifier: GPL-2.0-only
"""Format 1: runs, and the metrics by which they are found."""

from alembic import op

revision = "1"
down_revision = None

STATEMENTS = [
    """
    CREATE TABLE rtscope.runs (
        saved bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        id text COLLATE "C" NOT NULL UNIQUE,
        created text COLLATE "C" NOT NULL,
        host text COLLATE "C",
        kernel text COLLATE "C",
        probe text COLLATE "C" NOT NULL,
        load text COLLATE "C" NOT NULL,
        status text COLLATE "C" NOT NULL,
        count bigint NOT NULL,
        max_ns bigint,
        source text COLLATE "C" NOT NULL,
        experiment text COLLATE "C" NOT NULL,
        cell text COLLATE "C" NOT NULL,
        machine text COLLATE "C",
        started timestamptz NOT NULL,
        tags text[] COLLATE "C" NOT NULL,
        record bytea NOT NULL,
        histograms bytea NOT NULL,
        digest bytea NOT NULL
    )
    """,
    # They are compressed already.
    "ALTER TABLE rtscope.runs ALTER record SET STORAGE EXTERNAL",
    "ALTER TABLE rtscope.runs ALTER histograms SET STORAGE EXTERNAL",
    "CREATE INDEX runs_by_machine ON rtscope.runs (machine, started)",
    "CREATE INDEX runs_by_kernel ON rtscope.runs (kernel, started)",
    "CREATE INDEX runs_by_start ON rtscope.runs (started)",
    "CREATE INDEX runs_by_experiment ON rtscope.runs (experiment) WHERE experiment <> ''",
    "CREATE INDEX runs_by_tag ON rtscope.runs USING gin (tags)",
    """
    CREATE TABLE rtscope.metrics (
        run bigint NOT NULL REFERENCES rtscope.runs (saved) ON DELETE CASCADE,
        name text COLLATE "C" NOT NULL,
        value double precision NOT NULL,
        PRIMARY KEY (run, name)
    )
    """,
    "CREATE INDEX metrics_by_value ON rtscope.metrics (name, value)",
]


def upgrade() -> None:
    """Create the tables."""
    for statement in STATEMENTS:
        op.execute(statement)
