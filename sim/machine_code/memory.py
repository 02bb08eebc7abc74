"""Loads and stores: what of memory the simulation follows, and the wavefronts of an access."""

from __future__ import annotations

import operator
import re

from twill.sim.machine_code.listing import Instruction
from twill.sim.machine_code.registers import (
    LANES,
    NAMED,
    Effect,
    Value,
    Warp,
    address_reader,
    first,
    gathered,
    reader,
    spread,
)

BANKS = 32
_WORD = 4
_ROWS = 8  # of a matrix that LDSM and STSM move
SHARED = "shared memory"


def memory_effect(one: Instruction) -> Effect | None:
    """Return the effect of a load or store on registers and on the memory that is followed.

    Values that came from global memory are zero. Stores to shared memory are followed where all
    lanes have one address, as those of barriers and of a partition's arguments.
    """
    words = 4 if "128" in one.modifiers else 2 if "64" in one.modifiers else 1
    if one.name in ("LDG", "LDS"):
        return _load(one, words)
    if one.name == "LDL":
        return _load_local(one, words)
    if one.name == "STL":
        return _store_local(one, words)
    if one.name == "ATOMS":
        return _update(one)
    return _store(one, words) if one.name == "STS" else None


def _number(text: str) -> tuple[bool, int | None]:
    """Return whether a register is uniform, and its number; None for the zero register."""
    named = NAMED.match(text)
    if named is None:
        raise ValueError(text)
    return named[2] == "UR", None if named[3] == "Z" else int(named[3])


def _load(one: Instruction, words: int) -> Effect:
    _, number = _number(next(text for text in one.operands if NAMED.match(text)))
    place = address_reader(one.operands[-1])
    byte = re.search(r"\.[US]8\b", one.operation) is not None

    def load(warp: Warp) -> None:
        if number is None:
            return
        memory = warp.shared
        if one.name == "LDG" or not memory:
            for n in range(words):
                warp.put(number + n, 0)
            return
        where = place(warp)
        if byte:
            bytes_at = [memory.get(a & ~3, 0) >> 8 * (a & 3) & 255 for a in spread(where)]
            warp.put(number, gathered(tuple(bytes_at)))
            return
        for n in range(words):
            words_at = [memory.get(a + _WORD * n, 0) for a in spread(where)]
            warp.put(number + n, gathered(tuple(words_at)))

    return load


def _store(one: Instruction, words: int) -> Effect:
    place, (uniform, number) = address_reader(one.operands[0]), _number(one.operands[1])

    def store(warp: Warp) -> None:
        where = place(warp)
        if isinstance(where, tuple):
            return
        for n in range(words):
            value: Value = 0
            if number is not None:
                value = warp.uniform[number + n] if uniform else warp.vector[number + n]
            warp.shared[where + _WORD * n] = first(value)

    return store


def _update(one: Instruction) -> Effect:
    """Return the effect of a bitwise update of a word, the same of all lanes."""
    updates = {"AND": operator.and_, "OR": operator.or_}
    update = updates[one.operation.partition(".")[2]]
    place, read = address_reader(one.operands[1]), reader(one.operands[2])

    def store(warp: Warp) -> None:
        where = first(place(warp))
        warp.shared[where] = update(warp.shared.get(where, 0), first(read(warp)))

    return store


def _load_local(one: Instruction, words: int) -> Effect:
    _, number = _number(next(text for text in one.operands if NAMED.match(text)))
    place = address_reader(one.operands[-1])

    def load(warp: Warp) -> None:
        where = first(place(warp))
        for n in range(words):
            if number is not None:
                warp.put(number + n, warp.local.get(where + _WORD * n, 0))

    return load


def _store_local(one: Instruction, words: int) -> Effect:
    place, (_, number) = address_reader(one.operands[0]), _number(one.operands[1])

    def store(warp: Warp) -> None:
        where = first(place(warp))
        for n in range(words):
            warp.local[where + _WORD * n] = 0 if number is None else warp.vector[number + n]

    return store


def wavefronts(addresses: Value, width: int, *, matrix: bool) -> int:
    """Return the wavefronts of 128 bytes that a warp's access to shared memory takes.

    Parameters
    ----------
    addresses : int or tuple of int
        Byte address of each lane.
    width : int
        Words of a lane's access; matrices of LDSM and STSM.
    matrix : bool
        Whether eight lanes give the rows of each matrix.
    """
    if not isinstance(addresses, tuple):
        return 1
    if matrix:
        return sum(
            _conflicts(
                {a // _WORD + n for a in addresses[_ROWS * m : _ROWS * (m + 1)] for n in range(4)}
            )
            for m in range(width)
        )
    pairs_differ = any(addresses[n] != addresses[n ^ 1] for n in range(LANES))
    parts = width if width == 1 or pairs_differ else width // 2
    lanes = LANES // parts
    return sum(
        _conflicts(
            {a // _WORD + n for a in addresses[lanes * p : lanes * (p + 1)] for n in range(width)}
        )
        for p in range(parts)
    )


class Wavefronts:
    """Wavefronts of accesses, each counted once."""

    def __init__(self) -> None:
        self._known: dict[tuple[Value, int, bool], int] = {}

    def of(self, addresses: Value, width: int, *, matrix: bool) -> int:
        """Return the wavefronts of an access; see `wavefronts`."""
        key = addresses, width, matrix
        found = self._known.get(key, 0)
        if not found:
            found = self._known[key] = wavefronts(addresses, width, matrix=matrix)
        return found


def _conflicts(words: set[int]) -> int:
    """Return the most words that lie in one bank."""
    banks = [0] * BANKS
    for word in words:
        banks[word % BANKS] += 1
    return max(banks)
