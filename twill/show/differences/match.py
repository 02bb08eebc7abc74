"""Which warp group of one schedule is which of the other."""

from __future__ import annotations

import itertools

from twill.artifacts.schedule import Schedule

MOST_TRIED = 7
"""Groups up to which all assignments are compared."""


def matched_groups(first: Schedule, second: Schedule) -> dict[str, str]:
    """Return for groups of the second schedule those of the first that do most of the same.

    A group of which no operation is found in the other's keeps no partner, unless it is the only
    one left.
    """
    ours = [group.name for group in first.groups]
    theirs = [group.name for group in second.groups]
    place = first.assignment
    shared: dict[tuple[str, str], int] = {}
    for operation, group in second.assignment.items():
        if operation in place:
            pair = (place[operation], group)
            shared[pair] = shared.get(pair, 0) + 1
    if max(len(ours), len(theirs)) <= MOST_TRIED:
        pairs = _best(ours, theirs, shared)
    else:
        pairs = _greedy(shared)
    return {b: a for a, b in pairs}


def _best(
    ours: list[str], theirs: list[str], shared: dict[tuple[str, str], int]
) -> list[tuple[str, str]]:
    few, many = sorted((ours, theirs), key=len)
    turned = few is theirs and few is not ours

    def pairs(chosen: tuple[str, ...]) -> list[tuple[str, str]]:
        found = list(zip(few, chosen, strict=True))
        return [(b, a) for a, b in found] if turned else found

    return max(
        (pairs(chosen) for chosen in itertools.permutations(many, len(few))),
        key=lambda found: (sum(shared.get(pair, 0) for pair in found),
                           sum(a == b for a, b in found)),
        default=[],
    )  # fmt: skip


def _greedy(shared: dict[tuple[str, str], int]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for a, b in sorted(shared, key=lambda pair: (-shared[pair], pair)):
        if all(a != c and b != d for c, d in found):
            found.append((a, b))
    return found
