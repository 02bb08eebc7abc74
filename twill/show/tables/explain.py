"""Explanations and levers as text and as data."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from twill.bounds.configurations import ConfigurationBound, is_turn
from twill.bounds.least import ResourceArgument
from twill.console import paragraph, say, table
from twill.explain.explain import MEANING, Explanation, Role
from twill.explain.levers import Lever
from twill.show.text import why

Items = tuple[tuple[str, int, int], ...]


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
        "families": [{**asdict(role), "meaning": MEANING[role.family]} for role in found.roles],
        "levers": None if levers is None else [asdict(lever) for lever in levers],
    }


def print_explanation(found: Explanation) -> None:
    """Print why the interval below fails."""
    bound, unit = found.bound, found.unit
    if bound.reason == "not proved":
        paragraph(
            f"the least interval is between {bound.value} and {found.interval} {unit}: not proved"
        )
        return
    paragraph(f"{found.interval} {unit} is the least interval: {why(bound)}")
    if found.resource is not None:
        _print_resource(found.resource, unit)
    if found.configurations is not None:
        _print_configurations(found.configurations, unit)
    if found.recurrence is not None:
        steps = found.recurrence.steps
        rows = [[s.consumer, str(s.delay), str(s.distance)] for s in steps]
        table(["leads to", f"delay ({unit})", "distance"], rows, right={f"delay ({unit})"})
        delays, distance = sum(s.delay for s in steps), sum(s.distance for s in steps)
        iterations = "one iteration" if distance == 1 else f"{distance} iterations"
        paragraph(f"from {found.recurrence.start} back to itself: {delays} {unit} in {iterations}")
    for role in found.roles:
        _print_role(role, bound.value - 1)


def _print_resource(argument: ResourceArgument, unit: str) -> None:
    capacity = argument.capacity
    if argument.alone:
        ((name, length, count),) = argument.parts
        paragraph(
            f"{name} takes {count} of {capacity} for {length} {unit}, so that "
            f"{capacity // count} of its instances fit at once"
        )
        return
    rows = [
        [n, str(length), f"{count} of {capacity}", "whole"] for n, length, count in argument.whole
    ]
    rows += [[n, str(length), f"{count} of {capacity}", ""] for n, length, count in argument.parts]
    if not argument.whole:
        rows = [row[:3] for row in rows]
    headings = ["operation", f"time ({unit})", "takes", "counts as"][: len(rows[0])]
    table(headings, rows, right={f"time ({unit})", "takes"})
    work = sum(length * count for _, length, count in argument.parts)
    if argument.whole:
        whole = sum(length for _, length, _ in argument.whole)
        paragraph(
            f"those that count as whole take more than is left beside any other of these: "
            f"{whole} and {work} / {capacity} make {argument.value} {unit}"
        )
    else:
        over = f" / {capacity}" if capacity > 1 else ""
        paragraph(f"together {work}{over} = {argument.value} {unit}")


def _print_configurations(argument: ConfigurationBound, unit: str) -> None:
    """Print what weighs how much for how long, operations that take the same together."""
    rows: dict[tuple[str, int], tuple[list[str], int]] = {}
    for piece, weight in argument.weights:
        takes = ", ".join(name if n == 1 else f"{n} {name}" for name, n in piece.uses)
        names, length = rows.get((takes, weight), ([], 0))
        new = [] if piece.operation in names else [piece.operation]
        rows[takes, weight] = ([*names, *new], length + piece.length)
    table(
        ["takes", f"time ({unit})", "weight", "operations"],
        [
            [takes, str(length), str(weight), ", ".join(names)]
            for (takes, weight), (names, length) in rows.items()
        ],
        right={f"time ({unit})", "weight"},
    )
    turns = sorted({u for piece, _ in argument.weights for u, _ in piece.uses if is_turn(u)})
    if turns:
        paragraph(f"{', '.join(turns)}: operations that wait are issued there one after another")
    if argument.most == 1:
        paragraph(f"no two of these fit all units at once: together {argument.value} {unit}")
        return
    paragraph(
        f"what fits all units at once weighs {argument.most} at most, and one iteration weighs "
        f"{argument.work}: {argument.work} / {argument.most} makes {argument.value} {unit}"
    )


def _print_role(role: Role, below: int) -> None:
    claim = {
        True: f"needed: without it there is a schedule at {below}",
        False: "taking part: the others refute it as well",
        None: "taking part; whether it is needed is not known within the time",
    }[role.needed]
    say()
    paragraph(f"{role.family} ({claim})")
    paragraph(f"  {MEANING[role.family]}")
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
    rows = [[lever.name, _interval(lever), _gain(lever), _status(lever)] for lever in levers]
    table(
        ["lever", "interval (cycles)", "gain", "status"], rows, right={"interval (cycles)", "gain"}
    )


def _interval(lever: Lever) -> str:
    if lever.interval_cycles is None:
        return "-"
    return f"{'' if lever.proved else 'at most '}{lever.interval_cycles:.6g}"


def _gain(lever: Lever) -> str:
    if lever.gain is None:
        return "-"
    return f"{'' if lever.proved else 'at least '}{lever.gain:.1%}"


def _status(lever: Lever) -> str:
    if lever.interval_cycles is None:
        return f"not known within {lever.seconds:g} s"
    return "proved" if lever.proved else f"more than {lever.seconds:g} s"
