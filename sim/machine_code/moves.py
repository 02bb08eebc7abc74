"""Moves between registers, predicates and constants: their effects on a warp's registers."""

from __future__ import annotations

import functools
import operator
import re
import struct
from collections.abc import Callable

from twill.sim.machine_code.listing import Instruction
from twill.sim.machine_code.registers import (
    LANES,
    MASK,
    NAMED,
    Effect,
    Warp,
    each,
    first,
    is_predicate,
    predicate_reader,
    predicate_writer,
    reader,
    spread,
    writer,
)


def _mov(one: Instruction) -> Effect:
    write, read = writer(one.operands[0]), reader(one.operands[1])
    return lambda warp: write(warp, read(warp))


def _cs2r(one: Instruction) -> Effect:
    write = writer(one.operands[0], wide="32" not in one.modifiers)
    if "CLOCK" in one.operands[1]:
        return lambda warp: write(warp, warp.special["CLOCK"])
    return lambda warp: write(warp, 0)


def _special(one: Instruction) -> Effect:
    write, name = writer(one.operands[0]), one.operands[1]
    return lambda warp: write(warp, warp.special.get(name, 0))


def _to_uniform(one: Instruction) -> Effect:
    write, read = writer(one.operands[0]), reader(one.operands[-1])
    return lambda warp: write(warp, first(read(warp)))


def _elect(one: Instruction) -> Effect:
    places = [text for text in one.operands if is_predicate(text)]
    decide = predicate_writer(places[0])
    elected = (1,) + (0,) * (LANES - 1)
    return lambda warp: decide(warp, elected)


def _ballot(one: Instruction) -> Effect:
    write, asked = writer(one.operands[0]), predicate_reader(one.operands[-1])
    return lambda warp: write(warp, sum(on << n for n, on in enumerate(spread(asked(warp)))))


def _leading(one: Instruction) -> Effect:
    write, read = writer(one.operands[0]), reader(one.operands[1])
    return lambda warp: write(warp, each(lambda bits: bits.bit_length() - 1 & MASK, read(warp)))


def _reduced(one: Instruction) -> Effect:
    """Return the effect of a bitwise AND of all lanes, the reduction without modifiers."""
    if one.modifiers:
        raise ValueError(one.operation)
    write, read = writer(one.operands[0]), reader(one.operands[1])
    return lambda warp: write(warp, functools.reduce(operator.and_, spread(read(warp))))


def _tensor_memory(one: Instruction) -> Effect:
    """Return the effect of finding columns of tensor memory, the first ones, or none of others."""
    if "FIND_AND_SET" not in one.modifiers:
        return lambda _warp: None
    decide, write = predicate_writer(one.operands[0]), writer(one.operands[1])

    def effect(warp: Warp) -> None:
        decide(warp, 1)
        write(warp, 0)

    return effect


def _vote(one: Instruction) -> Effect:
    if NAMED.match(one.operands[0]):
        return _ballot(one)
    decide = predicate_writer(next(text for text in one.operands if is_predicate(text)))
    asked, any_ = predicate_reader(one.operands[-1]), "ANY" in one.modifiers

    def effect(warp: Warp) -> None:
        value = asked(warp)
        if isinstance(value, tuple):
            value = max(value) if any_ else min(value)
        decide(warp, value)

    return effect


def _plop3(one: Instruction) -> Effect:
    parts = one.operands
    decide, other = predicate_writer(parts[0]), predicate_writer(parts[1])
    reads = [predicate_reader(text) for text in parts[2:5]]
    tables = int(parts[5], 0), int(parts[6], 0)

    def effect(warp: Warp) -> None:
        values = [read(warp) for read in reads]
        for put, table in zip((decide, other), tables, strict=True):
            put(warp, each(lambda a, b, c, t=table: t >> (a * 4 + b * 2 + c) & 1, *values))

    return effect


def _fsetp(one: Instruction) -> Effect:
    """Return false for comparisons of numbers that are not followed."""
    decide, other = predicate_writer(one.operands[0]), predicate_writer(one.operands[1])

    def effect(warp: Warp) -> None:
        decide(warp, 0)
        other(warp, 0)

    return effect


def _predicates_to_register(one: Instruction) -> Effect:
    write, old, mask = writer(one.operands[0]), reader(one.operands[2]), int(one.operands[3], 0)
    uniform = one.operands[1] == "UPR"

    def effect(warp: Warp) -> None:
        value = old(warp)
        predicates = warp.uniform_predicates if uniform else warp.predicates
        for n in range(7):
            if mask >> n & 1:
                value = each(lambda bits, on, n=n: bits & ~(1 << n) | on << n, value, predicates[n])
        write(warp, value)

    return effect


def _register_to_predicates(one: Instruction) -> Effect:
    read, mask = reader(one.operands[1]), int(one.operands[2], 0)

    def effect(warp: Warp) -> None:
        value = read(warp)
        for n in range(7):
            if mask >> n & 1:
                warp.decide(n, each(lambda bits, n=n: bits >> n & 1, value))

    return effect


def _constant(one: Instruction) -> Effect:
    words = 2 if "64" in one.modifiers else 1
    write = writer(one.operands[0], wide=words == 2)
    if named := re.match(r"c\[0x0\]\[(0x[0-9a-f]+)\]$", one.operands[1]):
        offset = int(named[1], 16)
        return lambda warp: write(warp, warp.constant(offset, words))
    indexed = re.match(r"c\[(0x[0-9a-f]+)\]\[(U?R\d+)(?:\+(0x[0-9a-f]+))?\]$", one.operands[1])
    if indexed is None:
        raise ValueError(one.operands[1])
    index, offset = reader(indexed[2]), int(indexed[3] or "0", 16)
    # Banks lie behind one another, 64 KiB each.
    offset += int(indexed[1], 16) << 16
    return lambda warp: write(
        warp, each(lambda place: warp.constant(place + offset, words), index(warp))
    )


def _halves(one: Instruction) -> Effect | None:
    """Return the effect of a product of zeros, by which the compiler moves two constants."""
    write, (left, right, high, low) = writer(one.operands[0]), one.operands[1:5]
    if left.lstrip("-") != "RZ" or right != "RZ" or NAMED.match(high) or NAMED.match(low):
        return None
    whole = int.from_bytes(struct.pack("<2e", float(low), float(high)), "little")
    return lambda warp: write(warp, whole)


MOVES: dict[str, Callable[[Instruction], Effect | None]] = {
    "MOV": _mov,
    "CS2R": _cs2r,
    "S2R": _special,
    "S2UR": _special,
    "R2UR": _to_uniform,
    "ELECT": _elect,
    "FLO": _leading,
    "REDUX": _reduced,
    "UTCATOMSWS": _tensor_memory,
    "UVIRTCOUNT": _tensor_memory,
    "VOTE": _vote,
    "VOTEU": _vote,
    "PLOP3": _plop3,
    "FSETP": _fsetp,
    "HSETP2": _fsetp,
    "P2R": _predicates_to_register,
    "UP2UR": _predicates_to_register,
    "R2P": _register_to_predicates,
    "LDC": _constant,
    "LDCU": _constant,
    "HFMA2": _halves,
}
