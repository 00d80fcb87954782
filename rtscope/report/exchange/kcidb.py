# SPDX-License-Identifier: GPL-2.0-only
"""Tests in the format of KCIDB, KernelCI's database, version 5.0.

A test belongs to a build of a kernel. A CI system that has sent the build already names it in
KCIDB_BUILD_ID; else the file has a build and a checkout made of what the run says about its kernel.
KCIDB_ORIGIN is the name under which the sender is known to KCIDB.

An inconclusive test is an ERROR and not DONE, because KCIDB sums up tests by the worst of them, and
ranks DONE below PASS.
"""

import hashlib
import os
import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from rtscope.model.errors import RtscopeError
from rtscope.model.run import Run
from rtscope.report.exchange.case import Case
from rtscope.report.exchange.states import WORDS
from rtscope.wording.plain import plain

_ORIGIN: Final = re.compile("[a-z0-9_]+")
_LONGEST_EXCERPT: Final = 16_000
"""KCIDB refuses more than 16384 characters"""
_EXECUTED: Final = ("FAIL", "ERROR", "PASS", "DONE")


def kcidb_sender() -> tuple[str, str]:
    """The origin, and the build or "", of the environment. Raises RtscopeError if KCIDB would
    refuse them.
    """
    origin = os.environ.get("KCIDB_ORIGIN") or "rtscope"
    build = os.environ.get("KCIDB_BUILD_ID") or ""
    if not _ORIGIN.fullmatch(origin):
        raise RtscopeError(
            f"KCIDB_ORIGIN '{origin[:40]}' may have only lower-case letters, digits and _"
        )
    if build and not re.fullmatch(r"[a-z0-9_]+:\S+", build):
        raise RtscopeError(f"KCIDB_BUILD_ID '{build[:40]}' is not ORIGIN:ID")
    return origin, build


def kcidb_report(cases: Sequence[Case]) -> bytes:
    """The JSON. Raises RtscopeError as kcidb_sender does."""
    origin, build = kcidb_sender()
    document: dict[str, Any] = {"version": {"major": 5, "minor": 0}}
    if not build:
        checkouts = {}
        builds = {}
        for case in cases:
            name = _kernel(origin, case.run)
            checkouts[name] = {"id": name, "origin": origin, "comment": _release(case.run)}
            builds[name] = _build(name, origin, case.run)
        document |= {"checkouts": [*checkouts.values()], "builds": [*builds.values()]}
    document["tests"] = [_test(case, origin, build or _kernel(origin, case.run)) for case in cases]
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def _release(run: Run | None) -> str:
    release = run.machine.kernel_release if run else None
    return plain(release) if release else "a kernel that is not known"


def _kernel(origin: str, run: Run | None) -> str:
    """The id of a build and its checkout; the same for all runs of one kernel."""
    machine = run.machine if run else None
    known = (
        (machine.kernel_release, machine.kernel_version, machine.architecture) if machine else ()
    )
    digest = hashlib.sha256("\n".join(map(str, known)).encode(errors="replace")).hexdigest()
    return f"{origin}:{digest[:32]}"


def _build(name: str, origin: str, run: Run | None) -> dict[str, Any]:
    build: dict[str, Any] = {"id": name, "origin": origin, "checkout_id": name}
    machine = run.machine if run else None
    if machine and machine.kernel_version:
        build["comment"] = plain(machine.kernel_version)
    architecture = (machine.architecture if machine else None) or ""
    if re.fullmatch("[a-z0-9_]+", architecture):
        build["architecture"] = architecture
    return build


def _test(case: Case, origin: str, build: str) -> dict[str, Any]:
    run = case.run
    status = WORDS[case.state]["kcidb"]
    named = f"{run.id if run else os.urandom(8).hex()}:{case.name}"
    digest = hashlib.sha256(named.encode()).hexdigest()
    test: dict[str, Any] = {
        "id": f"{origin}:{digest[:32]}",
        "origin": origin,
        "build_id": build,
        "path": f"rtscope.{re.sub('[^A-Za-z0-9_-]', '_', case.group)}",
        "comment": case.name,
        "status": status,
        "log_excerpt": case.reason[:_LONGEST_EXCERPT],
        "misc": {"state": case.state},
    }
    if case.value is not None and status in _EXECUTED:
        test["number"] = {"value": case.value}
        if case.in_ns:
            test["number"] = {"value": case.value / 1e9, "unit": "s", "prefix": "metric"}
    if run:
        test["start_time"] = run.created
        test["duration"] = (run.elapsed_ns or 0) / 1e9
        test["misc"]["run"] = run.id
        if run.machine.hostname:
            test["environment"] = {"comment": plain(run.machine.hostname)}
    return test
