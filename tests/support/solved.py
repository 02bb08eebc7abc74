"""Schedules that many tests need, which the processes of a run solve once between them."""

from __future__ import annotations

import fcntl
from typing import Any

import twill
from twill.search.cache import Cache
from twill.search.request import Request
from twill.search.scheduler import solve

answers: list[Cache] = []
"""What this run has solved, in all its processes; none outside of a run of pytest."""


def solved_once(loop: twill.Loop, machine: twill.Machine, **options: Any) -> twill.Schedule:
    """Return the answer to a request, which two processes do not look for at the same time."""
    request = Request(loop, machine, **options)
    if not answers:
        return solve(request).schedule
    (cache,) = answers
    with (cache.folder / f"{loop.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return solve(request, cache=cache).schedule
