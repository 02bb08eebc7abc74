"""Programs from which a local search begins, made of one schedule without solving anything."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

from twill.lower.pipeline import Choices
from twill.polish.candidates import Candidate, Programs

TURNS = (
    ("", Choices()),
    ("no turns on pipes", Choices(on_pipes=False)),
    ("no turns in order", Choices(in_order=False)),
    ("no turns", Choices(in_order=False, on_pipes=False)),
)


def starts(programs: Programs, given: Candidate) -> Iterator[tuple[str, Candidate]]:
    """Yield candidates, each with what is different from the one that is given.

    All kinds of turns are tried, and, without turns, groups of their own for all products, each
    synchronous operation, and each two of them, on one group or on two.
    """
    for said, choices in TURNS:
        yield said, replace(given, choices=choices)
    operations = programs.problem.operations
    products = [o.index for o in operations if o.in_order_unit is not None and not o.streaming]
    alone = [o.index for o in operations if not o.variable_latency]
    ways: list[tuple[str, tuple[list[int], ...]]] = [
        ("all products on a group of their own", (products,))
    ]
    ways += [(f"{operations[v].name} on a group of its own", ([v],)) for v in alone]
    for v, w in itertools.combinations(alone, 2):
        names = f"{operations[v].name} and {operations[w].name}"
        ways += [(f"{names} on a group of their own", ([v, w],))]
        ways += [(f"{names} on groups of their own", ([v], [w]))]
    for said, sets in ways:
        moved: Candidate | None = given
        for apart in sets:
            moved = moved and _apart(programs, moved, apart)
        if moved is not None:
            yield said, replace(moved, choices=TURNS[-1][1])


def _apart(programs: Programs, given: Candidate, operations: list[int]) -> Candidate | None:
    """Return a candidate with some operations on the narrowest unused group that takes them."""
    takers = [
        g
        for g, group in enumerate(programs.groups)
        if g not in given.group
        and operations
        and all(group.takes(programs.problem.operations[v]) for v in operations)
    ]
    if not takers:
        return None
    to = min(takers, key=lambda g: (programs.groups[g].warps, g))
    group = tuple(to if v in operations else g for v, g in enumerate(given.group))
    return replace(given, group=group)
