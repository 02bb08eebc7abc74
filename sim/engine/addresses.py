"""Which slots lie over each other in SMEM and TMEM."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from twill.artifacts.schedule import Storage

Slot = tuple[str, bool, int]
"""A value, whether it is the staging of a register value, and the slot."""


def beneath(storage: Iterable[Storage]) -> dict[Slot, list[Slot]]:
    """Return, for every slot with an address, the other slots that a write to it destroys.

    `storage`: A schedule's storage; addresses are bytes, or columns with the half of their lanes.
    """
    found: dict[Slot, list[Slot]] = defaultdict(list)
    cells: dict[str, list[tuple[int, int, frozenset[int], Slot]]] = defaultdict(list)
    for entry in storage:
        for number, address in enumerate(entry.addresses):
            lanes = frozenset({entry.halves[number]} if entry.halves else {0, 1})
            slot = (entry.value, entry.transfer, number)
            end = address + entry.size
            for begun, ended, taken, other in cells[entry.memory]:
                if address < ended and begun < end and lanes & taken:
                    found[slot].append(other)
                    found[other].append(slot)
            cells[entry.memory].append((address, end, lanes, slot))
    return dict(found)
