"""Attributes, operations and types of MLIR from plain values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    IntegerAttr,
    StringAttr,
    UnregisteredOp,
    i64,
)
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.parser import Parser

from twill.artifacts.loop import Tile
from twill.artifacts.schedule import Storage

NAME = re.compile(r"[A-Za-z_][\w.]*")
_SPACES = {"smem": "#ttg.shared_memory", "tmem": "#ttng.tensor_memory"}
_ELEMENTS = {"f8e4m3": "f8E4M3FN", "f8e5m2": "f8E5M2", "f4e2m1": "f4E2M1FN"}
Plain = str | int | bool | Sequence[str] | Sequence[int]


def attribute_of(value: Plain) -> Attribute:
    """Return a plain value as an attribute."""
    if isinstance(value, bool):
        return BoolAttr.from_bool(value)
    if isinstance(value, int):
        return IntegerAttr(value, i64)
    if isinstance(value, str):
        return StringAttr(value)
    return ArrayAttr([attribute_of(entry) for entry in value])


def operation_of(
    name: str,
    attributes: Mapping[str, Plain | None],
    operands: Sequence[SSAValue] = (),
    results: Sequence[tuple[str, Attribute]] = (),
    regions: Sequence[Region] = (),
) -> Operation:
    """Return an operation.

    `results`: what its results are called, as far as MLIR allows, and their types.
    """
    made = UnregisteredOp.with_name(name).create(
        operands=operands,
        result_types=[kind for _, kind in results],
        attributes={k: attribute_of(v) for k, v in attributes.items() if v is not None},
        regions=regions,
    )
    for result, (called, _) in zip(made.results, results, strict=True):
        hint(result, called)
    return made


def hint(value: SSAValue, name: str) -> None:
    """Call a value by a name, if MLIR allows it."""
    if NAME.fullmatch(name):
        value.name_hint = name.replace(".", "_")


@dataclass
class Types:
    """Tiles as MLIR types.

    Attributes
    ----------
    context : Context
        That knows the builtin dialect.
    known : dict
        Types by their text.
    """

    context: Context
    known: dict[str, Attribute] = field(default_factory=dict)

    def registers(self, tile: Tile) -> Attribute:
        """Return the type of a tile in registers."""
        return self._parsed(f"tensor<{self._elements(tile)}>")

    def input(self, tile: Tile) -> Attribute:
        """Return the type of an invariant, where it lies."""
        if tile.memory not in _SPACES:
            return self.registers(tile)
        return self._parsed(f"!ttg.memdesc<{self._elements(tile)}, {_SPACES[tile.memory]}>")

    def memory(self, tile: Tile, storage: Storage) -> Attribute:
        """Return the type of the slots of a tile."""
        space = _SPACES.get(storage.memory, "#ttg.shared_memory")
        return self._parsed(
            f"!ttg.memdesc<{storage.slots}x{self._elements(tile)}, {space}, mutable>"
        )

    def _elements(self, tile: Tile) -> str:
        return "".join(f"{n}x" for n in tile.shape) + _ELEMENTS.get(tile.dtype, tile.dtype)

    def _parsed(self, text: str) -> Attribute:
        if text not in self.known:
            self.known[text] = Parser(self.context, text).parse_type()
        return self.known[text]
