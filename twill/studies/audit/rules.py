"""Cost rules that are missing, or that say what can never come true."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from twill.artifacts.expressions import parsed
from twill.artifacts.machine import Rule
from twill.errors import InputError
from twill.problem.costs import static_cost
from twill.studies.audit.subject import Finding, Subject


def missing_rules(subject: Subject) -> Iterator[Finding]:
    """Every operation of the packaged loops meant for the machine has a cost."""
    failed: dict[tuple[str, str], list[str]] = {}
    for loop in subject.loops:
        for operation in loop.operations:
            try:
                static_cost(operation, subject.machine)
            except InputError as error:
                what = f"packaged loop {loop.name}: {error.message}"
                failed.setdefault((operation.kind, error.path), []).append(what)
    for (kind, path), messages in failed.items():
        more = f" (and {len(messages) - 1} more like it)" if len(messages) > 1 else ""
        yield Finding(path, f"{messages[0]}{more}", f"make a rule for kind {kind!r} fit it")


def shadowed_rules(subject: Subject) -> Iterator[Finding]:
    """No rule stands behind one that takes all that it could apply to."""
    for index, rule in enumerate(subject.own_rules):
        for kind in dict.fromkeys(rule.kind):
            earlier = _shadowing(subject.own_rules[:index], kind, rule.when)
            if earlier is not None:
                yield Finding(
                    f"rules[{index}]",
                    f"never applies to kind {kind!r}: rules[{earlier}] takes all of it before",
                    "remove it, or put the narrower condition first",
                )


def _shadowing(rules: tuple[Rule, ...], kind: str, when: str) -> int | None:
    same = {"True", _canonical(when)}
    for index, rule in enumerate(rules):
        if kind in rule.kind and _canonical(rule.when) in same:
            return index
    return None


def _canonical(expression: str) -> str:
    return ast.unparse(parsed(expression))


def repeated_kinds(subject: Subject) -> Iterator[Finding]:
    """A rule names a kind once."""
    for index, rule in enumerate(subject.own_rules):
        for kind in dict.fromkeys(rule.kind):
            if rule.kind.count(kind) > 1:
                yield Finding(
                    f"rules[{index}].kind",
                    f"{kind!r} is listed {rule.kind.count(kind)} times",
                    "list it once",
                )


def dead_conditions(subject: Subject) -> Iterator[Finding]:
    """No condition is a constant that is false."""
    for index, rule in enumerate(subject.own_rules):
        if _literal(rule.when) in (False, 0):
            yield Finding(f"rules[{index}].when", "is never true", "remove the rule")


def issue_of_synchronous_rules(subject: Subject) -> Iterator[Finding]:
    """Only an asynchronous operation has an issue cost: others keep their group busy anyway."""
    for index, rule in enumerate(subject.own_rules):
        if not rule.asynchronous and _literal(rule.issue) != 0:
            yield Finding(
                f"rules[{index}].issue",
                "a synchronous operation keeps its group busy for its occupancy; this is ignored",
                "remove it, or set asynchronous = true",
            )


def impossible_steps(subject: Subject) -> Iterator[Finding]:
    """A step asks for no more of a unit than there is, and for some time."""
    for index, rule in enumerate(subject.own_rules):
        for position, step in enumerate(rule.steps):
            where = f"rules[{index}].steps[{position}]"
            count, capacity = _literal(step.count), subject.machine.units[step.unit].capacity
            if isinstance(count, int | float) and count > capacity:
                yield Finding(
                    f"{where}.count",
                    f"needs {count} of unit {step.unit}, which has {capacity}",
                    "lower it, or correct the unit's capacity",
                )
            for key in ("cycles", "count"):
                if _literal(getattr(step, key)) == 0:
                    yield Finding(f"{where}.{key}", "a step of 0 does nothing", "remove the step")


def _literal(expression: str) -> object:
    """Return the value of an expression that is a plain number or truth value, else None."""
    body = parsed(expression).body
    return body.value if isinstance(body, ast.Constant) else None


def unused_units(subject: Subject) -> Iterator[Finding]:
    """Every unit is used by a rule, or counts issue slots, where there are rules."""
    if not subject.machine.rules:
        return
    used = {step.unit for rule in subject.machine.rules for step in rule.steps}
    for name in subject.own_names("units"):
        if name not in used and name != subject.machine.issue_unit:
            yield Finding(
                f"units.{name}", "no rule uses this unit", "remove it, or add the rules that use it"
            )
