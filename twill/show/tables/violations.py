"""Broken rules, and what was not checked, as text for people."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from twill.console import paragraph, say
from twill.explain.reprove import Reproof
from twill.verification.verifier import Verdict, Violation

MOST = 4
"""Violations of one rule that are told; an order breaks one for every operation."""


def print_violations(violations: Sequence[Violation]) -> None:
    """Print what is broken, the first few of each rule."""
    by_rule: dict[str, list[Violation]] = defaultdict(list)
    for violation in violations:
        by_rule[violation.rule].append(violation)
    for rule, found in by_rule.items():
        for violation in found[:MOST]:
            paragraph(str(violation))
        if len(found) > MOST:
            say(f"{rule}: and {len(found) - MOST} more (--json prints all)")
    count = len(violations)
    say(f"not valid: {count} violation{'' if count == 1 else 's'}")


def print_verdict(verdict: Verdict) -> None:
    """Print what was checked, what is broken, and what of a proof only engines have shown."""
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


def print_reproof(reproof: Reproof) -> None:
    """Print what became of a claim that had been taken on trust."""
    words = {
        "refuted": f"refuted again by {reproof.solver}",
        "false": f"false: {reproof.solver} has found one, which says otherwise than",
        "open": f"not refuted again in time by {reproof.solver}",
    }
    paragraph(f"{words[reproof.outcome]}: {reproof.claim.claim}")
