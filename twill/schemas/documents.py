"""What commands about loops and machines, and studies, print with ``--json``, as models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field, create_model

from twill.artifacts.base import Part
from twill.artifacts.loop import Invariant, Origin, Tile
from twill.artifacts.machine import Machine
from twill.artifacts.sweep import JournalRow, Sweep
from twill.studies.audit import Finding
from twill.studies.installation import Installed
from twill.studies.sweep.answers import Answer

Strings = tuple[str, ...]
Counts = dict[str, int]


class Document(Part):
    """A document that a command prints."""

    schema_version: Literal[1]


# -- loops and machines ---------------------------------------------------------------------------


class NamedLoop(Part):
    """A packaged loop and the machine that it is meant for."""

    name: str
    machine: str
    description: str


class LoopList(Document):
    """``twill loop list --json``."""

    schema_name: Literal["twill.loop-list"] = Field(alias="schema")
    loops: tuple[NamedLoop, ...]


class Operation(Part):
    """An operation of a loop."""

    name: str
    kind: str
    warps: int
    location: str | None
    operands: tuple[Tile, ...]
    result: Tile | None
    registers_per_thread: int | None
    bytes: int


class OccupyingInvariant(Invariant):
    """An invariant, with what it occupies in words."""

    occupies: str


class UnitUse(Part):
    """Cycles for which an operation takes so much of a unit."""

    cycles: int
    count: int


class OperationCost(Part):
    """What an operation costs, in cycles; the working set in registers per thread."""

    units: dict[str, UnitUse]
    occupancy: int
    issue: int
    latency: int
    transfer: int
    working_set: int
    asynchronous: bool
    streaming: bool


class CostedOperation(Operation):
    """An operation with its cost, and how it takes part in recurrences."""

    cost: OperationCost | None
    recurrence: Literal["critical", "member"] | None


class Delay(Part):
    """A dependence with its delay in cycles."""

    producer: str
    consumer: str
    distance: int
    delay: int
    blocking: bool


class Bound(Part):
    """A bound on the interval, in cycles, with the TFLOP/s that it alone would allow."""

    limit: str
    unit_cycles: int | None
    capacity: int | None
    cycles: int
    teraflops: float | None
    largest: bool


class RecurrenceStep(Part):
    """A dependence of a recurrence."""

    to: str
    delay: int
    distance: int


class Recurrent(Part):
    """A recurrence with the bound that it sets, in cycles."""

    cycles: int
    operations: Strings
    start: str
    steps: tuple[RecurrenceStep, ...]


class Occupied(Part):
    """What invariants occupy of a memory, in `unit`."""

    used: int
    capacity: int
    unit: str


class LoopCosts(Document):
    """``twill loop show --json`` with a machine; bounds in cycles."""

    schema_name: Literal["twill.loop-costs"] = Field(alias="schema")
    loop: str
    machine: str
    machine_hash: str
    operations: tuple[CostedOperation, ...]
    unknown: Strings
    dependences: tuple[Delay, ...]
    limits: tuple[Bound, ...] | None
    resource_bound: int | None
    resource_unit: str | None
    configuration_bound: int | None
    recurrence_bound: int | None
    lower_bound: int | None
    recurrences: tuple[Recurrent, ...]
    flops: int
    invariants: tuple[OccupyingInvariant, ...]
    occupied: dict[str, Occupied]
    folded: Counts


class LoopExtraction(Document):
    """``twill loop extract --json``."""

    schema_name: Literal["twill.loop-extraction"] = Field(alias="schema")
    loop: str
    origin: Origin | None
    operations: int
    kinds: Counts
    dependences: int
    renamed: Strings
    folded: Counts
    recurrences: tuple[Strings, ...]
    invariants: Strings


class Change(Part):
    """How many there were, and are."""

    before: int
    after: int


class Product(Part):
    """A matrix product with rows, columns and depth."""

    name: str
    shape: tuple[int, ...]


class LoopSubtiles(Document):
    """``twill loop subtile --json``."""

    schema_name: Literal["twill.loop-subtiles"] = Field(alias="schema")
    loop: str
    factor: int
    along: str
    extent: int
    sub_tile: int
    operations: Change
    dependences: Change
    shared: Strings
    copied: Strings
    chained: Strings
    products: tuple[Product, ...]
    invariants: Strings


class NamedMachine(Part):
    """A packaged machine."""

    name: str
    architecture: str | None
    description: str
    hash: str


class MachineList(Document):
    """``twill machine list --json``."""

    schema_name: Literal["twill.machine-list"] = Field(alias="schema")
    machines: tuple[NamedMachine, ...]


_FACTS: dict[str, Any] = {
    "schema_name": (Literal["twill.machine-facts"], Field(alias="schema")),
    "hash": (str, ...),
    "rules_by_kind": (Counts, ...),
    **{
        name: (field.annotation, field)
        for name, field in Machine.model_fields.items()
        if name not in ("schema_name", "schema_version", "rules")
    },
}
MachineFacts = create_model(
    "MachineFacts",
    __base__=Document,
    __doc__="``twill machine show --json``: the machine file, its rules counted by kind.",
    **_FACTS,
)


@dataclass(frozen=True, kw_only=True)
class AuditFinding(Finding):
    """Something to mend in a machine file; see `twill.studies.audit.Finding`."""

    check: str


class MachineAudit(Document):
    """``twill machine check --json``."""

    schema_name: Literal["twill.machine-audit"] = Field(alias="schema")
    machine: str
    file: str
    hash: str
    loops: Strings
    clean: bool
    findings: tuple[AuditFinding, ...]


# -- studies --------------------------------------------------------------------------------------


class SweepResults(Document):
    """``python -m twill.sim sweep --json``."""

    schema_name: Literal["twill.sweep-results"] = Field(alias="schema")
    sweep: Sweep
    answers: tuple[Answer, ...]
    rows: tuple[JournalRow, ...]


class Installation(Document):
    """``twill doctor --json``."""

    schema_name: Literal["twill.installation"] = Field(alias="schema")
    parts: tuple[Installed, ...]


class JudgedClaim(Part):
    """A claim of the paper; see `twill.studies.reproduce.claims.Claim`."""

    case: str
    claim: str
    found: str
    passed: bool = Field(alias="pass")
    seconds: float
    paper_seconds: float | None
    reason: str
    polished: str
    polished_passed: bool | None
    compiled: str


class Claims(Document):
    """``twill reproduce --json``."""

    schema_name: Literal["twill.claims"] = Field(alias="schema")
    claims: tuple[JudgedClaim, ...]
