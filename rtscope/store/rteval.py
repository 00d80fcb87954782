# SPDX-License-Identifier: GPL-2.0-only
"""rteval's summary.xml: import of its cyclictest measurements, and export of a run as one.

Elements and attributes are those that rteval 3 writes (rteval/modules/measurement/cyclictest.py)
and its report rteval_text.xsl reads. Its timerlat section adds the latencies of interrupts, kernel
threads and user threads into one histogram, which means nothing: it is refused.
"""

import math
import re
from datetime import UTC, datetime
from typing import Final
from xml.etree import ElementTree as ET

import msgspec

from rtscope import __version__
from rtscope.model.errors import RtscopeError
from rtscope.model.machine import Machine
from rtscope.model.quantity import LATENCY, quantity_of
from rtscope.model.run import Asked, Run, Thread
from rtscope.store.foreign import binned, counts_of, import_id, machine_of, read_text, scaled
from rtscope.store.rttests import option, time_option_ns
from rtscope.store.runfile import check_run

TOOL: Final = "rteval"
US: Final = 1000
_DAY_S: Final = 86_400


def parse(data: bytes, created: str) -> Run:
    """Read summary.xml. `created` is for a file without a start. Raises RtscopeError."""
    root = _root(read_text(data, TOOL))
    measured = root.find("Measurements/cyclictest")
    if measured is None:
        measured = root.find("cyclictest")  # rteval 2
    if measured is None:
        if root.find(".//timerlat") is not None:
            raise RtscopeError(
                "this rteval file has only a timerlat section, which adds the latencies of "
                "interrupts and threads into one histogram: import the output of rtla itself"
            )
        raise RtscopeError("this rteval file has no cyclictest section")
    cores = measured.findall("core")
    if not cores:
        raise RtscopeError(
            "this rteval file has no results of any CPU: rteval leaves them out when a latency "
            "was beyond its histogram. Run it again with more --cyclictest-buckets"
        )
    command = measured.get("command_line", "")
    run = Run(
        id=import_id(data, TOOL),
        created=_start(root) or created,
        probe="cyclic",
        status="threshold" if measured.find("abort_report") is not None else "complete",
        load=_load(root),
        machine=_machine(root),
        threads=[_thread(core) for core in cores],
        asked=Asked(
            command=command.split(),
            interval_ns=time_option_ns(command, "i", "interval"),
            priority=option(command, "p", "priority"),
        ),
        elapsed_ns=_elapsed_ns(root),
        source=TOOL,
    )
    check_run(run)
    return run


def _root(text: str) -> ET.Element:
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise RtscopeError("this XML declares a document type or entities, which rteval never does")
    try:
        root = ET.fromstring(text)  # noqa: S314 - no document type, so no entities
    except (ET.ParseError, ValueError) as error:
        raise RtscopeError(f"this rteval file is not XML ({error}): is it truncated?") from None
    if root.tag != "rteval":
        raise RtscopeError(f"this XML holds '{root.tag[:40]}', not the summary of rteval")
    return root


def _text(root: ET.Element, *paths: str) -> str | None:
    for path in paths:
        found = root.findtext(path)
        if found is not None and found.strip():
            return found.strip()
    return None


def _start(root: ET.Element) -> str | None:
    """The start in rteval's local time, which states no zone: read as UTC."""
    text = f"{_text(root, 'run_info/date')}T{_text(root, 'run_info/time')}"
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except ValueError:
        return None


def _load(root: ET.Element) -> str:
    loads = root.find("loads")
    if loads is None:
        return "unknown"
    lines = loads.findall("command_line")
    names = [line.get("name", "") for line in lines if line.get("run") != "0"]
    return f"rteval:{'+'.join(names)}"[:200] if names else "idle"


def _machine(root: ET.Element) -> Machine:
    uname = root.find("SystemInfo/uname")
    if uname is None:
        uname = root.find("uname")
    if uname is None:
        return Machine()
    machine = machine_of(_text(uname, "node"), _text(uname, "arch"), _text(uname, "kernel"), None)
    if uname.find("kernel[@is_RT='1']") is None:
        return machine
    evidence = "rteval's is_RT, as imported"
    return msgspec.structs.replace(machine, preemption="rt", preemption_evidence=evidence)


def _elapsed_ns(root: ET.Element) -> int | None:
    info = root.find("run_info")
    if info is None:
        return None
    parts = [info.get(name, "") for name in ("days", "hours", "minutes", "seconds")]
    if not all(re.fullmatch(r"\d{1,6}", part, re.ASCII) for part in parts):
        return None
    days, hours, minutes, seconds = map(int, parts)
    return (days * _DAY_S + (hours * 60 + minutes) * 60 + seconds) * 1_000_000_000


def _thread(core: ET.Element) -> Thread:
    cpu = _integer(core.get("id"), "the id of a core")
    buckets: dict[str, int] = {}
    for bucket in core.iterfind("histogram/bucket"):
        key = bucket.get("index", "")
        buckets[key] = buckets.get(key, 0) + _integer(bucket.get("value"), f"bucket '{key[:40]}'")
    counts = counts_of(buckets, TOOL)
    total = sum(count for _, count in counts)
    stated = _integer(core.findtext("statistics/samples"), f"the samples of core {cpu}")
    if stated != total:
        raise RtscopeError(
            f"this rteval file contradicts itself: core {cpu} has {stated} samples, but {total} "
            "in its histogram"
        )
    mean = core.findtext("statistics/mean")
    return Thread(
        thread=cpu,
        cpu=cpu,
        policy="fifo",
        priority=_integer(core.get("priority"), f"the priority of core {cpu}"),
        count=total,
        histogram=binned(((at * US, US, count) for at, count in counts), TOOL),
        min_ns=counts[0][0] * US if total else None,
        max_ns=counts[-1][0] * US if total else None,
        mean_ns=scaled(_float(mean), US) if total else None,
        missed=None,
    )


def _integer(text: str | None, what: str) -> int:
    if text is None or not re.fullmatch(r"\d{1,18}", text.strip(), re.ASCII):
        raise RtscopeError(f"this rteval file has no number for {what}")
    return int(text)


def _float(text: str | None) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        return None


def to_summary_xml(run: Run) -> str:
    """The run as rteval's summary.xml, in microseconds, rounded down as cyclictest does.

    Raises RtscopeError for samples that are no latencies, and for a run without CPUs.
    """
    if quantity_of(run.probe) != LATENCY or not run.threads:
        raise RtscopeError(
            f"run {run.id} of {run.probe} has no latencies of threads, which is all that rteval's "
            "summary holds: export it with --format run"
        )
    root = ET.Element("rteval", version=f"rtscope {__version__}")
    _write_run_info(root, run)
    _write_system(root, run.machine)
    loads = ET.SubElement(root, "loads", loads=str(len(run.loads)))
    for load in run.loads:
        name = _plain(load.name)
        ET.SubElement(loads, "command_line", name=name, run="1").text = name
    measured = ET.SubElement(
        ET.SubElement(root, "Measurements"),
        "cyclictest",
        command_line=_plain(" ".join(run.asked.command)),
    )
    if run.status == "threshold":
        ET.SubElement(measured, "abort_report", reason="breaktrace")
    columns = [_microseconds(thread) for thread in run.threads]
    every: dict[int, int] = {}
    for column in columns:
        for at, count in column.items():
            every[at] = every.get(at, 0) + count
    system = ET.SubElement(measured, "system", description=f"({len(columns)} cores) ")
    _write_statistics(system, every)
    for thread, column in zip(run.threads, columns, strict=True):
        core = ET.SubElement(
            measured,
            "core",
            id=str(thread.thread if thread.cpu is None else thread.cpu),
            priority=str(thread.priority),
        )
        _write_statistics(core, column)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, "unicode") + "\n"


def _write_run_info(root: ET.Element, run: Run) -> None:
    seconds = (run.elapsed_ns or 0) // 1_000_000_000
    start = datetime.fromisoformat(run.created)
    info = ET.SubElement(
        root,
        "run_info",
        days=str(seconds // _DAY_S),
        hours=str(seconds // 3600 % 24),
        minutes=str(seconds // 60 % 60),
        seconds=str(seconds % 60),
    )
    ET.SubElement(info, "date").text = f"{start:%Y-%m-%d}"
    ET.SubElement(info, "time").text = f"{start:%H:%M:%S}"
    ET.SubElement(info, "annotate").text = f"rtscope run {run.id}, load {_plain(run.load)}"


def _write_system(root: ET.Element, machine: Machine) -> None:
    uname = ET.SubElement(ET.SubElement(root, "SystemInfo"), "uname")
    ET.SubElement(uname, "node").text = _plain(machine.hostname or "")
    ET.SubElement(uname, "arch").text = _plain(machine.architecture or "")
    ET.SubElement(uname, "kernel", is_RT=str(int(machine.preemption == "rt"))).text = _plain(
        machine.kernel_release or ""
    )


def _write_statistics(parent: ET.Element, column: dict[int, int]) -> None:
    statistics = ET.SubElement(parent, "statistics")
    total = sum(column.values())
    ET.SubElement(statistics, "samples").text = str(total)
    if not total:
        return
    mean = sum(at * count for at, count in column.items()) / total
    square = sum((at - mean) ** 2 * count for at, count in column.items())
    deviation = sum(abs(at - mean) * count for at, count in column.items()) / total
    ordered = sorted(column)
    values = {
        "minimum": ordered[0],
        "maximum": ordered[-1],
        "median": _median(column),
        "mode": max(ordered, key=lambda at: column[at]),
        "range": ordered[-1] - ordered[0],
        "mean": mean,
        "mean_absolute_deviation": deviation,
        "standard_deviation": math.sqrt(square / (total - 1)) if total > 1 else 0.0,
    }
    for name, value in values.items():
        ET.SubElement(statistics, name, unit="us").text = str(value)
    histogram = ET.SubElement(parent, "histogram", nbuckets=str(len(ordered)))
    for at in ordered:
        ET.SubElement(histogram, "bucket", index=str(at), value=str(column[at]))


def _median(column: dict[int, int]) -> float:
    """The middle sample, or the mean of the two in the middle."""
    total, passed, middle = sum(column.values()), 0, []
    for at in sorted(column):
        low, passed = passed, passed + column[at]
        middle += [at] * sum(low <= place < passed for place in {(total - 1) // 2, total // 2})
    return sum(middle) / len(middle)


def _microseconds(thread: Thread) -> dict[int, int]:
    """Samples by whole microseconds; what lies beyond the histogram counts at the maximum."""
    held = thread.histogram
    counts: dict[int, int] = {}
    for lower, count in zip(held.lower_ns, held.count, strict=True):
        counts[lower // US] = counts.get(lower // US, 0) + count
    if held.beyond_count:
        at = (thread.max_ns or held.beyond_ns) // US
        counts[at] = counts.get(at, 0) + held.beyond_count
    return counts


def _plain(text: str) -> str:
    """Text without the characters that XML cannot hold."""
    return re.sub("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "?", text)
