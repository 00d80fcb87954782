# SPDX-License-Identifier: GPL-2.0-only
"""Prove a cause: measure with and without the change that removes it, in randomised blocks.

The change is a profile of one step, which the plan of `tune measure` switches on and off; the agent
undoes it at the end of each run, however that ends.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import platformdirs

from rtscope.model.cause import Cause
from rtscope.model.cpulist import format_cpu_list
from rtscope.model.errors import RtscopeError
from rtscope.model.proof import Arm, Proof, Verdict
from rtscope.model.run import FINAL, Run, Thread
from rtscope.statistics.causes import rankings
from rtscope.statistics.metrics import as_arrays, metrics_of_run
from rtscope.statistics.rates import Block, rate_ratio
from rtscope.store.files import write_file
from rtscope.tuning.remedies import remedy_of

LAST: Final = "last"
_PERCENT: Final = 99.0


def chosen_cause(run: Run, name: str) -> Cause:
    """The cause of a run's ranking: its number, its name, or the largest that a change addresses.

    Raises RtscopeError.
    """
    found = rankings(run)
    if not found:
        raise RtscopeError(
            f"run {run.id} has no explained samples: measure with --explain 20 first"
        )
    causes = found[-1].causes
    if name == LAST:
        chosen = next((one for one in causes if remedy_of(one).step), None)
        if chosen is None:
            raise RtscopeError(
                f"no cause of run {run.id} has a change that can be undone: give one with --profile"
            )
        return chosen
    if name.isdecimal() and 1 <= int(name) <= len(causes):
        return causes[int(name) - 1]
    named = [one for one in causes if name in {one.name, f"{one.kind}:{one.name}", one.kind}]
    if not named:
        known = ", ".join(f"{one.kind}:{one.name}".rstrip(":") for one in causes[:8])
        raise RtscopeError(
            f"run {run.id} has no cause '{name[:60]}'. It has 1 to {len(causes)}: {known}"
        )
    return named[0]


def profile_for(cause: Cause) -> Path:
    """Write the profile whose only step removes a cause, and return its path. Raises RtscopeError.

    The same cause has the same file, so that an interrupted experiment continues.
    """
    step = remedy_of(cause).step
    if not step:
        raise RtscopeError(
            f"no change that can be undone addresses {cause.kind} {cause.name}: write a profile "
            "with one step (docs/reference/tune.md) and give it with --profile"
        )
    text = (
        'description = "what removes one cause of late samples, made by rtscope prove"\n\n'
        f'[[step]]\nname = "cause removed"\n{step}\n'
    )
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    path = platformdirs.user_cache_path("rtscope") / "prove" / f"prove-{digest}.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(text.encode(), path, "the profile", overwrite=True)
    return path


def outlier_limit_ns(run: Run) -> int:
    """Above this a sample counts as an outlier, if the user does not say: the run's p99, to two
    digits. Raises RtscopeError."""
    p99 = metrics_of_run(run).quantile(_PERCENT).value_ns
    if p99 is None:
        raise RtscopeError(
            f"run {run.id} has too few samples for a p99: give --above, such as 50us"
        )
    unit: int = 10 ** max(len(str(p99)) - 2, 0)
    return max(round(p99 / unit), 1) * unit


def plan_content(run: Run, profile: str, cpus: str | None, **given: Any) -> dict[str, Any]:  # noqa: ANN401
    """The content of the plan that measures like a run, with the change and without it."""
    asked = run.asked
    table = {
        "probes": [run.probe],
        "loads": [run.load if run.load != "unknown" else "idle"],
        "intervals": [asked.interval_ns] if asked.interval_ns else [],
        "policies": [asked.policy] if asked.policy else [],
        "priority": asked.priority or None,
        "cpus": asked.cpus,
        "options": _options(run),
        "duration": given["duration_ns"],
        "tune": {"profile": profile, "cpus": cpus},
    }
    return {
        "title": "with and without a cause",
        "measure": [table],
        "seed": 1,
        "repetitions": given["rounds"],
        "targets": [given["target"]],
    }


def _options(run: Run) -> dict[str, str]:
    """The probe's own options as a plan takes them, which the run's command has."""
    words = (word.partition("--option=")[2] for word in run.asked.command)
    return dict(word.split("=", 1) for word in words if "=" in word)


def cpus_of(cause: Cause, run: Run) -> str:
    """The CPUs that a change keeps the cause off: those of the measuring threads, else its own."""
    pinned = sorted({thread.cpu for thread in run.threads if thread.cpu is not None})
    return format_cpu_list(sorted(set(cause.cpus) & set(pinned)) or cause.cpus or pinned)


def proof_of(cause: Cause, runs: Sequence[Run], above_ns: int) -> Proof:
    """What the runs with and without the change say."""
    ended = [run for run in runs if run.tuning and run.status in FINAL]
    on = [run for run in ended if run.tuning and run.tuning.step]
    off = [run for run in ended if run.tuning and not run.tuning.step]
    blocks = [[_block(run, above_ns) for run in some] for some in (on, off)]
    found = rate_ratio(*blocks)
    tuning = on[0].tuning if on else None
    held = all(run.tuning and run.tuning.held for run in on)
    problems = dict.fromkeys(
        f"{change.what}: {change.why or change.state}"
        for run in on
        for change in (run.tuning.exceptions if run.tuning else [])
    )
    return Proof(
        kind=cause.kind,
        name=cause.name,
        profile=tuning.profile if tuning else "",
        rules=tuning.rules if tuning else [],
        above_ns=above_ns,
        rounds=min(len(on), len(off)),
        off=_arm(blocks[1]),
        on=_arm(blocks[0]),
        verdict=_verdict(found.low, found.high, blocks, held=held and bool(on)),
        ratio=found.ratio,
        low=found.low,
        high=found.high,
        dispersion=found.dispersion,
        runs=[run.id for run in ended],
        problems=list(problems),
    )


def _verdict(
    low: float | None, high: float | None, blocks: Sequence[Sequence[Block]], *, held: bool
) -> Verdict:
    if not held:
        return "not-changed"
    if not any(block.events for some in blocks for block in some):
        return "no-outliers"
    if high is not None and high < 1:
        return "fewer"
    return "more" if low is not None and low > 1 else "undecided"


def _block(run: Run, above_ns: int) -> Block:
    return Block(
        sum(_above(thread, above_ns) for thread in run.threads),
        sum(thread.count for thread in run.threads),
    )


def _above(thread: Thread, above_ns: int) -> int:
    _, last, count = as_arrays(thread.histogram)
    return int(count[last > above_ns].sum()) + thread.histogram.beyond_count


def _arm(blocks: Sequence[Block]) -> Arm:
    return Arm(sum(one.events for one in blocks), sum(one.trials for one in blocks))
