# SPDX-License-Identifier: GPL-2.0-only
"""A plan: probes × loads × intervals × policies × targets (docs/reference/plans.md)."""

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta


class PlanTime(int):
    """Nanoseconds, written with a unit in the plan: "200us"."""


class PlanLimit(str):
    """A limit that parse_limit accepts: "max<50us"."""

    __slots__ = ()


AlgorithmForm = Literal["scalar", "vector"]
OptionValue = str | int | float
OneLine = Annotated[str, Meta(pattern=r"^[^\x00-\x1f\x7f]*$", max_length=200)]
SomeText = Annotated[str, Meta(pattern=r"^[^\x00]+$", max_length=4096)]
OptionName = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9-]*$", max_length=40)]


IdleStatesText = Annotated[str, Meta(pattern=r"^(default|off|limit:[0-9.]+[a-z]*)$", max_length=40)]
"""off, default or limit:TIME, as --idle-states; the agent reads the time"""


THREADS: Final = "{n}"
"""in the words of a series's program, the place of the number of threads"""


class Tune(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A tuning profile whose steps are a dimension of the matrix."""

    profile: SomeText
    cpus: SomeText | None = None
    """CPUs that the profile isolates; N is the last CPU of the system"""
    steps: list[Annotated[int, Meta(ge=0)]] = []
    """0 is the system as booted; empty: all"""


class Measure(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One [[measure]] table: every combination of its lists is a cell.

    Raises ValueError where it says neither a duration nor a number of samples.
    """

    probes: Annotated[list[SomeText], Meta(min_length=1)]
    name: OneLine = ""
    """prefix that distinguishes its cells from those of other tables"""
    loads: Annotated[list[SomeText], Meta(min_length=1)] = msgspec.field(
        default_factory=lambda: ["idle"]
    )
    intervals: list[PlanTime] = []
    """empty: the probe's default"""
    policies: list[SomeText] = []
    """empty: the probe's default"""
    priority: int | None = None
    cpus: SomeText | None = None
    duration: PlanTime | None = None
    default_duration: PlanTime | None = None
    """duration of the probes that have no end of their own"""
    samples: Annotated[int, Meta(ge=1, le=2**63 - 1)] | None = None
    samples_file: SomeText | None = None
    """file for every sample; for a table of one cell"""
    explain: Annotated[int, Meta(ge=0)] = 0
    """number of worst samples to explain"""
    above: PlanTime | None = None
    """explain only samples of that and more"""
    explain_deep: Annotated[str, Meta(pattern=r"^[a-z]*$", max_length=40)] | None = None
    """tracer that records functions in addition"""
    watch: Annotated[int, Meta(ge=0, le=10_000)] = 0
    """keep each late sample as it happens, at most so many; 0: explain at the end"""
    until: list[PlanLimit] = []
    """limits on percentiles: a measurement ends once they are proven, or one is hopeless"""
    threshold: PlanTime | None = msgspec.field(default=None, name="break")
    worst: int | None = None
    exceedances: int | None = None
    watchdog: PlanTime | None = None
    idle_states: IdleStatesText | None = None
    """None: the probe's default"""
    options: dict[OptionName, OptionValue | list[OptionValue]] = {}
    """options of the probes; a list is one more dimension of the matrix"""
    tune: Tune | None = None

    def __post_init__(self) -> None:
        ends = (self.duration, self.samples, self.default_duration)
        if all(end is None for end in ends) and not self.until:
            raise ValueError(
                "when a measurement ends is missing: give duration or samples, such as "
                'duration = "30s" or samples = 100_000'
            )
        if any(value == [] for value in self.options.values()):
            raise ValueError("an option's list is empty: give it a value, or leave it out")


class PlacementSeries(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One [[placement]] table: work on an increasing number of CPUs, or under each load.

    Raises ValueError for keys that exclude each other.
    """

    kind: Literal["scale", "interfere"]
    name: OneLine = ""
    """prefix of the names of its cells"""
    program: list[SomeText] = []
    """the user's command, with {n} for the number of threads; empty: the reference algorithm"""
    cpus: SomeText | None = None
    """CPUs to measure; None: all for scale, the last for interfere"""
    threads: SomeText | None = None
    """scale: list of numbers of threads; None: from 1 to the number of CPUs"""
    loads: list[SomeText] = []
    """interfere: loads; empty: each kind of load alone"""
    load_cpus: SomeText | None = None
    """interfere: CPUs of the loads; None: all that are not measured"""
    forms: list[AlgorithmForm] = []
    """of the reference algorithm; empty: both"""
    table: SomeText | None = None
    """size of the algorithm's look-up table"""
    parallel: int | None = None
    """per cent of the algorithm's work"""
    duration: PlanTime = PlanTime(500_000_000)
    """of each measurement of the algorithm"""
    rounds: Annotated[int, Meta(ge=2, le=1000)] = 5

    def __post_init__(self) -> None:
        of_interfere = {"loads": self.loads, "load_cpus": self.load_cpus}
        of_scale = {"threads": self.threads}
        for key, value in (of_interfere if self.kind == "scale" else of_scale).items():
            if value:
                raise ValueError(f"{key} is not a key of {self.kind}")
        if self.program:
            given = {
                "form": bool(self.forms),
                "table": self.table is not None,
                "parallel": self.parallel is not None,
            }
            for key, is_given in given.items():
                if is_given:
                    raise ValueError(
                        f"{key} is of the reference algorithm: leave it out with a program"
                    )
        if self.program and self.kind == "scale" and not any(THREADS in w for w in self.program):
            raise ValueError(
                f"the program does not say how many threads to use: write {THREADS} where their "
                f"number goes, such as {self.program[0]} --threads {THREADS}"
            )
        if "idle" in self.loads:
            raise ValueError("load idle is always measured: the others are compared with it")


class BudgetRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One [[budget]] table: limits for the cells that meet all of its conditions."""

    limits: Annotated[list[PlanLimit], Meta(min_length=1)]
    names: list[str] = []
    """of [[measure]] tables; each condition that is empty is met by every cell"""
    probes: list[str] = []
    loads: list[str] = []
    intervals: list[PlanTime] = []
    policies: list[SomeText] = []
    targets: list[str] = []
    options: dict[str, OptionValue] = {}


class Plan(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A whole plan."""

    title: Annotated[OneLine, Meta(min_length=1)]
    measure: Annotated[list[Measure], Meta(max_length=1000)] = []
    placement: Annotated[list[PlacementSeries], Meta(max_length=1000)] = []
    description: str = ""
    reference: OneLine = ""
    """name of the published tables that the report compares with the runs"""
    order: Literal["shuffled", "as written"] = "shuffled"
    seed: Annotated[int, Meta(ge=0, le=2**32 - 1)] | None = 1
    """of the order, and of the loads and phases: repetition r uses seed + r - 1; None: that of
    each target"""
    seeds: Annotated[int, Meta(ge=2, le=1000)] | None = None
    """number of seeds that the lab measures each cell with, for one run that holds all samples"""
    repetitions: Annotated[int, Meta(ge=1, le=10_000)] = 1
    targets: Annotated[list[SomeText], Meta(min_length=1)] = msgspec.field(
        default_factory=lambda: ["local"]
    )
    budget: list[BudgetRule] = []

    def __post_init__(self) -> None:
        if not (self.measure or self.placement):
            raise ValueError("the plan measures nothing: add a table [[measure]] or [[placement]]")
