"""Integer, address and predicate instructions: their effects on a warp's registers.

Each builder makes a function of a warp from an instruction's text, once; the function is called
for every execution. The names are those of the machine code; the letter U in front means uniform
registers and changes nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from twill.sim.machine_code.listing import Instruction
from twill.sim.machine_code.moves import MOVES
from twill.sim.machine_code.registers import (
    MASK,
    WIDE,
    Effect,
    Reader,
    Value,
    Warp,
    Writer,
    bits_of,
    each,
    is_predicate,
    number_of,
    predicate_reader,
    predicate_writer,
    reader,
    signed,
    writer,
)

COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "EQ": lambda a, b: a == b,
    "NE": lambda a, b: a != b,
    "LT": lambda a, b: a < b,
    "LE": lambda a, b: a <= b,
    "GT": lambda a, b: a > b,
    "GE": lambda a, b: a >= b,
}
_COMBINED: dict[str, Callable[[int, int], int]] = {
    "AND": lambda a, b: a & b,
    "OR": lambda a, b: a | b,
    "XOR": lambda a, b: a ^ b,
}
_NONE = ("RZ", "URZ")


def _chain(write: Writer, operation: Callable[..., int], *reads: Reader) -> Effect:
    """Return what writes the result of an operation on some operands."""
    if len(reads) == 1:
        (one,) = reads
        return lambda warp: write(warp, each(operation, one(warp)))
    if len(reads) == 2:
        left, right = reads
        return lambda warp: write(warp, each(operation, left(warp), right(warp)))
    return lambda warp: write(warp, each(operation, *[read(warp) for read in reads]))


def _zero(_: Warp) -> Value:
    return 0


def _isetp(one: Instruction) -> Effect:
    words = one.operation.split(".")
    parts = one.operands
    compare, as_signed, extended = COMPARISONS[words[1]], "U32" not in words, "EX" in words
    combine = _COMBINED[next(word for word in words if word in _COMBINED)]
    decide, other = predicate_writer(parts[0]), predicate_writer(parts[1])
    left, right = reader(parts[2]), reader(parts[3])
    given = [predicate_reader(text) for text in parts[4:]]
    kept = given[0] if given else (lambda _: 1)
    low = given[1] if len(given) > 1 else (lambda _: 1)
    same = words[1] in ("EQ", "NE")

    def decided(a: int, b: int, keep: int, below: int) -> int:
        if extended and same:
            found = (a == b and bool(below)) if words[1] == "EQ" else (a != b or bool(below))
        elif extended and a == b:
            found = bool(below)
        else:
            found = compare(signed(a), signed(b)) if as_signed else compare(a, b)
        return combine(int(found), keep)

    def effect(warp: Warp) -> None:
        value = each(decided, left(warp), right(warp), kept(warp), low(warp))
        decide(warp, value)
        other(warp, each(lambda found: 1 - found, value))

    return effect


def _lop3(one: Instruction) -> Effect:
    parts = one.operands
    decide = predicate_writer(parts[0]) if is_predicate(parts[0]) else None
    parts = parts[1:] if decide else parts
    write, table = writer(parts[0]), int(parts[4], 0)
    reads = [reader(text) for text in parts[1:4]]

    def looked_up(a: int, b: int, c: int) -> int:
        found = 0
        for row in range(8):
            if table >> row & 1:
                chosen = a if row & 4 else ~a
                chosen &= b if row & 2 else ~b
                found |= chosen & (c if row & 1 else ~c)
        return found & MASK

    def effect(warp: Warp) -> None:
        value = each(looked_up, *[read(warp) for read in reads])
        write(warp, value)
        if decide:
            decide(warp, each(lambda bits: int(bits != 0), value))

    return effect


def _shf(one: Instruction) -> Effect:
    words = one.modifiers
    left, high, wide = "L" in words, "HI" in words, bool(words & {"U64", "S64"})
    as_signed, wraps = bool(words & {"S32", "S64"}), "W" in words

    def shifted(low: int, count: int, above: int) -> int:
        if wide or (not high and not left):
            both, count = above << 32 | low, min(count & 255, 64)
            if as_signed and both >> 63:
                both -= 1 << 64
            both = both << count if left else both >> count
            return (both >> 32 if high else both) & MASK
        count = count & 31 if wraps else min(count & 255, 32)
        if left:
            return ((above << 32 | low) << count >> 32 if high else low << count) & MASK
        return (signed(above) if as_signed else above) >> count & MASK

    return _chain(writer(one.operands[0]), shifted, *map(reader, one.operands[1:4]))


def _sgxt(one: Instruction) -> Effect:
    plain = "U32" in one.modifiers

    def extended(value: int, width: int) -> int:
        width = min(width, 32)
        value &= (1 << width) - 1
        if plain or not width or not value >> (width - 1) & 1:
            return value
        return value - (1 << width) & MASK

    return _chain(writer(one.operands[0]), extended, *map(reader, one.operands[1:3]))


def _lea(one: Instruction) -> Effect:
    write, parts = writer(one.operands[0]), list(one.operands[1:])
    carries = predicate_writer(parts.pop(0)) if is_predicate(parts[0]) else None
    carried = predicate_reader(parts.pop()) if is_predicate(parts[-1]) else _zero
    if "X" not in one.modifiers:
        carried = _zero
    if "HI" in one.modifiers:
        return _lea_high(one, write, parts, carried)
    shift = parts[2] if len(parts) > 2 else "0x0"
    factor, base, count = reader(parts[0]), reader(parts[1]), reader(shift)

    def effect(warp: Warp) -> None:
        total = each(lambda a, b, n: (a << n & MASK) + b, factor(warp), base(warp), count(warp))
        write(warp, each(lambda value: value & MASK, total))
        if carries:
            carries(warp, each(lambda value: int(value > MASK), total))

    return effect


def _lea_high(one: Instruction, write: Writer, parts: list[str], carried: Reader) -> Effect:
    low, base, count = reader(parts[0]), reader(parts[1]), reader(parts[-1])
    if "SX32" in one.modifiers:
        return _chain(
            write,
            lambda a, b, n, c: (signed(a) << n >> 32) + b + c & MASK,
            low,
            base,
            count,
            carried,
        )
    above = reader(parts[2]) if len(parts) == 4 else _zero
    return _chain(
        write,
        lambda a, b, h, n, c: ((h << 32 | a) << n >> 32) + b + c & MASK,
        low,
        base,
        above,
        count,
        carried,
    )


def _iadd3(one: Instruction) -> Effect:
    write, parts = writer(one.operands[0]), list(one.operands[1:])
    carries = []
    while is_predicate(parts[0]):
        carries.append(predicate_writer(parts.pop(0)))
    reads = [reader(text) for text in parts[:3]]
    if "X" in one.modifiers:
        reads += [predicate_reader(text) for text in parts[3:]]

    def effect(warp: Warp) -> None:
        total = each(lambda *values: sum(values), *[read(warp) for read in reads])
        write(warp, each(lambda value: value & MASK, total))
        for carry in carries:
            carry(warp, each(lambda value: int(value > MASK), total))

    return effect


def _viadd(one: Instruction) -> Effect:
    parts = one.operands
    return _chain(writer(parts[0]), lambda a, b: a + b & MASK, *map(reader, parts[1:3]))


def _vimnmx(one: Instruction) -> Effect:
    plain = "U32" in one.modifiers

    def chosen(a: int, b: int, least: int) -> int:
        smaller = a < b if plain else signed(a) < signed(b)
        return a if smaller == bool(least) else b

    write, reads = (
        writer(one.operands[0]),
        [reader(text) for text in one.operands[1:-1] if not is_predicate(text)],
    )
    least = predicate_reader(one.operands[-1])
    if one.name.endswith("VIADDMNMX"):
        return _chain(write, lambda a, b, c, m: chosen(a + b & MASK, c, m), *reads[:3], least)
    return _chain(write, chosen, *reads[:2], least)


def _iabs(one: Instruction) -> Effect:
    return _chain(writer(one.operands[0]), lambda a: abs(signed(a)) & MASK, reader(one.operands[1]))


def _sel(one: Instruction) -> Effect:
    parts = one.operands
    reads = reader(parts[1]), reader(parts[2]), predicate_reader(parts[3])
    return _chain(writer(parts[0]), lambda a, b, keep: a if keep else b, *reads)


def _prmt(one: Instruction) -> Effect:
    def permuted(low: int, selector: int, high: int) -> int:
        both, found = high << 32 | low, 0
        for place in range(4):
            choice = selector >> 4 * place & 15
            byte = both >> 8 * (choice & 7) & 255
            if choice & 8:
                byte = 255 if byte & 128 else 0
            found |= byte << 8 * place
        return found

    return _chain(writer(one.operands[0]), permuted, *map(reader, one.operands[1:4]))


def _imad(one: Instruction) -> Effect:
    words, parts = one.modifiers, [*one.operands]
    if is_predicate(parts[1]):
        del parts[1]
    plain, wide = "U32" in words, "WIDE" in words

    def product(a: int, b: int) -> int:
        return a * b if plain else signed(a) * signed(b)

    left, right = reader(parts[1]), reader(parts[2])
    if wide or "HI" in words:
        added = _zero if parts[3] in _NONE else reader(parts[3], wide=True)
        write = writer(parts[0], wide=wide)
        if wide:
            return _chain(write, lambda a, b, c: product(a, b) + c & WIDE, left, right, added)
        return _chain(write, lambda a, b, c: product(a, b) + c >> 32 & MASK, left, right, added)
    has_carry = "X" in words and len(parts) > 4
    carry = predicate_reader(parts[4]) if has_carry else _zero
    write = writer(parts[0])
    if parts[1] in _NONE or parts[2] in _NONE:
        added = reader(parts[3])
        return _chain(write, lambda c, x: c + x & MASK, added, carry)
    return _chain(
        write, lambda a, b, c, x: a * b + c + x & MASK, left, right, reader(parts[3]), carry
    )


def _to_float(one: Instruction) -> Effect:
    plain = bool(one.modifiers & {"U32", "RP"})
    return _chain(
        writer(one.operands[0]),
        lambda a: bits_of(float(a if plain else signed(a))),
        reader(one.operands[1]),
    )


def _to_integer(one: Instruction) -> Effect:
    def rounded(bits: int) -> int:
        number = number_of(bits)
        return max(0, min(MASK, int(number))) if math.isfinite(number) else 0

    return _chain(writer(one.operands[0]), rounded, reader(one.operands[1]))


def _reciprocal(one: Instruction) -> Effect:
    """Return an effect for divisions by integers, which begin with an approximation."""

    def inverse(bits: int) -> int:
        number = number_of(bits)
        return bits_of(1 / number) if number and math.isfinite(number) else 0

    return _chain(writer(one.operands[0]), inverse, reader(one.operands[1]))


BUILDERS: dict[str, Callable[[Instruction], Effect | None]] = {
    **MOVES,
    "ISETP": _isetp,
    "LOP3": _lop3,
    "SHF": _shf,
    "SGXT": _sgxt,
    "LEA": _lea,
    "IADD3": _iadd3,
    "VIADD": _viadd,
    "VIMNMX": _vimnmx,
    "IMNMX": _vimnmx,
    "VIADDMNMX": _vimnmx,
    "IABS": _iabs,
    "SEL": _sel,
    "PRMT": _prmt,
    "IMAD": _imad,
    "I2F": _to_float,
    "I2FP": _to_float,
    "F2I": _to_integer,
}


def effect_of(one: Instruction) -> Effect | None:
    """Return the effect of an instruction on integers, None if this room has none for it."""
    if one.operation.startswith("MUFU.RCP"):
        return _reciprocal(one)
    name = one.name
    build = BUILDERS.get(name) or (BUILDERS.get(name[1:]) if name.startswith("U") else None)
    return build(one) if build else None
