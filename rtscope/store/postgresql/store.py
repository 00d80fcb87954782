# SPDX-License-Identifier: GPL-2.0-only
"""The runs in a PostgreSQL database."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Final

import msgspec
from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    and_,
    delete,
    func,
    insert,
    not_,
    select,
)

from rtscope.model.errors import RtscopeError
from rtscope.model.histogram import Histogram
from rtscope.model.run import Run
from rtscope.store import compact
from rtscope.store.address import Server
from rtscope.store.postgresql.connecting import transaction
from rtscope.store.postgresql.tables import FORMAT, metrics, runs
from rtscope.store.runfile import encode_run
from rtscope.store.runname import MOST_SHOWN, parse_name, the_one
from rtscope.store.search import OPERATORS, Search
from rtscope.store.searchable import same_metrics, searchable_metrics
from rtscope.store.summary import Damage, Summary, summary_of

_SHOWN: Final = [runs.c[name] for name in Summary.__struct_fields__]
_AT_ONCE: Final = 64
"""runs of one query"""
_METRICS: Final = (
    select(func.jsonb_object_agg(metrics.c.name, metrics.c.value))
    .where(metrics.c.run == runs.c.saved)
    .scalar_subquery()
    .label("metrics")
)
_LONGEST: Final = 600
"""characters of a name; an index refuses more than 2704 bytes"""


class PostgresqlStore:
    """See Store."""

    def __init__(self, server: Server, *, read_only: bool = False) -> None:
        """Nothing is connected yet. With `read_only`, methods that write raise StoreError."""
        self._server = server
        self._read_only = read_only

    def __str__(self) -> str:
        """The URL without a password."""
        return str(self._server)

    def save(self, run: Run) -> bool:
        """See Store."""
        row = _row_of(run)
        found = _metrics_of(run)
        with transaction(self._server, read_only=self._read_only) as connection:
            # One writer per run, so that two that send the same run store it once.
            connection.execute(select(func.pg_advisory_xact_lock(int(run.id, 16) - 2**63)))
            if self._same(connection, run):
                return False
            connection.execute(delete(runs).where(runs.c.id == run.id))
            saved = connection.scalar(insert(runs).values(row).returning(runs.c.saved))
            if found:
                connection.execute(
                    insert(metrics),
                    [{"run": saved, "name": name, "value": value} for name, value in found.items()],
                )
        return True

    def held(self, run: Run) -> bool | None:
        """See Store."""
        with transaction(self._server, read_only=self._read_only) as connection:
            return self._same(connection, run)

    def load(self, name: str) -> Run:
        """See Store."""
        with transaction(self._server, read_only=self._read_only) as connection:
            ((_, run),) = self._read(connection, [_find(connection, name)])
        if isinstance(run, RtscopeError):
            raise run
        return run

    def read(self, ids: Iterable[str]) -> Iterator[tuple[str, Run | RtscopeError]]:
        """See Store."""
        remaining = iter(ids)
        with transaction(self._server, read_only=self._read_only) as connection:
            while chosen := list(islice(remaining, _AT_ONCE)):
                yield from self._read(connection, chosen)

    def histograms(self, ids: Iterable[str]) -> Iterator[tuple[str, list[Histogram]]]:
        """See Store."""
        remaining = iter(ids)
        with transaction(self._server, read_only=self._read_only) as connection:
            while chosen := list(islice(remaining, _AT_ONCE)):
                query = select(runs.c.id, runs.c.histograms).where(runs.c.id.in_(chosen))
                packed = {row.id: row.histograms for row in connection.execute(query)}
                for one in chosen:
                    if one in packed:
                        yield one, self._histograms(one, packed[one])

    def _histograms(self, run_id: str, packed: bytes) -> list[Histogram]:
        try:
            return compact.decode_histograms(packed)
        except RtscopeError as error:
            raise RtscopeError(f"run {run_id} in the store {self}: {error}") from None

    def found(self, search: Search) -> list[Summary]:
        """See Store."""
        query = select(*_SHOWN).where(*_conditions(search)).order_by(runs.c.saved.desc())
        query = query.limit(search.limit)
        with transaction(self._server, read_only=self._read_only) as connection:
            return [Summary(*row) for row in connection.execute(query)]

    def remove(self, names: Sequence[str]) -> list[Summary]:
        """See Store."""
        with transaction(self._server, read_only=self._read_only) as connection:
            ids = list(dict.fromkeys(_find(connection, name) for name in dict.fromkeys(names)))
            query = delete(runs).where(runs.c.id.in_(ids)).returning(*_SHOWN)
            removed = {row.id: Summary(*row) for row in connection.execute(query)}
        return [removed[one] for one in ids if one in removed]

    def prune(self, search: Search) -> list[Summary]:
        """See Store."""
        query = delete(runs).where(*_conditions(search)).returning(*_SHOWN)
        with transaction(self._server, read_only=self._read_only) as connection:
            return [Summary(*row) for row in connection.execute(query)]

    def check(self) -> Iterator[Damage]:
        """See Store. Runs that are saved meanwhile may be left out."""
        last = 0
        with transaction(self._server, read_only=self._read_only) as connection:
            while True:
                query = select(runs, _METRICS).where(runs.c.saved > last).order_by(runs.c.saved)
                rows = connection.execute(query.limit(_AT_ONCE)).all()
                if not rows:
                    return
                for row in rows:
                    if text := _damage_of(row):
                        yield Damage(row.id, f"run {row.id} in the store {self}: {text}")
                last = rows[-1].saved

    def migrate(self) -> tuple[int | None, int]:
        """See Store."""
        from rtscope.store.postgresql.migrating import migrate

        return migrate(self._server), FORMAT

    def _same(self, connection: Connection, run: Run) -> bool | None:
        """As held, in a transaction."""
        query = select(runs.c.record, runs.c.histograms).where(runs.c.id == run.id)
        row = connection.execute(query).one_or_none()
        if row is None:
            return None
        try:
            return encode_run(compact.decode(*row)) == encode_run(run)
        except RtscopeError:
            return False

    def _read(
        self, connection: Connection, ids: Sequence[str]
    ) -> Iterator[tuple[str, Run | RtscopeError]]:
        query = select(runs.c.id, runs.c.record, runs.c.histograms).where(runs.c.id.in_(ids))
        rows = {row.id: row for row in connection.execute(query)}
        for one in ids:
            if one not in rows:
                continue
            try:
                yield one, compact.decode(rows[one].record, rows[one].histograms)
            except RtscopeError as error:
                yield one, RtscopeError(f"run {one} in the store {self}: {error}")


def _metrics_of(run: Run) -> dict[str, float]:
    return {_key(name): value for name, value in searchable_metrics(run).items()}


def _damage_of(row: Row[Any]) -> str:
    """What is wrong with a row of runs; "" if nothing."""
    if hashlib.sha256(row.record + row.histograms).digest() != row.digest:
        return "its record or its histograms have changed since it was saved"
    try:
        run = compact.decode(row.record, row.histograms)
    except RtscopeError as error:
        return str(error)
    if any(getattr(row, name) != value for name, value in _columns_of(run).items()):
        return "the list shows other values than its record has"
    if not same_metrics(row.metrics or {}, _metrics_of(run)):
        return "it is found by other values than its record has"
    return ""


def _row_of(run: Run) -> dict[str, Any]:
    record, histograms = compact.encode(run)
    return {
        **_columns_of(run),
        "record": record,
        "histograms": histograms,
        "digest": hashlib.sha256(record + histograms).digest(),
    }


def _columns_of(run: Run) -> dict[str, Any]:
    """What the list shows and what the run is found by, but for metrics."""
    shown = msgspec.structs.asdict(summary_of(run))
    return {
        **{
            name: _text(value) if isinstance(value, str) else value for name, value in shown.items()
        },
        "started": _started(run),
        "kernel": shown["kernel"] and _key(shown["kernel"]),
        "experiment": _key(run.experiment),
        "machine": run.machine_name and _key(run.machine_name),
        "tags": sorted({_key(tag) for tag in run.tags}),
    }


def _started(run: Run) -> datetime:
    started = datetime.fromisoformat(run.created)
    return started if started.tzinfo else started.replace(tzinfo=UTC)


def _text(value: str) -> str:
    """Text as PostgreSQL can hold it: without the character NUL, undecodable bytes as \\udcXX."""
    return value.encode(errors="backslashreplace").decode().replace("\0", "\\x00")


def _key(value: str) -> str:
    """Text as an index can hold it."""
    return _text(value)[:_LONGEST]


def _conditions(search: Search) -> Iterator[ColumnElement[bool]]:
    if search.experiment:
        yield runs.c.experiment != ""
        yield _begins(runs.c.experiment, search.experiment)
    if search.machine:
        yield _begins(runs.c.machine, search.machine)
    if search.kernel:
        yield _begins(runs.c.kernel, search.kernel)
    if search.tags:
        yield runs.c.tags.contains([_key(tag) for tag in search.tags])
    if search.without_tags:
        yield not_(runs.c.tags.overlap([_key(tag) for tag in search.without_tags]))
    if search.since:
        yield runs.c.started >= search.since
    if search.before:
        yield runs.c.started < search.before
    for one in search.metrics:
        compared = OPERATORS[one.comparison](metrics.c.value, one.value)
        yield runs.c.saved.in_(select(metrics.c.run).where(metrics.c.name == one.metric, compared))


def _begins(column: ColumnElement[str], beginning: str) -> ColumnElement[bool]:
    text = _key(beginning)
    return and_(column >= text, column < f"{text}\U0010ffff")


def _find(connection: Connection, name: str) -> str:
    """The id that `name` stands for."""
    wanted = parse_name(name)
    query = select(runs.c.id, runs.c.created, runs.c.probe, runs.c.load)
    query = query.order_by(runs.c.saved.desc())
    if isinstance(wanted, int):
        query = query.limit(1).offset(wanted)
    else:
        query = query.where(_begins(runs.c.id, wanted)).limit(MOST_SHOWN + 1)
    return the_one(name, [tuple(row) for row in connection.execute(query)])
