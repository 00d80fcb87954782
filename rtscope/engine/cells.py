# SPDX-License-Identifier: GPL-2.0-only
"""The cells of a plan: one request for each combination, its name, its limits, and the order."""

import hashlib
import itertools
import random
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from rtscope.engine.planfile import PlanFile
from rtscope.engine.tuned import measurable
from rtscope.model.errors import RtscopeError
from rtscope.model.plan import BudgetRule, Measure, OptionValue, PlacementSeries, Plan, PlanTime
from rtscope.model.request import Request
from rtscope.model.tomlfile import Place
from rtscope.model.tuning import TuningStep
from rtscope.model.units import format_duration_ns
from rtscope.tuning.profile import read_profile, steps_of

MOST_CELLS: Final = 100_000
SHORTEST_NS: Final = 1_000_000
"""shortest duration after scaling"""


class Cell(msgspec.Struct, frozen=True):
    """One measurement of a plan. `name` is unique within the plan."""

    name: str
    target: str
    work: Request | PlacementSeries
    table: int
    """index of its [[measure]] or [[placement]] table"""
    place: int
    """position in the plan as written"""
    scale: float = 1.0
    seeds: int | None = None
    """number of seeds to measure it with, side by side"""
    explain: int = 0
    """number of worst samples to explain"""
    watch: int = 0
    """number of late samples to keep, each as it happens; 0: only the worst, at the end"""
    until: list[str] = []
    """limits on percentiles that end it once they are proven, or one is hopeless"""

    @property
    def request(self) -> Request:
        """The request of a cell of a [[measure]] table."""
        assert isinstance(self.work, Request)
        return self.work

    @property
    def where(self) -> Place:
        """Its table in the plan file."""
        return ("placement" if isinstance(self.work, PlacementSeries) else "measure", self.table)


class _Point(msgspec.Struct, frozen=True):
    """One combination of a [[measure]] table."""

    target: str
    probe: str
    load: str
    interval_ns: int | None
    policy: str | None
    options: dict[str, OptionValue]
    tuning: TuningStep | None


def cells_of(file: PlanFile, scale: float = 1.0) -> list[Cell]:
    """Return the cells in the order of measurement: one round for each repetition.

    `scale` multiplies samples and durations. Raises RtscopeError where two cells have the
    same name, there are too many cells, or a budget applies to no cell.
    """
    plan = file.plan
    points = [
        (table, point) for table in range(len(plan.measure)) for point in _points(file, table)
    ]
    _check_budgets(file, points)
    series = list(itertools.product(range(len(plan.placement)), plan.targets))
    count = len(points) + len(series)
    rounds = []
    for repetition in range(1, plan.repetitions + 1):
        first = count * repetition
        cells = [
            _cell(file, table, point, repetition, first + number, scale)
            for number, (table, point) in enumerate(points)
        ]
        cells += [
            _placement_cell(file, table, target, repetition, first + len(points) + number, scale)
            for number, (table, target) in enumerate(series)
        ]
        if plan.order == "shuffled":
            random.Random(f"{plan.seed} {repetition}").shuffle(cells)  # noqa: S311 - no secret
        rounds.append(cells)
    names: dict[str, Cell] = {}
    for cell in rounds[0]:
        if cell.name in names:
            raise file.refusal(
                max(cell.where, names[cell.name].where),
                f"two cells have the name '{cell.name}': remove one, or give their tables "
                "different names",
            )
        names[cell.name] = cell
    _check_samples_files(file, rounds)
    return [cell for cells in rounds for cell in cells]


def _check_samples_files(file: PlanFile, rounds: Sequence[Sequence[Cell]]) -> None:
    """Refuse several cells that would write their samples to one file. Raises RtscopeError."""
    tables = [cell.table for cells in rounds for cell in cells if _samples_file(cell)]
    for table in set(tables):
        if tables.count(table) > 1:
            raise file.refusal(
                ("measure", table, "samples_file"),
                "the file holds the samples of one run, and this table makes several",
            )


def _samples_file(cell: Cell) -> str | None:
    return cell.work.samples_file if isinstance(cell.work, Request) else None


def plan_hash(cells: list[Cell]) -> str:
    """Return a hash (ten hexadecimal digits) of the cells and their budgets in any order."""
    encoder = msgspec.json.Encoder(enc_hook=int, order="deterministic")
    content = sorted(encoder.encode(_content(cell)) for cell in cells)
    return hashlib.sha256(b"\n".join(content)).hexdigest()[:10]


def _content(cell: Cell) -> Cell:
    """Return the cell without its position in the file."""
    work = cell.work
    if isinstance(work, Request):
        work = msgspec.structs.replace(work, command=[], budget=sorted(work.budget))
    return msgspec.structs.replace(cell, table=0, place=0, work=work)


def measure_command(
    request: Request,
    target: str = "local",
    seeds: int | None = None,
    explain: int = 0,
    until: Sequence[str] = (),
) -> list[str]:
    """Return the rtscope command that repeats one cell by itself."""
    tuning = request.tuning
    times = {"--interval": request.interval_ns, "--duration": request.duration_ns}
    times |= {"--break": request.threshold_ns, "--watchdog": request.watchdog_ns}
    times |= {"--above": request.above_ns}
    options: dict[str, str | int | None] = {
        "--target": None if target == "local" else target,
        "--load": None if request.load == "idle" else request.load,
        "--samples": request.samples,
        "--policy": request.policy,
        "--priority": request.priority,
        "--measure-cpus" if tuning else "--cpus": request.cpus,
        "--worst": request.worst,
        "--exceedances": request.exceedances,
        "--idle-states": request.idle_states,
        "--seed": request.seed,
        "--seeds": seeds,
        "--explain": explain or None,
        "--explain-deep": request.explain_deep,
        "--samples-file": request.samples_file,
    }
    options |= {name: format_duration_ns(ns) for name, ns in times.items() if ns is not None}
    command = ["measure", request.probe]
    if tuning:
        command = ["tune", "measure", tuning.profile]
        options |= {"--probe": request.probe, "--cpus": tuning.cpus or None}
        options |= {"--steps": tuning.step, "--rounds": 1}
    words = [f"{name}={value}" for name, value in options.items() if value is not None]
    words += [f"--until={limit}" for limit in until]
    words += [f"--option={name}={value}" for name, value in request.options.items()]
    words += [f"--budget={limit}" for limit in request.budget]
    return ["rtscope", *command, *words]


def placement_command(series: PlacementSeries, target: str, seeds: int | None = None) -> list[str]:
    """Return the rtscope command that repeats one series by itself."""
    options: dict[str, str | int | None] = {
        "--target": None if target == "local" else target,
        "--cpus": series.cpus,
        "--threads": series.threads,
        "--load-cpus": series.load_cpus,
        "--table": series.table,
        "--parallel": series.parallel,
        "--rounds": series.rounds,
        "--seeds": seeds,
    }
    words = [f"{name}={value}" for name, value in options.items() if value is not None]
    words += [f"--load={load}" for load in series.loads]
    words += [f"--form={form}" for form in series.forms]
    if not series.program:
        words.append(f"--duration={format_duration_ns(series.duration)}")
    return ["rtscope", series.kind, *words, *(["--", *series.program] if series.program else [])]


def _points(file: PlanFile, table: int) -> Iterator[_Point]:
    measure = file.plan.measure[table]
    options = {
        name: value if isinstance(value, list) else [value]
        for name, value in measure.options.items()
    }
    axes: list[Sequence[Any]] = [
        file.plan.targets,
        measure.probes,
        measure.loads,
        measure.intervals or [None],
        measure.policies or [None],
        _steps(file, table),
        *options.values(),
    ]
    count = file.plan.repetitions
    for axis in axes:
        count *= len(axis)
    if count > MOST_CELLS:
        raise file.refusal(
            ("measure", table), f"this makes {count:,} cells; a plan has at most {MOST_CELLS:,}"
        )
    for target, probe, load, interval, policy, tuning, *values in itertools.product(*axes):
        yield _Point(
            target,
            probe,
            load,
            None if interval is None else int(interval),
            policy,
            dict(zip(options, values, strict=True)),
            tuning,
        )


def unmeasured_steps(file: PlanFile) -> list[str]:
    """Return a sentence for each selected step of a profile that cannot be measured.

    Raises RtscopeError as cells_of does.
    """
    excluded = {}
    for table, measure in enumerate(file.plan.measure):
        steps = _profile_steps(file, table)
        included = measurable(steps)
        named = measure.tune.steps if measure.tune else []
        for step in steps:
            if step not in included and (not named or step.step in named):
                excluded[step.profile, step.name] = (
                    f"the step '{step.name}' of {step.profile} is not measured: its rules take "
                    "effect at the next boot"
                )
    return list(excluded.values())


def _steps(file: PlanFile, table: int) -> list[TuningStep] | list[None]:
    steps = _profile_steps(file, table)
    tune = file.plan.measure[table].tune
    if tune is None:
        return [None]
    unknown = [number for number in tune.steps if number >= len(steps)]
    if unknown:
        raise file.refusal(
            ("measure", table, "tune"),
            f"the profile {steps[0].profile} has no step {unknown[0]}: they are "
            + ", ".join(f"{step.step} ({step.name})" for step in steps),
        )
    return [step for step in measurable(steps) if not tune.steps or step.step in tune.steps]


def _profile_steps(file: PlanFile, table: int) -> list[TuningStep]:
    tune = file.plan.measure[table].tune
    if tune is None:
        return []
    name = tune.profile
    if file.path and ("/" in name or name.endswith(".toml")):
        name = str(file.path.parent / name)
    try:
        return steps_of(read_profile(name), tune.cpus)
    except RtscopeError as error:
        raise file.refusal(("measure", table, "tune"), f"{error}") from None


def _cell(
    file: PlanFile, table: int, point: _Point, repetition: int, place: int, scale: float
) -> Cell:
    plan, measure = file.plan, file.plan.measure[table]
    limits = [
        str(limit) for rule in plan.budget if _meets(rule, measure, point) for limit in rule.limits
    ]
    request = Request(
        probe=point.probe,
        load=point.load,
        interval_ns=point.interval_ns,
        duration_ns=_scaled(measure.duration, scale),
        default_duration_ns=_scaled(measure.default_duration, scale),
        samples=None if measure.samples is None else max(1, round(measure.samples * scale)),
        policy=point.policy,
        priority=measure.priority,
        cpus=measure.cpus,
        threshold_ns=None if measure.threshold is None else int(measure.threshold),
        seed=_seed(plan, repetition),
        worst=measure.worst,
        exceedances=measure.exceedances,
        samples_file=measure.samples_file,
        watchdog_ns=None if measure.watchdog is None else int(measure.watchdog),
        idle_states=measure.idle_states,
        above_ns=None if measure.above is None else int(measure.above),
        explain_deep=measure.explain_deep,
        explain_stream=measure.watch > 0,
        league=measure.watch > 0,
        options={name: str(value) for name, value in point.options.items()},
        tuning=point.tuning and msgspec.structs.replace(point.tuning, round=repetition),
        budget=list(dict.fromkeys([*limits, *map(str, measure.until)])),
    )
    until = list(map(str, measure.until))
    command = measure_command(request, point.target, plan.seeds, measure.explain, until)
    request = msgspec.structs.replace(request, command=command)
    name = _name(file, measure, point, repetition)
    return Cell(
        name,
        point.target,
        request,
        table,
        place,
        scale,
        seeds=plan.seeds,
        explain=measure.explain,
        watch=measure.watch,
        until=until,
    )


def _placement_cell(
    file: PlanFile, table: int, target: str, repetition: int, place: int, scale: float
) -> Cell:
    series = file.plan.placement[table]
    series = msgspec.structs.replace(
        series, duration=PlanTime(_scaled(series.duration, scale) or series.duration)
    )
    name = f"{series.name}: " if series.name else ""
    name += ", ".join([series.kind, *_places(file, target, repetition)])
    return Cell(name, target, series, table, place, scale, file.plan.seeds)


def _scaled(duration_ns: int | None, scale: float) -> int | None:
    if duration_ns is None:
        return None
    return max(min(duration_ns, SHORTEST_NS), round(duration_ns * scale))


def _seed(plan: Plan, repetition: int) -> int | None:
    """Return the seed of a repetition; None for the target's own seed."""
    if plan.seed is None and repetition == 1:
        return None
    return (1 if plan.seed is None else plan.seed) + repetition - 1


def _name(file: PlanFile, measure: Measure, point: _Point, repetition: int) -> str:
    parts = [point.probe, f"load {point.load}"]
    if point.interval_ns is not None:
        parts.append(f"every {format_duration_ns(point.interval_ns)}")
    if len(measure.policies) > 1:
        parts.append(str(point.policy))
    parts += [
        f"{name} {point.options[name]}"
        for name, value in sorted(measure.options.items())
        if isinstance(value, list)
    ]
    parts += _places(file, point.target, repetition)
    step = point.tuning.name if point.tuning else ""
    return "".join(f"{name}: " for name in (measure.name, step) if name) + ", ".join(parts)


def _places(file: PlanFile, target: str, repetition: int) -> Iterator[str]:
    """Return the parts of a cell's name for its target and repetition."""
    if len(file.plan.targets) > 1:
        yield f"on {target}"
    if file.plan.repetitions > 1:
        yield f"repetition {repetition}"


def _meets(rule: BudgetRule, measure: Measure, point: _Point) -> bool:
    return (
        (not rule.names or measure.name in rule.names)
        and (not rule.probes or point.probe in rule.probes)
        and (not rule.loads or point.load in rule.loads)
        and (not rule.intervals or point.interval_ns in rule.intervals)
        and (not rule.policies or point.policy in rule.policies)
        and (not rule.targets or point.target in rule.targets)
        and all(point.options.get(name) == value for name, value in rule.options.items())
    )


def _check_budgets(file: PlanFile, points: list[tuple[int, _Point]]) -> None:
    """Refuse a condition that no cell meets: the budget would pass without a check."""
    plan = file.plan

    def is_met(rule: BudgetRule) -> bool:
        return any(_meets(rule, plan.measure[table], point) for table, point in points)

    for number, rule in enumerate(plan.budget):
        where: Place = ("budget", number)
        for key in ("names", "probes", "loads", "intervals", "policies", "targets"):
            for value in getattr(rule, key):
                if not is_met(msgspec.structs.replace(rule, **{key: [value]})):
                    shown = format_duration_ns(value) if isinstance(value, int) else value
                    raise file.refusal(
                        (*where, key),
                        f"no cell of the plan has '{shown}' and meets this budget's other "
                        "conditions",
                    )
        if not is_met(rule):
            raise file.refusal(
                (*where, "options"), "no cell of the plan has these, so none is judged"
            )
