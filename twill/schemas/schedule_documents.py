"""What commands about schedules print with ``--json``, as models of the schemas."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field

from twill.artifacts.base import Part
from twill.artifacts.bound import ProgramBound
from twill.artifacts.program import Barrier
from twill.artifacts.promise import Promise
from twill.artifacts.proof import Level, LowerBound
from twill.artifacts.schedule import Rules
from twill.base import errors
from twill.bounds import ResourceArgument
from twill.bounds.analysis import Recurrence
from twill.bounds.configurations import ConfigurationBound
from twill.explain import Part as FamilyPart
from twill.explain import Reproof
from twill.explain.levers import Lever
from twill.explain.programs import ProgramLever
from twill.schemas.documents import Counts, Document, Strings
from twill.show.differences import Difference
from twill.show.placed import Position
from twill.show.roles import Role
from twill.sim.analysis.profile import Critical
from twill.sim.checks import Checks
from twill.studies.annotated import Annotated
from twill.verification import Violation
from twill.verification.proof import Trusted


@dataclass(frozen=True, kw_only=True)
class Refused(errors.Refusal):
    """Why there is no answer; see `twill.base.errors.Refusal`."""

    message: str


class Suggested(Part):
    """A change that gives the loop a schedule; see `twill.studies.suggest.Suggestion`."""

    change: str
    least_cycles: float
    commands: tuple[str, ...]


class Refusal(Document):
    """``twill schedule --json`` where there is no schedule; what was `tried` and what helps."""

    schema_name: Literal["twill.refusal"] = Field(alias="schema")
    refused: Refused
    suggestions: tuple[Suggested, ...] = ()
    tried: tuple[str, ...] = ()


class GroupSummary(Part):
    """A warp group; registers per thread, allocated and live at most."""

    name: str
    warps: int
    registers: int | None
    registers_live: int | None


class StaticFigures(Part):
    """The main figures of a schedule; times in its unit where a name does not say cycles."""

    name: str
    machine: str
    rules: Rules
    time: str
    interval_units: int | None
    interval_bounds: tuple[int, int] | None
    interval_cycles: float | None
    length: int | None
    stages: int | None
    groups: tuple[GroupSummary, ...]
    pipeline_depths: Counts
    hiding_depths: Counts
    start: Counts
    assignment: dict[str, str]
    proved: dict[Level, bool]
    levels: dict[Level, int]
    bound: LowerBound | None


class Figures(StaticFigures, Document):
    """The same, as a document of its own."""


class SearchSeconds(Part):
    """Seconds of a search; absent where it did not come so far."""

    interval: float | None = None
    levels: float | None = None
    total: float | None = None


class Differences(Part):
    """In what two schedules differ."""

    equal: bool
    first: str
    second: str
    groups: dict[str, str]
    turned: int
    moved: Strings
    differences: tuple[Difference, ...]


class OtherProgram(Part):
    """The best program that was found another way, and its interval in cycles."""

    origin: str
    cycles: float


class PolishedFigures(Part):
    """What polishing brought; cycles are those of the simulated SM."""

    name: str
    machine: str
    given_cycles: float | None
    objection: str
    origin: str
    others: list[OtherProgram] = []
    promise: Promise
    changes: Differences


class ScheduleSummary(Figures):
    """``twill schedule --json``, ``twill extract --json``; the last of these without a search.

    Of the schedule that is written; `static` is the one that polishing began with.
    """

    schema_name: Literal["twill.schedule-summary"] = Field(alias="schema")
    cached: bool | None = None
    seconds: SearchSeconds | None = None
    static: StaticFigures | None = None
    polished: PolishedFigures | None = None


class UnitSlot(Part):
    """An operation on a unit, from one row of the interval to another."""

    operation: str
    begin: float
    end: float
    count: float


class UnitSlots(Part):
    """What a unit does in an interval."""

    capacity: float
    slots: tuple[UnitSlot, ...]


class ScheduleTable(Figures):
    """``twill show --json``."""

    schema_name: Literal["twill.schedule-table"] = Field(alias="schema")
    letters: dict[str, str]
    roles: dict[str, str]
    units: dict[str, UnitSlots] | None = None


class ScheduleRoles(Document):
    """``twill show --as roles --json``."""

    schema_name: Literal["twill.schedule-roles"] = Field(alias="schema")
    roles: tuple[Role, ...]


class SchedulePositions(Document):
    """``twill show --as why --json``."""

    schema_name: Literal["twill.schedule-positions"] = Field(alias="schema")
    positions: tuple[Position, ...]


class ScheduleDifferences(Differences, Document):
    """``twill diff --json``."""

    schema_name: Literal["twill.schedule-differences"] = Field(alias="schema")


class Polished(Document, PolishedFigures):
    """``twill polish --json``."""

    schema_name: Literal["twill.polished"] = Field(alias="schema")


class Initial(Part):
    """What a value begins with."""

    name: str
    value: Literal["zeros", "initial"]


class ProgramRound(Part):
    """A round of a group's program; what its steps say depends on their ``do``."""

    round: int | str
    steps: tuple[dict[str, Any], ...]


class SteadyState(Part):
    """The rounds between prologue and epilogue."""

    first: int
    end: int | str
    steps: tuple[dict[str, Any], ...]


class GroupProgram(Part):
    """What a warp group executes."""

    group: str
    warps: int
    registers: int | None
    initial: tuple[Initial, ...]
    prologue: tuple[ProgramRound, ...]
    steady_state: SteadyState | None
    epilogue: tuple[ProgramRound, ...]


class Program(Document):
    """``twill show --as json``."""

    schema_name: Literal["twill.program"] = Field(alias="schema")
    name: str
    machine: str
    interval: int | None
    time: str
    cycles_per_unit: float
    iterations: int | None
    least_iterations: int
    barriers: tuple[Barrier, ...]
    initial: tuple[Initial, ...]
    groups: tuple[GroupProgram, ...]


class Kept(Part):
    """An interval that is promised and what a run took, in cycles; null for no steady state."""

    what: str
    promised: float
    measured: float | None
    kept: bool


class Verdict(Document):
    """``twill verify --json``."""

    schema_name: Literal["twill.verdict"] = Field(alias="schema")
    valid: bool
    rules: Strings
    violations: tuple[Violation, ...]
    trusted: tuple[Trusted, ...]
    within: Strings
    unchecked: Strings
    rests_on: Strings
    reproved: tuple[Reproof, ...] | None
    runs: tuple[Kept, ...] | None
    checks: tuple[Checks, ...] | None


class Family(Part):
    """A constraint family that refutes the interval below; see `twill.explain.Role`."""

    family: str
    needed: bool | None
    what: str
    parts: tuple[FamilyPart, ...]
    meaning: str


class Explanation(Document):
    """``twill explain --json``."""

    schema_name: Literal["twill.explanation"] = Field(alias="schema")
    interval: int
    interval_bounds: tuple[int, int]
    unit: str
    bound: LowerBound
    resource: ResourceArgument | None
    configurations: ConfigurationBound | None
    recurrence: Recurrence | None
    families: tuple[Family, ...]
    levers: tuple[Lever, ...] | None


class ProgramExplanation(Document):
    """``twill explain --json`` of a program on the simulated SM."""

    schema_name: Literal["twill.program-explanation"] = Field(alias="schema")
    interval_cycles: float
    critical: Critical | None
    bounds: tuple[ProgramBound, ...]
    levers: tuple[ProgramLever, ...] | None


class Annotation(Annotated, Document):
    """``twill annotate --json``; see `twill.studies.annotated.Annotated`."""

    schema_name: Literal["twill.annotation"] = Field(alias="schema")
