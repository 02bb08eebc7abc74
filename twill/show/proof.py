"""Proofs and explanations as text and as data, and verdicts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from twill.artifacts.proof import LowerBound, Proof
from twill.base.console import paragraph, say
from twill.base.formats import count, cycles, percent, plural
from twill.base.tables import Column, Table
from twill.bounds import ResourceArgument
from twill.bounds.configurations import ConfigurationBound, is_turn
from twill.explain import Explanation, Reproof, Role
from twill.explain.levers import Lever
from twill.explain.programs import ProgramExplanation, ProgramLever
from twill.sim.show import print_pace
from twill.verification import Verdict, Violation, conditions

MET = 0.0005  # part by which an interval that is measured may be above a bound that it meets
MOST_NAMES = 4
MOST = 4  # violations of one rule that are told; an order breaks one for every operation


def print_proof(proof: Proof, interval: int) -> None:
    """Print what is proved of an interval and of each level."""
    low = proof.bound.value
    if proof.bound.reason != "not proved":
        paragraph(f"optimal of the static model: {why(proof.bound)}")
    else:
        between = f"the least interval is between {low} and {interval}"
        paragraph(f"not proved optimal of the static model: {between}")
    decided = conditions(proof)
    if decided:
        paragraph(f"within what was asked for: {', '.join(decided)}")
    levels = (f"{e.level} {e.value}{'' if e.proved else ' (not proved)'}" for e in proof.levels)
    paragraph(f"levels: {', '.join(levels)}")


def why(bound: LowerBound) -> str:
    """Say in words why no smaller interval exists."""
    below = bound.value - 1
    if bound.reason == "no joint schedule":
        within = f"with at most {bound.most_stages} stages"
        because = f", because of {', '.join(bound.families)}" if bound.families else ""
        return f"there is no joint schedule at {below} {within}{because} ({bound.solver})"
    who = f"unit {bound.unit} needs all" if bound.unit else "all units together need"
    needed = f"{who} {bound.value} for one iteration's work"
    around = " -> ".join((*bound.cycle, *bound.cycle[:1]))
    reasons = {
        "ResMII": needed,
        "configurations": needed,
        "issue": f"issuing {''.join(bound.cycle[:1])} takes its warps {bound.value} of an interval",
        "RecMII": f"the recurrence {around} takes {bound.value}",
        "no modulo schedule": f"there is no modulo schedule at {below} ({bound.solver})",
        "not proved": f"the least interval is {bound.value} or more",
    }
    return reasons[bound.reason]


# -- explanations -----------------------------------------------------------------------------


def explanation_data(found: Explanation, levers: list[Lever] | None) -> dict[str, Any]:
    """Return an explanation as plain data."""
    bound = found.bound
    return {
        "interval": found.interval,
        "interval_bounds": [bound.value, found.interval],
        "unit": found.unit,
        "bound": bound.model_dump(exclude_none=True),
        "resource": asdict(found.resource) if found.resource else None,
        "configurations": asdict(found.configurations) if found.configurations else None,
        "recurrence": asdict(found.recurrence) if found.recurrence else None,
        "families": [{**asdict(role), "meaning": role.meaning} for role in found.roles],
        "levers": None if levers is None else [asdict(lever) for lever in levers],
    }


def print_explanation(found: Explanation) -> None:
    """Print why the interval below fails."""
    bound, unit = found.bound, found.unit
    if bound.reason == "not proved":
        between = f"between {bound.value} and {found.interval} {unit}"
        paragraph(f"the least interval is {between}: not proved")
        return
    paragraph(f"{found.interval} {unit} is the least interval: {why(bound)}")
    if found.resource is not None:
        _print_resource(found.resource, unit)
    if found.configurations is not None:
        _print_configurations(found.configurations, unit)
    if found.recurrence is not None:
        steps = found.recurrence.steps
        delays, distance = sum(s.delay for s in steps), sum(s.distance for s in steps)
        iterations = "one iteration" if distance == 1 else f"{distance} iterations"
        around = f"from {found.recurrence.start} back to itself"
        columns = [Column("leads to"), Column("delay", unit, count), Column("distance", form=count)]
        rows = [(s.consumer, s.delay, s.distance) for s in steps]
        Table(columns, rows, notes=[f"{around}: {delays} {unit} in {iterations}"]).print()
    for role in found.roles:
        _print_role(role, bound.value - 1)


def _print_resource(argument: ResourceArgument, unit: str) -> None:
    capacity = argument.capacity
    if argument.alone:
        ((name, length, used),) = argument.parts
        fit = f"{capacity // used} of its instances fit at once"
        paragraph(f"{name} takes {used} of {capacity} for {length} {unit}, so that {fit}")
        return
    columns = [Column("operation"), Column("time", unit, count), Column("takes", form=str)]
    rows = [[n, length, f"{used} of {capacity}"] for n, length, used in argument.parts]
    work = sum(length * used for _, length, used in argument.parts)
    note = f"together {work}{f' / {capacity}' if capacity > 1 else ''} = {argument.value} {unit}"
    if argument.whole:
        columns.append(Column("counts as"))
        whole = [[n, time, f"{used} of {capacity}", "whole"] for n, time, used in argument.whole]
        rows = [*whole, *([*row, ""] for row in rows)]
        note = (
            f"those that count as whole take more than is left beside any other of these: "
            f"{sum(length for _, length, _ in argument.whole)} and {work} / {capacity} make "
            f"{argument.value} {unit}"
        )
    Table(columns, rows, notes=[note]).print()


def _print_configurations(argument: ConfigurationBound, unit: str) -> None:
    """Print what weighs how much for how long, operations that take the same together."""
    together: dict[tuple[str, int], tuple[dict[str, None], int]] = {}
    for piece, weight in argument.weights:
        takes = ", ".join(name if n == 1 else f"{n} {name}" for name, n in piece.uses)
        names, length = together.get((takes, weight), ({}, 0))
        together[takes, weight] = {**names, piece.operation: None}, length + piece.length
    notes = []
    turns = sorted({u for piece, _ in argument.weights for u, _ in piece.uses if is_turn(u)})
    if turns:
        notes.append(f"{', '.join(turns)}: operations that wait are issued there one after another")
    if argument.most == 1:
        notes.append(f"no two of these fit all units at once: together {argument.value} {unit}")
    else:
        notes.append(
            f"what fits all units at once weighs {argument.most} at most, and one iteration weighs "
            f"{argument.work}: {argument.work} / {argument.most} makes {argument.value} {unit}"
        )
    columns = [Column("takes"), Column("time", unit, count), Column("weight", form=count)]
    rows = [
        (takes, length, weight, ", ".join(names))
        for (takes, weight), (names, length) in together.items()
    ]
    Table([*columns, Column("operations")], rows, notes=notes).print()


def _print_role(role: Role, below: int) -> None:
    claim = {
        True: f"needed: without it there is a schedule at {below}",
        False: "taking part: the others refute it as well",
        None: "taking part; whether it is needed is not known within the time",
    }[role.needed]
    say()
    paragraph(f"{role.family} ({claim})")
    paragraph(f"  {role.meaning}")
    if role.what:
        paragraph(f"  {role.what}")
    needed = [f"{p.operation} ({p.amount})" for p in role.parts if p.needed]
    others = [f"{p.operation} ({p.amount})" for p in role.parts if not p.needed]
    if needed:
        paragraph(f"  without any of these alone there is a schedule: {', '.join(needed)}")
    if others:
        paragraph(f"  {'others' if needed else 'operations'}: {', '.join(others)}")


def print_levers(levers: list[Lever]) -> None:
    """Print what every lever brings."""
    say()
    say("what would help, each solved for")
    rows = []
    for lever in levers:
        interval, gain, status = "-", "-", f"not known within {lever.seconds:g} s"
        if lever.interval_cycles is not None:
            interval = f"{'' if lever.proved else 'at most '}{cycles(lever.interval_cycles)}"
            status = "proved" if lever.proved else f"more than {lever.seconds:g} s"
        if lever.gain is not None:
            gain = f"{'' if lever.proved else 'at least '}{percent(lever.gain)}"
        rows.append((lever.name, interval, gain, status))
    columns = [Column("lever"), Column("interval", "cycles", cycles), Column("gain", form=percent)]
    Table([*columns, Column("status")], rows).print()


# -- verdicts ---------------------------------------------------------------------------------


def print_violations(violations: Sequence[Violation]) -> None:
    """Print broken rules, the first violations of each."""
    by_rule: dict[str, list[Violation]] = defaultdict(list)
    for violation in violations:
        by_rule[violation.rule].append(violation)
    for rule, found in by_rule.items():
        for violation in found[:MOST]:
            paragraph(str(violation))
        if len(found) > MOST:
            say(f"{rule}: and {len(found) - MOST} more (--json prints all)")
    say(f"not valid: {plural(len(violations), 'violation')}")


def print_verdict(verdict: Verdict) -> None:
    """Print the rules checked and broken, claims on trust of engines, and unchecked claims."""
    if not verdict.valid:
        print_violations(verdict.violations)
        return
    paragraph(f"valid: {len(verdict.rules)} rules checked ({', '.join(verdict.rules)})")
    by_solver: dict[str, list[str]] = defaultdict(list)
    for entry in verdict.trusted:
        by_solver[entry.solver].append(entry.claim)
    for solver, claims in by_solver.items():
        paragraph(f"taken on trust from {solver}: {'; '.join(claims)}")
    if verdict.trusted and verdict.within:
        paragraph(f"all within what was asked for: {', '.join(verdict.within)}")
    if verdict.unchecked:
        paragraph(f"not checked: {'; '.join(verdict.unchecked)}")
    _print_premises(verdict.rests_on)


def _print_premises(rests_on: Sequence[str]) -> None:
    """Print what a bound rests on: the first premises, and what they add up to."""
    *premises, end = rests_on or ("",)
    if end:
        paragraph("no program is below the bound, as a stranger can check from:")
        for premise in premises[:MOST]:
            paragraph(f"- {premise}")
        if len(premises) > MOST:
            say(f"- {len(premises) - MOST} more premises (--json prints all)")
        paragraph(f"- {end}")


def print_reproof(reproof: Reproof) -> None:
    """Print what became of a claim that had been taken on trust."""
    words = {
        "refuted": f"refuted again by {reproof.solver}",
        "false": f"false: {reproof.solver} has found one, which says otherwise than",
        "open": f"not refuted again in time by {reproof.solver}",
    }
    paragraph(f"{words[reproof.outcome]}: {reproof.claim.claim}")


def program_explanation_data(
    found: ProgramExplanation, levers: Sequence[ProgramLever] | None
) -> dict[str, Any]:
    """Return an explanation as plain data."""
    critical = found.critical
    return {
        "interval_cycles": found.interval_cycles,
        "critical": critical.model_dump() if critical is not None else None,
        "bounds": [a.bound.model_dump(mode="json", exclude_none=True) for a in found.arguments],
        "levers": None if levers is None else [asdict(lever) for lever in levers],
    }


def print_program_explanation(found: ProgramExplanation) -> None:
    """Print what sets the pace of a program, and what no program is below."""
    least = found.arguments[0].bound
    gap = found.interval_cycles / least.cycles - 1
    over = "which no program is below" if gap < MET else f"{percent(gap)} over the bound"
    paragraph(f"{cycles(found.interval_cycles)} cycles an iteration, {over}")
    say()
    columns = [Column("bound", "cycles", cycles), Column("reason"), Column("of")]
    rows = [(a.bound.cycles, a.reason, _of(a.of)) for a in found.arguments]
    Table(columns, rows).print()
    if found.critical is not None:
        print_pace(found.critical)


def _of(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def print_program_levers(levers: Sequence[ProgramLever], simulations: int) -> None:
    """Print what every lever brings."""
    say(f"what would help, the best of {simulations:,} programs with each")
    rows = [
        (
            lever.name,
            "-" if lever.interval_cycles is None else lever.interval_cycles,
            "-" if lever.gain is None else lever.gain,
            lever.bound_cycles,
        )
        for lever in levers
    ]
    columns = [Column("lever"), Column("interval", "cycles", cycles), Column("gain", form=percent)]
    Table([*columns, Column("bound", "cycles", cycles)], rows).print()
