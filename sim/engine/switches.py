"""Mechanisms of the machine that can be switched off, to see what each costs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

from twill.errors import InputError, short

Mechanism = Literal[
    "issue-slots",
    "issue-cost",
    "synchronisation",
    "completion",
    "shared-ports",
    "queues",
]
"""What can be switched off.

``issue-slots``: contexts issue as many instructions a cycle as are ready. ``issue-cost``: commands
cost the warps that issue them nothing. ``synchronisation``: waits, arrives and the way of a signal
take no time. ``completion``: an asynchronous result is there when its unit has done its work.
``shared-ports``: commands need no unit beside their own. ``queues``: commands are taken as many as
come, with any number of bytes in flight.
"""

MECHANISMS: tuple[Mechanism, ...] = get_args(Mechanism)


def switched_off(names: Iterable[str]) -> frozenset[Mechanism]:
    """Return the mechanisms that are named.

    Raises
    ------
    InputError
        If there is no such mechanism.
    """
    names = tuple(names)
    for name in names:
        if name not in MECHANISMS:
            raise InputError(f"one of {', '.join(MECHANISMS)} (got {short(name)})", path="without")
    return frozenset(name for name in MECHANISMS if name in names)
