"""The agent's `progress` line: what each thread and load has done so far (docs/protocol.md)."""

import msgspec


class WindowProgress(msgspec.Struct, frozen=True):
    """What one thread saw since the last progress line; None where it took no sample."""

    count: int = 0
    mean_ns: float | None = None
    max_ns: int | None = None


class ThreadProgress(msgspec.Struct, frozen=True):
    """What one thread has seen since the start; None where it has no sample yet."""

    thread: int
    count: int
    missed: int = 0
    min_ns: int | None = None
    mean_ns: float | None = None
    p999_ns: int | None = None
    max_ns: int | None = None
    window: WindowProgress = WindowProgress()


class LoadProgress(msgspec.Struct, frozen=True):
    """Work that one load has done since it was started, as totals by unit."""

    name: str
    work: dict[str, int] = {}


class Progress(msgspec.Struct, frozen=True, tag_field="type", tag="progress"):
    """One `progress` line; `msgspec.json.decode(line, type=Progress)` reads it."""

    time_ns: int
    """since the start"""
    threads: list[ThreadProgress]
    loads: list[LoadProgress] = []
