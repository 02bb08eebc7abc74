"""Documents of commands about loops, machines, kernels and studies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from twill.artifacts.base import Part
from twill.artifacts.loop import Invariant, Origin, Tile
from twill.artifacts.machine import Machine
from twill.artifacts.sweep import JournalRow, Sweep
from twill.compiled.findings import Compiled
from twill.compiled.operations import Calibration
from twill.decorated.ahead import Diagnosis
from twill.schemas.models import document, many, named, part
from twill.sim.machine_code import Prediction
from twill.studies.audit import Finding
from twill.studies.installation import Installed
from twill.studies.judged import Evidence
from twill.studies.kernels import Measured
from twill.studies.reproduce.claims import Claim
from twill.studies.sweep.answers import Answer

STRINGS, COUNTS = tuple[str, ...], dict[str, int]


@dataclass(frozen=True, kw_only=True)
class AuditFinding(Finding):
    """A fault of a machine file, with the check that found it."""

    check: str


# -- loops ----------------------------------------------------------------------------------------

_LOOP = part(
    "NamedLoop",
    "A packaged loop and the machine that it is meant for.",
    name=str,
    machine=str,
    description=str,
)
_INVARIANT = part(
    "OccupyingInvariant", "An invariant, with the memory that it occupies.", Invariant, occupies=str
)
_USE = part(
    "UnitUse", "Cycles and instances of a unit that an operation takes.", cycles=int, count=int
)
_COST = part(
    "OperationCost",
    "Costs of an operation, in cycles; the working set in registers per thread.",
    units=named(_USE),
    occupancy=int,
    issue=int,
    latency=int,
    transfer=int,
    working_set=int,
    asynchronous=bool,
    streaming=bool,
)
_COSTED = part(
    "CostedOperation",
    "An operation with its cost, and its part in recurrences.",
    name=str,
    kind=str,
    warps=int,
    location=str | None,
    operands=many(Tile),
    result=Tile | None,
    registers_per_thread=int | None,
    bytes=int,
    cost=_COST | None,
    recurrence=Literal["critical", "member"] | None,
)
_DELAY = part(
    "Delay",
    "A dependence with its delay in cycles.",
    producer=str,
    consumer=str,
    distance=int,
    delay=int,
    blocking=bool,
)
_BOUND = part(
    "Bound",
    "A bound on the interval, in cycles, with the TFLOP/s that it alone would allow.",
    limit=str,
    unit_cycles=int | None,
    capacity=int | None,
    cycles=int,
    teraflops=float | None,
    largest=bool,
)
_STEP = part("RecurrenceStep", "A dependence of a recurrence.", to=str, delay=int, distance=int)
_RECURRENCE = part(
    "Recurrent",
    "A recurrence with the bound that it sets, in cycles.",
    cycles=int,
    operations=STRINGS,
    start=str,
    steps=many(_STEP),
)
_OCCUPIED = part(
    "Occupied",
    "Room that invariants take of a memory, in `unit`.",
    used=int,
    capacity=int,
    unit=str,
)
_CHANGE = part("Change", "A count before and after.", before=int, after=int)
_PRODUCT = part(
    "Product", "A matrix product with rows, columns and depth.", name=str, shape=tuple[int, ...]
)
_LOOPS = (
    document("loop-list", "twill loop list", loops=many(_LOOP)),
    document(
        "loop-costs",
        "twill loop show",
        loop=str,
        machine=str,
        machine_hash=str,
        operations=many(_COSTED),
        unknown=STRINGS,
        dependences=many(_DELAY),
        limits=many(_BOUND) | None,
        resource_bound=int | None,
        resource_unit=str | None,
        configuration_bound=int | None,
        recurrence_bound=int | None,
        lower_bound=int | None,
        recurrences=many(_RECURRENCE),
        flops=int,
        invariants=many(_INVARIANT),
        occupied=named(_OCCUPIED),
        folded=COUNTS,
    ),
    document(
        "loop-extraction",
        "twill loop extract",
        loop=str,
        origin=Origin | None,
        operations=int,
        kinds=COUNTS,
        dependences=int,
        renamed=STRINGS,
        folded=COUNTS,
        recurrences=many(STRINGS),
        invariants=STRINGS,
    ),
    document(
        "loop-subtiles",
        "twill loop subtile",
        loop=str,
        factor=int,
        along=str,
        extent=int,
        sub_tile=int,
        operations=_CHANGE,
        dependences=_CHANGE,
        shared=STRINGS,
        copied=STRINGS,
        chained=STRINGS,
        products=many(_PRODUCT),
        invariants=STRINGS,
    ),
)

# -- machines and studies -------------------------------------------------------------------------

_MACHINE = part(
    "NamedMachine",
    "A packaged machine.",
    name=str,
    architecture=str | None,
    description=str,
    hash=str,
)
_FACTS = {
    name: (field.annotation, field)
    for name, field in Machine.model_fields.items()
    if name not in ("schema_name", "schema_version", "rules")
}
_CLAIM = part("JudgedClaim", "A claim of the paper.", Claim, passed=(bool, Field(alias="pass")))
_OUTPUT = part(
    "EmulatedOutput",
    "The largest error of an output: of the reference in float64, and in its own types.",
    output=str,
    error=float,
    error_alike=float,
    limit_alike=float,
)
_RUN = part(
    "EmulatedRun",
    "A run of a kernel on the emulator, perhaps with a delayed victim.",
    iterations=int,
    victim=str | None,
    passed=bool,
    fault=str | None,
    outputs=many(_OUTPUT),
)
_OTHERS = (
    document("machine-list", "twill machine list", machines=many(_MACHINE)),
    document("machine-facts", "twill machine show", hash=str, rules_by_kind=COUNTS, **_FACTS),
    document(
        "machine-audit",
        "twill machine check",
        machine=str,
        file=str,
        hash=str,
        loops=STRINGS,
        clean=bool,
        findings=many(AuditFinding),
    ),
    document(
        "sweep-results",
        "python -m twill.sim sweep",
        sweep=Sweep,
        answers=many(Answer),
        rows=many(JournalRow),
    ),
    document("installation", "twill doctor", parts=many(Installed)),
    document("kernel-forms", "twill doctor FILE.py", kernels=many(Diagnosis)),
    document("claims", "twill reproduce", claims=many(_CLAIM)),
    document("calibration", "twill calibrate", Calibration),
    document(
        "compiled",
        "twill emit --check",
        Compiled,
        prediction=Prediction | None,
        unpredicted=str,
        evidence=Evidence | None,
        promised_cycles=float | None,
        bound_cycles=float | None,
    ),
    document(
        "emulation",
        "twill run-kernel --emulate",
        file=str,
        host=str,
        passed=bool,
        limit=float,
        runs=many(_RUN),
    ),
    document("measured-kernel", "twill run-kernel", Measured),
)
DOCUMENTS: dict[str, type[Part]] = dict((*_LOOPS, *_OTHERS))
