"""Names in the expressions of cost rules: who gives them, who uses them, who hides whom."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from twill.artifacts.expressions import names_in
from twill.artifacts.machine import Rule
from twill.studies.audit.subject import Finding, Subject


@dataclass(frozen=True)
class Use:
    """An expression of a rule with the names that it uses and those it may use beside facts."""

    where: str
    names: frozenset[str]
    visible: frozenset[str]


def uses_of(rule: Rule, where: str) -> Iterator[Use]:
    """Yield the expressions of a rule in the order of their evaluation."""
    yield Use(f"{where}.when", names_in(rule.when), frozenset())
    given: frozenset[str] = frozenset()
    for name, expression in rule.let.items():
        yield Use(f"{where}.let.{name}", names_in(expression), given)
        given |= {name}
    for position, step in enumerate(rule.steps):
        for key in ("cycles", "instructions", "count"):
            yield Use(f"{where}.steps[{position}].{key}", names_in(getattr(step, key)), given)
    for key in ("issue", "latency", "working_set"):
        yield Use(f"{where}.{key}", names_in(getattr(rule, key)), given | {"occupancy"})


def unknown_names(subject: Subject) -> Iterator[Finding]:
    """Everything that a rule names is a constant, a fact, a let, or an attribute in some loop."""
    for index, rule in enumerate(subject.own_rules):
        attributes = subject.attributes(rule.kind)
        if attributes is None:  # whatever any kind has may be an attribute of an unknown one
            attributes = subject.attributes(tuple(subject.kinds)) or set()
        known = subject.facts | set(subject.machine.constants) | attributes
        for use in uses_of(rule, f"rules[{index}]"):
            for name in sorted(use.names - known - use.visible):
                yield Finding(
                    use.where,
                    f"nothing is named {name!r}: no constant, no fact about the operation, no "
                    f"let before it, no attribute of a packaged {' or '.join(rule.kind)}",
                    "correct the name, or add it to [constants] or to let",
                )


def unused_lets(subject: Subject) -> Iterator[Finding]:
    """What a rule names in let is used in it."""
    for index, rule in enumerate(subject.own_rules):
        used = {name for use in uses_of(rule, "") for name in use.names & use.visible}
        for name in rule.let:
            if name not in used:
                yield Finding(
                    f"rules[{index}].let.{name}", "nothing after it uses this name", "remove it"
                )


def unused_constants(subject: Subject) -> Iterator[Finding]:
    """Constants are used by a rule or by the transfer."""
    used = set(names_in(subject.machine.transfer.cycles))
    for rule in subject.machine.rules:
        used |= {name for use in uses_of(rule, "") for name in use.names - use.visible}
    for name in subject.own_names("constants"):
        if name not in used:
            yield Finding(f"constants.{name}", "no rule uses this constant", "remove it")


def hidden_names(subject: Subject) -> Iterator[Finding]:
    """No constant has the name of a fact, no let that of a fact or a constant."""
    facts = subject.facts | {"occupancy"}
    for name in subject.own_names("constants"):
        if name in facts:
            yield Finding(
                f"constants.{name}",
                "a fact about the operation has this name and hides the constant",
                "rename it",
            )
    for index, rule in enumerate(subject.own_rules):
        for name in rule.let:
            if name in facts or name in subject.machine.constants:
                what = "a fact about the operation" if name in facts else "a constant"
                yield Finding(
                    f"rules[{index}].let.{name}", f"{what} has this name too", "rename it"
                )
