"""Write names, places and Triton's own schedule beside the operations of a dump."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from twill.frontends.triton_dump.listing import Ended, Listing

_STAGE = re.compile(r"\bloop\.stage = (\d+) : i32")
_CLUSTER = re.compile(r"\bloop\.cluster = (\d+) : i32")
BOOKKEEPING = ("module", "yield", "return")
MOST_NAMED = 4


def annotated(rolled: Listing, scheduled: Listing) -> tuple[str, str]:
    """Return a dump's text with every attribute that it gets, and what could not be matched.

    Returns: the text, and a remark about operations of Triton's schedule that are not in the dump;
    empty without such.
    """
    attributes: dict[int, dict[str, str]] = {}
    for ended in rolled.ended:
        if ended.operation.endswith(BOOKKEEPING):
            continue
        added = {}
        if ended.place:
            added["sched.location"] = f'"{ended.place}"'
        if ended.variable:
            added["sched.name"] = f'"{ended.variable}"'
        if added:
            attributes[ended.line] = added
    lines = {key: ended.line for key, ended in _keyed(rolled)}
    unmatched = []
    for key, ended in _keyed(scheduled):
        text = scheduled.lines[ended.line]
        stage, cluster = _STAGE.search(text), _CLUSTER.search(text)
        if not stage or not cluster:
            continue
        if key not in lines:
            unmatched.append(ended)
            continue
        attributes.setdefault(lines[key], {}).update(
            {"sched.stage": f"{stage[1]} : i32", "sched.cluster": f"{cluster[1]} : i32"}
        )
    return rolled.annotated(attributes), _remark(unmatched)


def _keyed(listing: Listing) -> Iterator[tuple[tuple[str, str, str, int], Ended]]:
    """Number the operations of one name, variable and place; equal modules get equal keys."""
    seen: Counter[tuple[str, str, str]] = Counter()
    for ended in listing.ended:
        key = (ended.operation, ended.variable, ended.place)
        seen[key] += 1
        yield (*key, seen[key]), ended


def _remark(unmatched: list[Ended]) -> str:
    if not unmatched:
        return ""
    named = [f"{e.operation} at {e.place or 'an unknown place'}" for e in unmatched[:MOST_NAMED]]
    more = ["..."] if len(unmatched) > MOST_NAMED else []
    return f"only in Triton's schedule: {', '.join(named + more)}"
