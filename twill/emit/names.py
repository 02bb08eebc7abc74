"""Names and numbers of the emitted code, and its long lines."""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass

from twill.lower.iterations import Iteration, not_negative

COUNTER, TRIPS, DONE = "i", "iterations", "done"
SEAM, TURN = "seam", "turn"  # the first iteration of a second loop, and the round it begins in
INDENT = "    "
LINE = 100  # characters of a line of emitted code
STORES = ("tt.descriptor_store", "tt.descriptor_reduce")  # transfers from shared memory
FIRST = Iteration("", 0)
PHASE = "phase"  # parity of a barrier for what is waited for at once
RESERVED = {
    COUNTER,
    TRIPS,
    DONE,
    SEAM,
    TURN,
    PHASE,
    "begin",
    "part",
    "slot",
    "arguments",
    "tiles",
    "gl",
    "gluon",
    "tma",
    "mbarrier",
    "async_copy",
    "torch",
    "tile",
}
"""Names of the emitted code, none of which ends with an underscore."""


@dataclass
class Names:
    """Identifiers of values, apart from the kernel's arguments and the code's own."""

    taken: set[str]

    def __call__(self, name: str) -> str:
        """Return the identifier of a value."""
        found = re.sub(r"\W", "_", name)
        while keyword.iskeyword(found) or found in RESERVED or found in self.taken:
            found += "_"
        return found


def number(iteration: Iteration) -> str:
    """Return an iteration as an expression."""
    base = {"i": COUNTER, "n": TRIPS, "": ""}[iteration.base]
    if not base:
        return str(iteration.offset)
    sign = "-" if iteration.offset < 0 else "+"
    return f"{base} {sign} {abs(iteration.offset)}" if iteration.offset else base


def slot_and_parity(iteration: Iteration, slots: int, *, persistent: bool) -> tuple[str, str]:
    """Return slot and phase parity without negative operands, since ``//`` and ``%`` truncate.

    Of a persistent kernel `done` iterations of earlier output tiles come before.
    """
    later, turns = not_negative(iteration, slots)
    offset = later.offset
    if not iteration.base and not persistent:
        return str(offset % slots), str((offset // slots) & 1)
    base = {"i": COUNTER, "n": TRIPS, "": ""}[iteration.base]
    terms = [t for t in (DONE if persistent else "", base, str(offset) if offset else "") if t]
    whole = " + ".join(terms).replace("+ -", "- ") or "0"
    bracketed = f"({whole})" if len(terms) > 1 else whole
    turn = bracketed if slots == 1 else f"({bracketed} // {slots}{' + 1' if turns & 1 else ''})"
    if slots == 1 and turns & 1:
        turn = f"({whole} + 1)"
    return ("0" if slots == 1 else f"{bracketed} % {slots}"), f"{turn} & 1"
