"""What users decide about a schedule beforehand."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Wishes:
    """What a user has decided about a schedule beforehand.

    Attributes
    ----------
    limits : tuple of (str, int)
        Most ``registers`` per thread of a group, warp ``groups``, ``transfers`` and ``stages``.
    pins : tuple of (int, str)
        Operations with the names of their groups: one name is one group.
    orders : tuple of (int, int)
        Pairs of operations; the second issues no earlier in its iteration than the first.
    shape : tuple of (int, int, int)
        For each operation a group, a stage and a rank: nothing but the times is left to choose.
        Operations of one rank start together in their rows or in any order.
    """

    limits: tuple[tuple[str, int], ...] = ()
    pins: tuple[tuple[int, str], ...] = ()
    orders: tuple[tuple[int, int], ...] = ()
    shape: tuple[tuple[int, int, int], ...] = ()

    def limit(self, name: str) -> int | None:
        """Return a limit, None if there is none."""
        return dict(self.limits).get(name)
