"""Certificates of bounds, checked against loop and machine: docs/bounds.md.

Each premise must be what its rule says of loop and machine. Each case must add up to the bound.
Every division of operations among groups must be described by a case.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction

from twill.artifacts.bound import BoundFile, Case, Certificate, Premise, ProgramBound
from twill.artifacts.loop import Loop
from twill.artifacts.machine import Machine
from twill.artifacts.schedule import Schedule
from twill.verification.argued import Argued
from twill.verification.groups import SharedGroups, divisions
from twill.verification.premises import Stated, stated
from twill.verification.times import Placed, timed

ROUNDING = 1e-6  # part of a bound by which a promise may be below it
REASONS = {
    "work": ("work", "work of contexts", "work of a context"),
    "issue slots": ("slots of contexts", "slots of a context"),
    "register slots": ("slots of contexts with products",),
    "commands": ("command",),
    "recurrence": ("delay",),
    "memory": ("room",),
    "registers": ("room",),
}
"""Rules of the premise that a bound is about, by its reason."""
NOMINAL = "nominal"  # latencies of loads that are those of the machine file


def unchecked(schedule: Schedule) -> Iterator[str]:
    """Say what a schedule states of how it was found, which nothing in it shows."""
    promise = schedule.promise
    if promise is not None and promise.static_interval is not None and not timed(schedule):
        yield f"found from a static interval of {promise.static_interval}"
    if promise is not None and promise.simulations:
        yield f"found among {promise.simulations} simulated programs, with seed {promise.seed}"
    if promise is not None and promise.machine_code is not None:
        cycles = promise.machine_code.interval_cycles
        yield f"{cycles:.10g} cycles in machine code; `twill verify --run` executes it"
    if promise is not None and promise.on_gpu is not None:
        cycles, device = promise.on_gpu.interval_cycles, promise.on_gpu.device
        yield f"{cycles:.10g} cycles on {device}; `twill verify --run` measures again"
    if schedule.hiding_depths and not timed(schedule):
        slots = (f"{slots} of {load}" for load, slots in schedule.hiding_depths.items())
        yield f"slots that hide the latency of loads: {', '.join(slots)}"


def rests_on(bound: ProgramBound) -> Iterator[str]:
    """Say what there is to check of a bound by hand: each premise, and what is done with them."""
    premises, cases = bound.certificate.premises, bound.certificate.cases
    for premise in premises:
        groups = "; ".join(", ".join(group) for group in premise.groups)
        where = f" where a group has {groups}" if groups else ""
        yield f"{premise.rule} of {', '.join(premise.of) or 'groups'}: {inequality(premise)}{where}"
    if bound.certificate.operations:
        among = ", ".join(bound.certificate.operations)
        yield f"groups: one of {len(cases)} cases describes every division of {among}"
    yield f"sums: weighted, the premises say T >= {bound.cycles:.10g} or 0 >= 1 in every case"


def promise(placed: Placed) -> Iterator[str]:
    """Check a promise's static interval, and its bound; loads may take any time if drawn."""
    schedule = placed.schedule
    if schedule.promise is None:
        return
    static, given = schedule.initiation_interval, schedule.promise.static_interval
    if placed.timed and given not in (None, static):
        yield f"the promise says a static interval of {given}, it is {static}"
    if (bound := schedule.promise.bound) is None:
        return
    latency = None if schedule.promise.conditions[0].latency == NOMINAL else 0
    yield from check_program_bound(schedule.loop, schedule.machine, bound, latency=latency)
    interval = schedule.promise.interval_cycles
    if interval < bound.cycles * (1 - ROUNDING):
        yield (
            f"{interval:.10g} cycles an iteration are promised, and that no program takes less "
            f"than {bound.cycles:.10g}"
        )


def check_bound_file(file: BoundFile) -> Iterator[str]:
    """Say why a bound is not proved for its loop and machine."""
    yield from check_program_bound(file.loop, file.machine, file.bound, latency=file.latency)


def check_program_bound(
    loop: Loop, machine: Machine, bound: ProgramBound, *, latency: int | None = None
) -> Iterator[str]:
    """Say why the certificate of a bound does not prove it.

    `latency`: cycles that every load of variable latency takes at least; nominal without it.
    """
    about = f"the bound of {bound.cycles:.10g} cycles by {bound.reason}"
    argued, certificate = Argued(loop, machine, latency), bound.certificate
    shared = None
    if certificate.operations and machine.registers is not None:
        shared = SharedGroups(argued, certificate.operations, machine.registers)
    if (certificate.operations and (shared is None or not shared.known)) or not _named(certificate):
        yield f"{about}: its operations cannot be divided among groups"
        return
    if not _is_of(bound):
        yield f"{about} of {', '.join(bound.of) or 'nothing'} is not what its certificate is about"
    for premise in certificate.premises:
        if fault := _false(premise, stated(argued, premise, shared)):
            yield f"{about}: {fault}"
    for position, case in enumerate(certificate.cases):
        if (fault := _fault(bound, case)) is not None:
            yield f"{about}: case {position} {fault}"
    if (way := _left_out(certificate)) is not None:
        groups = "; ".join(", ".join(sorted(group)) for group in way)
        yield f"{about}: no case for the groups {groups or 'of all programs'}"


def _false(premise: Premise, own: Stated | None) -> str | None:
    """Return why a premise is not what its rule says."""
    what = f"{premise.rule} of {', '.join(premise.of) or 'groups'}"
    if own is None:
        return f"{what} is no premise"
    return None if own.says(premise) else f"{what} says {inequality(premise)}, it is {own}"


def _named(certificate: Certificate) -> bool:
    """Whether groups are of operations that are divided, each on one of them."""
    names = {*certificate.operations}
    of_parts = [p.groups for p in certificate.premises] + [c.groups for c in certificate.cases]
    for groups in of_parts:
        members = [name for group in groups for name in group]
        if not all(groups) or len({*members}) < len(members) or not {*members} <= names:
            return False
    return all({*pair} <= names for case in certificate.cases for pair in case.apart)


def _is_of(bound: ProgramBound) -> bool:
    """Whether a bound names what its certificate is about."""
    premises, operations = bound.certificate.premises, bound.certificate.operations
    if bound.reason == "registers of groups":
        return bound.of == operations != ()
    rules = REASONS.get(bound.reason, ())
    main = [premise for premise in premises if premise.rule in rules]
    match bound.reason:
        case "recurrence":
            of = tuple(premise.of[0] for premise in main if premise.of)
        case "memory" | "registers":
            of = main[0].of[:1] if len(main) == 1 else ()
        case _:
            of = main[0].of if len(main) == 1 == len(premises) else ()
    return not operations and of == bound.of != ()


def _fault(bound: ProgramBound, case: Case) -> str | None:
    """Return why the weighted sum of a case does not exclude intervals below a bound."""
    premises, terms = bound.certificate.premises, defaultdict[str, Fraction](Fraction)
    intervals = cycles = Fraction(0)
    for position, weight in case.weights:
        if position >= len(premises) or weight <= 0:
            return f"has no premise {position} with a weight above 0"
        premise = premises[position]
        if not {*premise.groups} <= {*case.groups}:
            return f"is not of the groups of premise {position}"
        if premise.rule == "transfer" and premise.of not in case.apart:
            return f"does not tell apart {' and '.join(premise.of)}"
        intervals += weight * premise.intervals
        cycles += weight * premise.cycles
        for name, coefficient in premise.terms.items():
            terms[name] += weight * coefficient
    if left := [name for name, coefficient in terms.items() if coefficient]:
        return f"leaves the {left[0]} in its sum"
    impossible = intervals == 0 and cycles == 1
    if not impossible and (intervals != 1 or float(cycles) < bound.cycles):
        return f"adds up to {intervals} T >= {float(cycles):.10g}"
    return None


def _left_out(certificate: Certificate) -> set[frozenset[str]] | None:
    """Return a division of operations among groups that no case describes."""
    cases = [
        ({frozenset(group) for group in case.groups}, [frozenset(pair) for pair in case.apart])
        for case in certificate.cases
    ]
    for way in divisions(certificate.operations):
        if not any(
            groups <= way and not any(pair <= group for pair in apart for group in way)
            for groups, apart in cases
        ):
            return way
    return None


def inequality(premise: Premise) -> str:
    """Return a premise as people write it."""
    return str(Stated(premise.cycles, premise.intervals, tuple(premise.terms.items())))
