"""Broken rules as text for people."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from twill.console import paragraph, say
from twill.verifier import Violation

MOST = 4
"""Violations of one rule that are told; an order breaks one for every operation."""


def print_violations(violations: Sequence[Violation]) -> None:
    """Print what is broken, the first few of each rule.

    Parameters
    ----------
    violations : sequence of Violation
        At least one.
    """
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
