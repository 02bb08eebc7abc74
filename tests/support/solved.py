"""Schedules that many tests need: stored ones, and those that a run's processes solve once.

``python -m tests.support.solved`` solves the stored ones anew, where the search or a loop changes.
"""

from __future__ import annotations

import fcntl
from pathlib import Path
from typing import Any

import twill
from twill.search.cache import Cache
from twill.search.request import Request
from twill.search.scheduler import solve

FOLDER = Path(__file__).parents[1] / "data" / "schedules"
HOPPER, BLACKWELL = "hopper_h100", "blackwell_b200"
STORED: dict[str, tuple[str, str, dict[str, Any]]] = {
    "fa_fwd_hopper": ("fa_fwd_hopper", HOPPER, {"effort": 0.5}),
    "attention_forward_blackwell": ("attention_forward_blackwell", BLACKWELL, {"effort": 0.5}),
    "fa_fwd_hopper_in_order": ("fa_fwd_hopper", HOPPER, {"orders": [("s0", "s1")]}),
}
"""Loop, machine and options of the stored schedules, which take seconds to find."""
answers: list[Cache] = []
"""What this run has solved, in all its processes; none outside of a run of pytest."""


def stored(name: str) -> twill.Schedule:
    """Return a stored schedule."""
    return twill.Schedule.load(FOLDER / f"{name}.json")


def anew(name: str) -> twill.Schedule:
    """Return what the search finds today for a stored schedule."""
    loop, machine, options = STORED[name]
    return solve(Request(twill.load_loop(loop), twill.Machine.named(machine), **options)).schedule


def solved_once(loop: twill.Loop, machine: twill.Machine, **options: Any) -> twill.Schedule:
    """Return the answer to a request, which two processes do not look for at the same time."""
    request = Request(loop, machine, **options)
    if not answers:
        return solve(request).schedule
    (cache,) = answers
    with (cache.folder / f"{loop.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return solve(request, cache=cache).schedule


if __name__ == "__main__":
    for one in STORED:
        anew(one).save(FOLDER / f"{one}.json")
