"""A check of bound.json that imports nothing of the project: ``python stranger.py bound.json``.

It checks all but the machine: that premises are about the loop's dependences, that the weighted sum
of each case has no terms and gives the bound, and that the cases describe every division of
operations among groups. It prints the premises, to be held against docs/bounds.md by hand.
"""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

Data = dict[str, Any]
OF_GROUPS = ("registers", "exclusive", "kept", "launch")
OF_UNITS = ("work", "slots", "command")  # the first word of the rule


class RefusedError(Exception):
    """The certificate does not prove the bound."""


def need(condition: object, message: str) -> None:
    """Refuse the certificate unless a condition holds."""
    if not condition:
        raise RefusedError(message)


def check(document: Data) -> list[str]:
    """Return the premises of a bound; raise `RefusedError` if they do not prove it."""
    certificate = (bound := document["bound"])["certificate"]
    operations, premises = certificate.get("operations", []), certificate["premises"]
    check_names(document["loop"], operations, certificate)
    for premise in premises:
        check_premise(document, premise)
    check_subject(bound, operations, premises)
    for number, case in enumerate(certificate["cases"]):
        try:
            check_sum(bound["cycles"], premises, case)
        except RefusedError as error:
            raise RefusedError(f"case {number}: {error}") from None
    keys = ("groups", "apart")
    cases = [[{*map(frozenset, c.get(key, []))} for key in keys] for c in certificate["cases"]]
    for way in divisions(operations):
        described = (g <= way and not any(p <= o for p in far for o in way) for g, far in cases)
        need(any(described), f"no case for {way}")
    return [said(premise) for premise in premises]


def check_names(loop: Data, operations: list[str], certificate: Data) -> None:
    """Groups consist of different operations among those that are divided."""
    known = {operation["name"] for operation in loop["operations"]} & {*operations}
    need(len(known) == len(operations), "operations are not the loop's")
    for part in (*certificate["premises"], *certificate["cases"]):
        members = [name for group in part.get("groups", []) for name in group]
        need(set(members) <= set(operations), "groups of other operations")
        need(len(set(members)) == len(members), "an operation on two groups")


def check_premise(document: Data, premise: Data) -> None:
    """A premise has the terms of its rule, and the distance of its dependence."""
    rule, of, terms = premise["rule"], premise["of"], premise.get("terms", {})
    distance, cycles = Fraction(premise["intervals"]), Fraction(premise["cycles"])
    name = f"{rule} of {of}"
    need(bool(premise.get("groups")) == (rule in OF_GROUPS), f"{name}: wrong groups")
    if rule in ("delay", "transfer", "read", "kept"):
        dependence = document["loop"]["dependences"][premise["dependence"]]
        ends = dependence["producer"], dependence["consumer"]
        starts = Counter({f"start of {ends[1]}": 1})
        starts[f"start of {ends[0]}"] -= 1
        need(dependence.get("kind", "data") == "data", f"{name}: no data is passed on")
        need(cycles >= 0, f"{name}: negative time")
        if rule in ("read", "kept"):
            wanted = {f"{ends[0]} in {of[0]}": 1} | {n: -c for n, c in starts.items()}
            need(rule == "read" or set(ends) <= set(premise["groups"][0]), f"{name}: other group")
            distance = -distance
        else:
            need(tuple(of) == ends, f"{name}: other operations")
            wanted = dict(starts)
        need(distance == dependence.get("distance", 0), f"{name}: other distance")
        need(terms == {n: c for n, c in wanted.items() if c}, f"{name}: other terms")
    elif rule == "made":
        need(terms == {f"{of[1]} in {of[0]}": 1} and not distance, f"{name}: other terms")
    elif rule in ("room", "exclusive"):
        place, values = (of[0], of[1:]) if rule == "room" else ("group", of)
        need(terms.keys() == {f"{v} in {place}" for v in values}, f"{name}: other values")
        need(all(c == -1 or (c < 0 and rule == "room") for c in terms.values()), f"{name}: sizes")
        need(distance == 1 if rule == "exclusive" else not cycles, f"{name}: other intervals")
    else:
        contexts = document["machine"]["contexts"]["value"] if "of contexts" in rule else 1
        units = rule == "time" or rule.startswith(OF_UNITS)
        need(not terms and distance == (contexts if units else 0), f"{name}: other intervals")
        need(rule != "time" or cycles == 0, f"{name}: cycles")


def check_subject(bound: Data, operations: list[str], premises: Sequence[Data]) -> None:
    """The bound names the unit, recurrence, memory or operations of its premises."""
    if operations:
        need(bound["of"] == operations, "the bound is of other operations")
    elif rooms := [premise["of"][:1] for premise in premises if premise["rule"] == "room"]:
        need(rooms == [bound["of"]], "the bound is of another memory")
    elif len(premises) == 1 and premises[0]["rule"].startswith(OF_UNITS):
        need(bound["of"] == premises[0]["of"], "the bound is of another unit")
    else:  # a recurrence
        need(bound["of"] == [p["of"][0] for p in premises], "the bound is of another recurrence")


def check_sum(bound: float, premises: Sequence[Data], case: Data) -> None:
    """The weighted sum of a case is T >= the bound, or 0 >= 1."""
    total = defaultdict[str, Fraction](Fraction)
    for position, text in case["weights"]:
        premise, weight = premises[position], Fraction(text)
        need(weight > 0, "a weight is not positive")
        given = all(g in case.get("groups", []) for g in premise.get("groups", []))
        given &= premise["rule"] != "transfer" or premise["of"] in case.get("apart", [])
        need(given, "a premise of other groups")
        terms = {**premise.get("terms", {}), "T": premise["intervals"], "": premise["cycles"]}
        for name, coefficient in terms.items():
            total[name] += weight * Fraction(coefficient)
    intervals, cycles = total.pop("T"), total.pop("")
    need(not any(total.values()), "terms are left in the sum")
    enough = intervals == 1 and float(cycles) >= bound
    need(enough or (intervals == 0 and cycles == 1), f"{intervals} T >= {cycles} is not the bound")


def divisions(names: Sequence[str]) -> Iterator[set[frozenset[str]]]:
    """Yield all ways to divide operations among groups."""
    if not names:
        yield set()
        return
    for way in divisions(names[1:]):
        yield way | {frozenset(names[:1])}
        yield from (way - {group} | {group | {names[0]}} for group in way)


def said(premise: Data) -> str:
    """Return a premise in words."""
    terms = " ".join(f"{c:+d} {name}" for name, c in premise.get("terms", {}).items())
    return f"{premise['rule']}: {terms} {premise['intervals']} T >= {premise['cycles']}"


if __name__ == "__main__":
    print("\n".join(check(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))))
