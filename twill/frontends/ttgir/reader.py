"""Read a TTGIR dump in MLIR's generic form with xdsl."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    Builtin,
    BytesAttr,
    DenseArrayBase,
    IntegerAttr,
    StringAttr,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.parser import Parser

from twill.base.errors import InputError, short
from twill.frontends.types import Type, parse_type

_ALIAS_LINE = re.compile(r"^(#[A-Za-z_]\w*) = (#.*)$", re.MULTILINE)
_ALIAS_USE = re.compile(r"#[A-Za-z_]\w*(?![\w.<])")
_STRING = re.compile(r'"(?:[^"\\\v\f]|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*"')
ANNOTATIONS = ("twill.", "sched.")  # how the names of our own attributes begin
MOST_ALIAS_DEPTH = 20
LONGEST_TYPE = 10_000
_EXTENTS = re.compile(r"\b(?:tensor|vector|memref)<\s*((?:\d+\s*x\s*)+)")
_DIGITS = re.compile(r"\d+")
_HEAD = re.compile(r'"tt\.func"\(\).*?\^bb0\((.*?)\):\s*$', re.DOTALL | re.MULTILINE)
_ARGUMENT = re.compile(r"%([A-Za-z_$][\w.$-]*): ")
_DESCRIPTOR = re.compile(r"!tt\.tensordesc<(?:tensor<)?((?:\d+x)+)")
MOST_ELEMENTS = 1 << 20  # Triton's own limit
MOST_DIGITS = 7


class Dump:
    """A parsed dump.

    Raises
    ------
    InputError
        If it does not parse.
    """

    def __init__(self, text: str, file: str = "") -> None:
        self.file, self.text = file, text
        self._aliases = dict(_ALIAS_LINE.findall(text))
        self._types: dict[str, Type] = {}
        first = text.split("\n", 1)[0]
        self.compiler = first.removeprefix("// ").split(",")[0] if first.startswith("//") else None
        self._module: Operation = parse_module(text, file, "a TTGIR dump in MLIR's generic form")

    @property
    def architecture(self) -> str | None:
        """Compilation target, for example ``sm_90``."""
        target = self._module.attributes.get("ttg.target")
        return f"sm_{target.data.removeprefix('cuda:')}" if isinstance(target, StringAttr) else None

    def loop_name(self, loop: Operation) -> str | None:
        """Return the induction variable's name, if the dump has it."""
        hint = string(loop, "sched.name")
        return hint or (loop.regions[0].blocks[0].args[0].name_hint if loop.regions else None)

    @property
    def warps(self) -> int:
        """Warps that the layouts are for."""
        return int(integer(self._module, "ttg.num-warps") or 4)

    @property
    def threads_per_warp(self) -> int:
        """Threads of a warp that the layouts are for; Triton takes 32 where none are named."""
        return int(integer(self._module, "ttg.threads-per-warp") or 32)

    @property
    def kernel(self) -> str:
        """Name of the kernel's function."""
        for operation in self._module.walk():
            if name_of(operation) == "tt.func":
                symbol = operation.properties.get("sym_name")
                return symbol.data if isinstance(symbol, StringAttr) else "kernel"
        raise InputError("there is no tt.func", file=self.file)

    @cached_property
    def arguments(self) -> dict[SSAValue, str]:
        """Names of the function's arguments; a descriptor's facts are ``NAME.shape.AXIS`` and so.

        The names are the text's, since xdsl leaves out numbers at their ends. Triton calls the
        facts of a descriptor as the descriptor itself, and numbers them.
        """
        function = next((o for o in self._module.walk() if name_of(o) == "tt.func"), None)
        if function is None or not has_body(function):
            return {}
        arguments = list(function.regions[0].blocks[0].args)
        head = _HEAD.search(self.text)
        names = _ARGUMENT.findall(head[1]) if head is not None else []
        if len(names) != len(arguments):
            names = [a.name_hint or f"argument{n}" for n, a in enumerate(arguments)]
        found: dict[SSAValue, str] = {}
        for position, (argument, name) in enumerate(zip(arguments, names, strict=True)):
            found.setdefault(argument, name)
            tile = _DESCRIPTOR.match(str(argument.type))
            rank = tile[1].count("x") if tile is not None else 0
            facts = [f"{fact}.{axis}" for fact in ("shape", "stride") for axis in range(rank)]
            following = arguments[position + 1 : position + 1 + len(facts)]
            if len(following) == len(facts) and all(
                a.name_hint == argument.name_hint for a in following
            ):
                found |= {a: f"{name}.{f}" for a, f in zip(following, facts, strict=True)}
        return found

    def loops(self) -> list[Operation]:
        """Return every ``scf.for`` in program order."""
        return [o for o in self._module.walk() if name_of(o) == "scf.for"]

    def operations(self) -> Iterator[Operation]:
        """Yield every operation in the order in which their texts end."""
        return _ended(self._module)

    def blocks(self) -> Iterator[Block]:
        """Yield the outermost blocks."""
        yield from (block for region in self._module.regions for block in region.blocks)

    def has(self, name: str) -> bool:
        """Return whether an operation of this name occurs."""
        return any(name_of(operation) == name for operation in self._module.walk())

    def type_of(self, value: SSAValue) -> Type:
        """Return the type of a value."""
        written = str(value.type)
        if written not in self._types:
            self._types[written] = parse_type(self.expanded(written))
        return self._types[written]

    def expanded(self, text: str) -> str:
        """Return a type or an attribute with the aliases in it written out."""
        for _ in range(MOST_ALIAS_DEPTH):
            if len(text) > LONGEST_TYPE:
                wrong = f"a type of more than {LONGEST_TYPE} characters (got {short(text)})"
                raise InputError(wrong, file=self.file)
            longer = _ALIAS_USE.sub(lambda m: self._aliases.get(m[0], m[0]), text)
            if longer == text:
                return text
            text = longer
        raise InputError("attribute aliases refer to each other", file=self.file)


def _ended(operation: Operation) -> Iterator[Operation]:
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.ops:
                yield from _ended(inner)
    yield operation


def parse_module(text: str, file: str, what: str) -> Operation:
    """Return the module that a text in MLIR's generic form describes.

    Raises
    ------
    InputError
        If it does not parse.
    """
    _refuse_open_strings(text, file)
    _refuse_huge_tensors(text, file)
    context = Context(allow_unregistered=True)
    context.load_dialect(Builtin)
    try:
        return Parser(context, text, name=file or "dump").parse_module()
    except Exception as error:
        # The parser ends in exceptions of all kinds, and whatever it raises is about the text.
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"not {what}: {short(reason, 200)}", file=file) from None


def _refuse_open_strings(text: str, file: str) -> None:
    """Refuse a string without an end, which the parser takes forever to find out."""
    for number, line in enumerate(text.split("\n"), 1):
        if '"' in _STRING.sub("", line).split("//", 1)[0]:
            wrong = "has a string without an end, or with an unknown escape"
            raise InputError(f"line {number} {wrong}", file=file)


def _refuse_huge_tensors(text: str, file: str) -> None:
    """Refuse tensors that the parser would write out, element by element, where one is constant."""
    for extents in set(_EXTENTS.findall(text)):
        numbers = _DIGITS.findall(extents)
        longest = max(map(len, numbers))
        if longest > MOST_DIGITS or math.prod(map(int, numbers)) > MOST_ELEMENTS:
            wrong = f"a tensor of more than {MOST_ELEMENTS} elements (got {short(extents)})"
            raise InputError(wrong, file=file)


@dataclass(frozen=True)
class Plain:
    """An operation as plain data: its annotations as JSON would have them, and what is inside."""

    name: str
    attributes: dict[str, Any]
    inside: list[Plain]


def plain(operation: Operation) -> Plain:
    """Return an operation as plain data."""
    attributes = {
        key: _plain(value)
        for key, value in operation.attributes.items()
        if key.startswith(ANNOTATIONS)
    }
    blocks = (block for region in operation.regions for block in region.blocks)
    return Plain(name_of(operation), attributes, [plain(o) for block in blocks for o in block.ops])


def _plain(value: Attribute) -> Any:
    """Return an attribute as JSON would have it; what is none of ours as text."""
    if isinstance(value, StringAttr):
        return value.data
    if isinstance(value, BytesAttr):
        return value.data.decode("utf-8", errors="replace")
    if isinstance(value, IntegerAttr):
        width = getattr(value.type, "bitwidth", 64)
        return bool(value.value.data) if width == 1 else value.value.data
    if isinstance(value, ArrayAttr):
        return [_plain(entry) for entry in value.data]
    return str(value)


def name_of(operation: Operation) -> str:
    """Return an operation's name, also of one that xdsl does not know."""
    unregistered = getattr(operation, "op_name", None)
    return str(unregistered.data) if unregistered is not None else operation.name


def has_body(operation: Operation) -> bool:
    """Return whether an operation has a region with a block that is not empty."""
    return bool(
        operation.regions and operation.regions[0].blocks and operation.regions[0].blocks[0].ops
    )


def attribute(operation: Operation, key: str) -> Any:
    """Return an attribute or property of an operation, or None."""
    found = operation.attributes.get(key)
    return found if found is not None else operation.properties.get(key)


def integer(operation: Operation, key: str) -> int | None:
    """Return an integer attribute's value, or None."""
    value = getattr(attribute(operation, key), "value", None)
    return None if value is None else int(value.data)


def integers(operation: Operation, key: str) -> list[int] | None:
    """Return an integer array attribute's values, or None."""
    found = attribute(operation, key)
    return [int(v) for v in found.get_values()] if isinstance(found, DenseArrayBase) else None


def string(operation: Operation, key: str) -> str | None:
    """Return a string attribute's value, or None."""
    found = attribute(operation, key)
    return found.data if isinstance(found, StringAttr) else None


def uses(operation: Operation) -> Iterator[SSAValue]:
    """Yield what an operation reads, including what its regions capture."""
    inner = [o for o in operation.walk() if o is not operation]
    blocks = [block for region in operation.regions for block in region.blocks]
    inside: set[SSAValue] = {argument for block in blocks for argument in block.args}
    inside.update(result for o in inner for result in o.results)
    yield from operation.operands
    yield from (value for o in inner for value in o.operands if value not in inside)
