"""Subjects and findings of an audit, and its checks of rules, names and sources.

These can be missing, unused or never come true.
"""

from __future__ import annotations

import ast
import functools
import json
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from twill.artifacts.base import packaged_text
from twill.artifacts.costs import Rule, names_in, parsed, variables
from twill.artifacts.loop import Loop, Operation, Tile
from twill.artifacts.machine import FOLDER, Machine, citations
from twill.base.errors import InputError
from twill.base.files import read_bytes
from twill.frontends import load_loop, packaged_loops
from twill.frontends.ttgir.kinds import SAID
from twill.problem.costs import static_cost


@dataclass(frozen=True)
class Finding:
    """Something to mend in a machine file."""

    # Path inside the file.
    where: str
    # What is wrong, with the values.
    what: str
    mend: str


@dataclass(frozen=True)
class Subject:
    """A machine with what is needed to judge its file."""

    machine: Machine
    # What its file says itself, without the machine that it extends.
    own: dict[str, Any]
    # Packaged loops for its architecture, or that name it.
    loops: tuple[Loop, ...]
    # All packaged loops.
    everything: tuple[Loop, ...]

    @property
    def own_rules(self) -> tuple[Rule, ...]:
        """The rules of the file itself; they come before those it extends."""
        return self.machine.rules[: len(self.own.get("rules", ()))]

    def own_names(self, table: str) -> list[str]:
        """Return the names that the file itself gives in a table."""
        return list(self.own.get(table, {}))

    @functools.cached_property
    def facts(self) -> frozenset[str]:
        """Names that the model gives every rule about an operation."""
        tile = Tile(shape=(64, 64), dtype="f16", memory="registers")
        product = Operation(name="product", kind="mma", operands=(tile, tile), result=tile)
        bare = self.machine.model_copy(update={"constants": {}})
        return frozenset(variables(bare, product))

    def attributes(self, kinds: tuple[str, ...]) -> set[str]:
        """Return the attributes of operations of some kinds: of packaged ones, and from TTGIR.

        Whatever any kind has may be an attribute of one that no packaged operation is of.
        """
        operations = [o for loop in self.everything for o in loop.operations]
        known = [o for o in operations if o.kind in kinds] or operations
        said = {name for kind in kinds for name in SAID.get(kind, ())}
        return said | {name for operation in known for name in operation.attributes}


Check = Callable[[Subject], Iterator[Finding]]


def read_subject(name: str) -> Subject:
    """Read a machine and the packaged loops that are meant for it.

    Raises
    ------
    InputError
        If there is no such machine or its file is not valid.
    """
    machine = Machine.named(name)

    def is_meant(key: str, loop: Loop) -> bool:
        architecture = loop.origin.architecture if loop.origin else None
        named = packaged_loops()[key].machine == machine.name
        return named or (bool(architecture) and architecture == machine.architecture)

    meant = tuple(loop for key, loop in _packaged().items() if is_meant(key, loop))
    return Subject(machine, _document(name), meant, tuple(_packaged().values()))


@functools.cache
def _packaged() -> dict[str, Loop]:
    return {name: load_loop(name) for name in packaged_loops()}


def _document(name: str) -> dict[str, Any]:
    is_file = name.endswith((".toml", ".json"))
    text = read_bytes(name) if is_file else packaged_text("machine", FOLDER, name, ".toml")
    found: dict[str, Any] = (
        json.loads(text) if name.endswith(".json") else tomllib.loads(text.decode())
    )
    return found


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
        same = {"True", _canonical(rule.when)}
        before = [r.kind if _canonical(r.when) in same else () for r in subject.own_rules[:index]]
        for kind in dict.fromkeys(rule.kind):
            earlier = next((i for i, kinds in enumerate(before) if kind in kinds), None)
            if earlier is not None:
                yield Finding(
                    f"rules[{index}]",
                    f"never applies to kind {kind!r}: rules[{earlier}] takes all of it before",
                    "remove it, or put the narrower condition first",
                )


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


@dataclass(frozen=True)
class Use:
    """An expression of a rule with the names that it uses and those it may use, facts excluded."""

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
    """Names in a rule's let are used in the rule."""
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


NOTHING = frozenset({"", "?", "-", "none", "unknown", "guess", "tbd", "n/a"})


def unused_sources(subject: Subject) -> Iterator[Finding]:
    """Every listed source is the source of some number."""
    cited = {
        text for _, source in citations(subject.machine.model_dump()) for text in _keys(source)
    }
    for key in subject.own_names("sources"):
        if key not in cited:
            yield Finding(
                f"sources.{key}", "no number has this source", "remove it, or cite it where used"
            )


def _keys(source: str) -> Iterator[str]:
    """Words of a source text that may be keys: further sources are named after the first."""
    for word in source.replace(":", " ").replace(";", " ").replace(",", " ").split():
        yield word.removesuffix(".").removesuffix("'s")


def empty_sources(subject: Subject) -> Iterator[Finding]:
    """A source says where a number can be found."""
    for key in subject.own_names("sources"):
        text = subject.machine.sources[key]
        if _says_nothing(text):
            yield Finding(
                f"sources.{key}",
                f"does not say where the numbers can be found (got {text!r})",
                "give the reference, or state that it is a choice of the model",
            )
    for path, source in citations(subject.own):
        _, colon, detail = source.partition(":")
        if colon and _says_nothing(detail):
            yield Finding(
                path,
                f"does not say what the source says (got {source!r})",
                "say what was measured or stated there, or leave only the key",
            )


def _says_nothing(text: str) -> bool:
    return text.strip().strip(".").lower() in NOTHING


def repeated_sources(subject: Subject) -> Iterator[Finding]:
    """No reference has two keys."""
    seen: dict[str, str] = {}
    for key in subject.own_names("sources"):
        text = " ".join(subject.machine.sources[key].split())
        if text in seen:
            yield Finding(
                f"sources.{key}", f"is the same as {seen[text]}", f"cite {seen[text]} instead"
            )
        seen.setdefault(text, key)
