"""Registers of a warp that the simulation follows: integers, addresses and predicates.

A value is an integer if all 32 lanes have the same one, else a tuple of 32. Predicates are 0 or 1.
Floating point is left out: such a register keeps what it had.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable

Value = int | tuple[int, ...]
LANES = 32
MASK = 0xFFFFFFFF
WIDE = (1 << 64) - 1
NAMED = re.compile(r"^([-~!|]*)(U?R)(\d+|Z)(?:\.(?:reuse|64|H0_H0|H1_H1|X4|X8|X16|B\d))*\|?$")
PREDICATE = re.compile(r"^(!?)(U?P)(\d|T)$")
_NUMBER = re.compile(r"^-?(0x[0-9a-f]+|\d+)$")
_CONSTANT = re.compile(r"^([-~!|]*)c\[0x0\]\[(0x[0-9a-f]+)\]\|?$")
_ALWAYS = 7  # the predicate that is always true
_FLOATS = {"+INF": "inf", "-INF": "-inf", "+QNAN": "nan", "-QNAN": "nan"}


class Warp:
    """The registers of one warp, and what of memory it reads.

    Attributes
    ----------
    vector, uniform, predicates, uniform_predicates : list
        Registers of each kind.
    lanes : tuple of int, optional
        The lanes that an instruction is executed by, if not all of them.
    constants : dict
        Words of the constant bank, by offset.
    local, shared : dict
        Words of memory, by address; of local memory with all lanes.
    special : dict
        Special registers.
    """

    def __init__(
        self, constants: dict[int, int], special: dict[str, Value], shared: dict[int, int]
    ) -> None:
        self.vector: list[Value] = [0] * 260
        self.uniform: list[int] = [0] * 132
        self.predicates: list[Value] = [*[0] * _ALWAYS, 1]
        self.uniform_predicates: list[int] = [0] * _ALWAYS + [1]
        self.lanes: tuple[int, ...] | None = None
        self.constants = constants
        self.local: dict[int, Value] = {}
        self.shared = shared
        self.special = special

    def put(self, register: int, value: Value) -> None:
        """Write a vector register, in the lanes that are on."""
        if self.lanes is not None:
            value = merged(self.lanes, value, self.vector[register])
        self.vector[register] = value

    def decide(self, predicate: int, value: Value) -> None:
        """Write a predicate, in the lanes that are on."""
        if self.lanes is not None:
            value = merged(self.lanes, value, self.predicates[predicate])
        self.predicates[predicate] = value

    def constant(self, offset: int, words: int = 1) -> int:
        """Return what the constant bank has at an offset."""
        return sum(self.constants.get(offset + 4 * n, 0) << 32 * n for n in range(words))


Reader = Callable[[Warp], Value]
Writer = Callable[[Warp, Value], None]
Effect = Callable[[Warp], None]


def lane(value: Value, number: int) -> int:
    """Return the value of one lane."""
    return value[number] if isinstance(value, tuple) else value


def first(value: Value) -> int:
    """Return the value of the first lane."""
    return value[0] if isinstance(value, tuple) else value


def spread(value: Value) -> tuple[int, ...]:
    """Return the values of all lanes."""
    return value if isinstance(value, tuple) else (value,) * LANES


def gathered(values: tuple[int, ...]) -> Value:
    """Return values of all lanes, as one if they are the same."""
    return values[0] if values.count(values[0]) == LANES else values


def merged(lanes: tuple[int, ...], new: Value, old: Value) -> Value:
    """Return new values in the lanes that are on, and old ones in the others."""
    both = zip(lanes, spread(new), spread(old), strict=True)
    return gathered(tuple([a if on else b for on, a, b in both]))


def each(operation: Callable[..., int], *values: Value) -> Value:
    """Return the result of an operation in each lane."""
    if not any(isinstance(value, tuple) for value in values):
        return operation(*values)
    lanes = [spread(value) for value in values]
    if len(lanes) == 1:
        return gathered(tuple([operation(a) for a in lanes[0]]))
    if len(lanes) == 2:
        return gathered(tuple([operation(a, b) for a, b in zip(*lanes, strict=True)]))
    return gathered(tuple([operation(*row) for row in zip(*lanes, strict=True)]))


def signed(value: int) -> int:
    """Return 32 bits as a signed number."""
    return value - (1 << 32) if value & 0x80000000 else value


def bits_of(number: float) -> int:
    """Return the bits of a number in FP32."""
    try:
        return int.from_bytes(struct.pack("<f", number), "little")
    except OverflowError:
        return 0x7F800000


def number_of(bits: int) -> float:
    """Return the FP32 number of some bits."""
    return float(struct.unpack("<f", struct.pack("<I", bits & MASK))[0])


def reader(text: str, *, wide: bool = False) -> Reader:
    """Return what reads an operand as 32 bits, or 64."""
    if named := NAMED.match(text):
        sign, plain = named[1], _register(named[2], named[3], wide=wide)
    elif constant := _CONSTANT.match(text):
        offset, words = int(constant[2], 16), 2 if wide else 1
        sign, plain = constant[1], lambda warp: warp.constant(offset, words)
    else:
        number = _number(text, WIDE if wide else MASK)
        return lambda _: number
    mask = WIDE if wide else MASK
    if "-" in sign:
        return lambda warp: each(lambda value: -value & mask, plain(warp))
    if "~" in sign or "!" in sign:
        return lambda warp: each(lambda value: ~value & mask, plain(warp))
    return plain


def _number(text: str, mask: int) -> int:
    if _NUMBER.match(text):
        return int(text, 0) & mask
    if text in ("SRZ", "RZ"):
        return 0
    return bits_of(float(_FLOATS.get(text, text)))


def _register(kind: str, number: str, *, wide: bool) -> Reader:
    if number == "Z":
        return lambda _: 0
    n = int(number)
    if kind == "UR":
        if wide:
            return lambda warp: warp.uniform[n] | warp.uniform[n + 1] << 32
        return lambda warp: warp.uniform[n]
    if wide:
        return lambda warp: each(lambda a, b: a | b << 32, warp.vector[n], warp.vector[n + 1])
    return lambda warp: warp.vector[n]


def writer(text: str, *, wide: bool = False) -> Writer:
    """Return what writes an operand of 32 bits, or 64."""
    named = NAMED.match(text)
    if named is None:
        raise ValueError(text)
    if named[3] == "Z":
        return lambda _warp, _value: None
    n, uniform = int(named[3]), named[2] == "UR"

    def put_uniform(warp: Warp, value: Value) -> None:
        whole = first(value)
        warp.uniform[n] = whole & MASK
        if wide:
            warp.uniform[n + 1] = whole >> 32 & MASK

    def put_wide(warp: Warp, value: Value) -> None:
        warp.put(n, each(lambda whole: whole & MASK, value))
        warp.put(n + 1, each(lambda whole: whole >> 32 & MASK, value))

    if uniform:
        return put_uniform
    return put_wide if wide else lambda warp, value: warp.put(n, value)


def is_predicate(text: str) -> bool:
    """Return whether an operand is a predicate."""
    return PREDICATE.match(text) is not None


def predicate_reader(text: str) -> Reader:
    """Return what reads a predicate."""
    named = PREDICATE.match(text)
    if named is None:
        raise ValueError(text)
    n = _ALWAYS if named[3] == "T" else int(named[3])
    if named[2] == "UP":
        if named[1]:
            return lambda warp: 1 - warp.uniform_predicates[n]
        return lambda warp: warp.uniform_predicates[n]
    if named[1]:
        return lambda warp: each(lambda value: 1 - value, warp.predicates[n])
    return lambda warp: warp.predicates[n]


def predicate_writer(text: str) -> Writer:
    """Return what writes a predicate."""
    named = PREDICATE.match(text)
    if named is None:
        raise ValueError(text)
    if named[3] == "T":
        return lambda _warp, _value: None
    n = int(named[3])
    if named[2] == "P":
        return lambda warp, value: warp.decide(n, value)

    def put(warp: Warp, value: Value) -> None:
        warp.uniform_predicates[n] = first(value)

    return put


def address_reader(text: str) -> Reader:
    """Return what computes an address such as ``[R2+UR21+0x30124]``."""
    inner = re.findall(r"\[([^\]]*)\]", text)[-1]
    wide = ".64" in inner
    parts: list[tuple[Reader, int]] = []
    for part in inner.split("+"):
        scaled = re.search(r"\.X(\d+)$", part)
        name = part[: scaled.start()] if scaled else part
        parts.append((reader(name, wide=name.endswith(".64")), int(scaled[1]) if scaled else 1))
    mask = WIDE if wide else MASK

    def address(warp: Warp) -> Value:
        same, total = 0, None
        for read, scale in parts:
            value = read(warp)
            if not isinstance(value, tuple):
                same += value * scale
            elif total is None:
                total = [one * scale for one in value]
            else:
                total = [a + b * scale for a, b in zip(total, value, strict=True)]
        if total is None:
            return same & mask
        return tuple([one + same & mask for one in total])

    return address
