"""Documents of commands about schedules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from twill.artifacts.base import Part
from twill.artifacts.bound import ProgramBound
from twill.artifacts.program import Barrier
from twill.artifacts.proof import Level, LowerBound, OnGpu, Promise
from twill.artifacts.schedule import Rules
from twill.base import errors
from twill.bounds import ResourceArgument
from twill.bounds.analysis import Recurrence
from twill.bounds.configurations import ConfigurationBound
from twill.explain import Reproof
from twill.explain import Role as FamilyRole
from twill.explain.levers import Lever
from twill.explain.programs import ProgramLever
from twill.polish.answer import Other
from twill.schemas.documents import COUNTS, STRINGS
from twill.schemas.models import document, many, named, part
from twill.show.differences import Difference
from twill.show.placed import Position
from twill.show.roles import Role
from twill.sim.analysis.profile import Critical
from twill.sim.checks import Checks
from twill.sim.promise import Kept
from twill.studies.annotated import Annotated
from twill.studies.suggest import Suggestion
from twill.verification import Violation
from twill.verification.proof import Trusted

# -- answers of the search ------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Refused(errors.Refusal):
    """The reason why there is no answer."""

    message: str


_GROUP = part(
    "GroupSummary",
    "A warp group; registers per thread, allocated and live at most.",
    name=str,
    warps=int,
    registers=int | None,
    registers_live=int | None,
)
_FIGURES = part(
    "StaticFigures",
    "The main figures of a schedule; times in its unit where a name does not say cycles.",
    name=str,
    machine=str,
    rules=Rules,
    time=str,
    interval_units=int | None,
    interval_bounds=tuple[int, int] | None,
    interval_cycles=float | None,
    length=int | None,
    stages=int | None,
    groups=many(_GROUP),
    pipeline_depths=COUNTS,
    hiding_depths=COUNTS,
    start=COUNTS,
    assignment=dict[str, str],
    proved=dict[Level, bool],
    levels=dict[Level, int],
    bound=LowerBound | None,
)
_SECONDS = part(
    "SearchSeconds",
    "Seconds of a search; absent where it ended earlier.",
    interval=(float | None, None),
    levels=(float | None, None),
    total=(float | None, None),
)
_DIFFERENCES = part(
    "Differences",
    "Differences of two schedules.",
    equal=bool,
    first=str,
    second=str,
    groups=dict[str, str],
    turned=int,
    moved=STRINGS,
    differences=many(Difference),
)
_OTHER = part(
    "OtherProgram", "The best program of another origin, and its interval in cycles.", Other
)
_TRIAL = part(
    "Trial",
    "A program that was compiled: cycles on the simulated SM, of its machine code, on the GPU.",
    promised_cycles=float,
    cycles=float | None,
    on_gpu=(OnGpu | None, None),
    faults=STRINGS,
)
_POLISHED = part(
    "PolishedFigures",
    "Figures of a polished program; cycles are those of the simulated SM.",
    name=str,
    machine=str,
    given_cycles=float | None,
    objection=str,
    origin=str,
    others=(many(_OTHER), ()),
    promise=Promise,
    changes=_DIFFERENCES,
    trials=(many(_TRIAL), ()),
)
_SUGGESTION = part("Suggested", "A change that gives the loop a schedule.", Suggestion)
_SEARCHED = (
    document(
        "refusal",
        "twill schedule",
        refused=Refused,
        suggestions=(many(_SUGGESTION), ()),
        tried=(STRINGS, ()),
    ),
    document(
        "schedule-summary",
        "twill schedule",
        _FIGURES,
        cached=(bool | None, None),
        seconds=(_SECONDS | None, None),
        static=(_FIGURES | None, None),
        polished=(_POLISHED | None, None),
    ),
    document("polished", "twill polish", _POLISHED),
)

# -- views of a schedule --------------------------------------------------------------------------

_SLOT = part(
    "UnitSlot",
    "An operation on a unit, from one row of the interval to another.",
    operation=str,
    begin=float,
    end=float,
    count=float,
)
_SLOTS = part("UnitSlots", "The work of a unit in an interval.", capacity=float, slots=many(_SLOT))
_INITIAL = part(
    "Initial", "The first content of a value.", name=str, value=Literal["zeros", "initial"]
)
_STEPS = tuple[dict[str, Any], ...]
_ROUND = part(
    "ProgramRound",
    "A round of a group's program; the keys of a step depend on its ``do``.",
    round=int | str,
    steps=_STEPS,
)
_STEADY = part(
    "SteadyState",
    "The rounds between prologue and epilogue.",
    first=int,
    end=int | str,
    steps=_STEPS,
)
_PROGRAM = part(
    "GroupProgram",
    "The program of a warp group.",
    group=str,
    warps=int,
    registers=int | None,
    initial=many(_INITIAL),
    prologue=many(_ROUND),
    steady_state=_STEADY | None,
    epilogue=many(_ROUND),
)
_SHOWN = (
    document(
        "schedule-table",
        "twill show",
        _FIGURES,
        letters=dict[str, str],
        roles=dict[str, str],
        units=(named(_SLOTS) | None, None),
    ),
    document("schedule-roles", "twill show --as roles", roles=many(Role)),
    document("schedule-positions", "twill show --as why", positions=many(Position)),
    document("schedule-differences", "twill diff", _DIFFERENCES),
    document(
        "program",
        "twill show --as json",
        name=str,
        machine=str,
        interval=int | None,
        time=str,
        cycles_per_unit=float,
        iterations=int | None,
        least_iterations=int,
        barriers=many(Barrier),
        initial=many(_INITIAL),
        groups=many(_PROGRAM),
    ),
    document("annotation", "twill annotate", Annotated),
)

# -- judgements -----------------------------------------------------------------------------------

_KEPT = part(
    "Kept",
    "A promised interval and that of a run, in cycles; null without a steady state.",
    Kept,
)
_FAMILY = part(
    "Family", "A constraint family that refutes the interval below.", FamilyRole, meaning=str
)
_JUDGED = (
    document(
        "verdict",
        "twill verify",
        valid=bool,
        rules=STRINGS,
        violations=many(Violation),
        trusted=many(Trusted),
        within=STRINGS,
        unchecked=STRINGS,
        rests_on=STRINGS,
        reproved=many(Reproof) | None,
        runs=many(_KEPT) | None,
        checks=many(Checks) | None,
    ),
    document(
        "explanation",
        "twill explain",
        interval=int,
        interval_bounds=tuple[int, int],
        unit=str,
        bound=LowerBound,
        resource=ResourceArgument | None,
        configurations=ConfigurationBound | None,
        recurrence=Recurrence | None,
        families=many(_FAMILY),
        levers=many(Lever) | None,
    ),
    document(
        "program-explanation",
        "twill explain",
        interval_cycles=float,
        critical=Critical | None,
        bounds=many(ProgramBound),
        levers=many(ProgramLever) | None,
    ),
)
DOCUMENTS: dict[str, type[Part]] = dict((*_SEARCHED, *_SHOWN, *_JUDGED))
