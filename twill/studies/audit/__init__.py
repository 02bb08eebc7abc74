"""Audit of a machine file: what a valid file can still get wrong.

Checks are in `rules`, of cost rules and names, and in `capacities`.
"""

from __future__ import annotations

from twill.studies.audit import capacities, rules
from twill.studies.audit.rules import Check, Finding, Subject, read_subject

__all__ = ["CHECKS", "Finding", "Subject", "audit", "read_subject"]

# In the order in which their findings are listed.
CHECKS: tuple[Check, ...] = (
    rules.missing_rules,
    rules.shadowed_rules,
    rules.repeated_kinds,
    rules.dead_conditions,
    rules.issue_of_synchronous_rules,
    rules.impossible_steps,
    rules.unused_units,
    rules.unknown_names,
    rules.unused_lets,
    rules.unused_constants,
    rules.hidden_names,
    rules.unused_sources,
    rules.empty_sources,
    rules.repeated_sources,
    capacities.clock,
    capacities.warps_on_contexts,
    capacities.context_units,
    capacities.issue_unit,
    capacities.in_order_units,
    capacities.memories_hold_their_loops,
    capacities.register_order,
    capacities.register_steps,
    capacities.register_reserve,
    capacities.register_file,
    capacities.group_widths,
    capacities.group_counts,
    capacities.repeated_groups,
    capacities.hop_covers_its_parts,
    capacities.machine_code,
)


def audit(subject: Subject) -> list[tuple[str, Finding]]:
    """Run all checks; return the name of each check that finds something, with what it finds."""
    return [
        (check.__name__, finding) for check in CHECKS for finding in dict.fromkeys(check(subject))
    ]
