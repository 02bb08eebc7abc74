"""Walks over graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")


def reached(begin: Iterable[T], following: Callable[[T], Iterable[T]]) -> set[T]:
    """Return the nodes that a walk reaches, those where it begins among them.

    Each node is asked once for those that follow it, however many paths lead there.
    """
    found = set(begin)
    pending = list(found)
    while pending:
        for node in following(pending.pop()):
            if node not in found:
                found.add(node)
                pending.append(node)
    return found
