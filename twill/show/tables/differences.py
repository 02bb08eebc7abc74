"""Differences between two schedules as text and as data."""

from __future__ import annotations

import textwrap
from dataclasses import asdict
from typing import Any

from twill.console import say
from twill.show.differences.compare import Comparison, Difference
from twill.show.tables.words import plural

MOST = 12
"""Differences of a topic that are printed; JSON has all."""
WIDTH = 80
MEANING = {
    "loop": "what is scheduled, and where",
    "time": "interval, length, stages",
    "stages": "stage in which an operation begins",
    "groups": "warp groups and who is on them",
    "order": "order within an interval, from the loop's first operation on",
    "starts": "start within the iteration",
    "transfers": "register values that pass through shared memory",
    "buffers": "slots, sizes, addresses",
    "registers": "registers of a group",
    "signals": "barriers and programs",
}


def differences_data(found: Comparison) -> dict[str, Any]:
    """Return a comparison as plain data."""
    return {
        "equal": found.equal,
        "first": found.first.name,
        "second": found.second.name,
        "groups": {first: second for second, first in found.groups.items()},
        "turned": found.turned,
        "moved": sorted(found.moved),
        "differences": [asdict(difference) for difference in found.differences],
    }


def print_differences(found: Comparison) -> None:
    """Print what differs, topic by topic."""
    renamed = {b: a for b, a in found.groups.items() if a != b}
    if found.equal:
        say("equal: they run alike")
    for topic, meaning in MEANING.items():
        own = [d for d in found.differences if d.topic == topic]
        if own:
            say(f"{topic}: {meaning}")
            for difference in own[:MOST]:
                _print(difference)
            if len(own) > MOST:
                say(f"  and {len(own) - MOST} more (--json lists all)")
    if found.turned:
        say(f"most operations are {found.turned} slots later in the second's interval")
    if renamed:
        pairs = ", ".join(f"{a} is {b}" for b, a in renamed.items())
        say(f"warp groups of the first in the second: {pairs}")
    if not found.equal:
        say(f"different: {plural(len(found.differences), 'difference')}")


def _print(difference: Difference) -> None:
    one = f"  {difference.what}: {difference.first} -> {difference.second}"
    if len(one) <= WIDTH:
        say(one)
        return
    say(f"  {difference.what}")
    for mark, text in (("first ", difference.first), ("second", difference.second)):
        lead = f"    {mark}  "
        lines = textwrap.wrap(text, WIDTH - len(lead), break_on_hyphens=False) or [""]
        for n, line in enumerate(lines):
            say(f"{lead if n == 0 else ' ' * len(lead)}{line}")
