"""The format ``ddg-0.1``: what is read of it, checked."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, NonNegativeInt, ValidationError, model_validator

from twill.artifacts.base import Artifact, Part, check_known, refuse
from twill.artifacts.loop import (
    MOST_DISTANCE,
    MOST_WARPS,
    Delay,
    Dependence,
    Name,
    Tile,
    Visible,
    zero_distance_cycle,
)
from twill.base.errors import InputError, short
from twill.frontends.shared import complaint
from twill.frontends.ttgir.kinds import VIEWS
from twill.frontends.types import Type, is_shaped, parse_type

MOST_NODES, MOST_EDGES = 2_000, 20_000
MOST_DIMENSIONS = 8
_SCALAR = re.compile(r"^(i\d+|f\d+\w*|bf16|index)$")
LENIENT = ConfigDict(extra="ignore", frozen=True, strict=True, allow_inf_nan=False)

Number = Annotated[int, Field(ge=0, le=1 << 40)]
Distance = Annotated[int, Field(ge=0, le=MOST_DISTANCE)]
Warps = Annotated[int, Field(gt=0, le=MOST_WARPS)]
Kind = Annotated[str, Field(min_length=1, max_length=100), Visible]
Pipeline = Literal["TMA", "TC", "CUDA", "SFU", "NONE"]


class Lenient(Part):
    """A part of a foreign file, whose other keys are ignored."""

    model_config = LENIENT


class IterationArgument(Lenient):
    """A value that a loop carries, by its position."""

    loop: NonNegativeInt
    idx: NonNegativeInt


class Operand(Lenient):
    """An operand: the result of an operation, a constant, a loop-carried value, ..."""

    op: str | None = None
    result: NonNegativeInt = 0
    iter_arg: IterationArgument | None = None
    const: int | float | bool | str | None = None


class Op(Lenient):
    """An operation of the kernel."""

    kind: Kind
    scope: str = "function"
    operands: tuple[Operand, ...] = ()
    result_types: tuple[str, ...] = ()


class Node(Lenient):
    """An operation of a loop with its costs, in cycles."""

    id: Number
    op_ref: str
    op_kind: Kind
    pipeline: Pipeline
    latency: Delay
    self_latency: Delay
    occupancy: Delay
    min_warps: Warps
    is_super_node: bool = False


class Edge(Lenient):
    """`dst` issues at least `latency` cycles after `src` of `distance` iterations before."""

    src: Number
    dst: Number
    kind: Literal["data", "loop_carried"]
    distance: Distance
    latency: Delay


class Graph(Lenient):
    """The dependence graph of a loop."""

    nodes: Annotated[tuple[Node, ...], Field(max_length=MOST_NODES)]
    edges: Annotated[tuple[Edge, ...], Field(max_length=MOST_EDGES)] = ()

    @model_validator(mode="after")
    def _check(self) -> Self:
        seen: set[int] = set()
        for index, node in enumerate(self.nodes):
            if node.id in seen:
                raise refuse(f"nodes[{index}].id", f"a second node {node.id}")
            seen.add(node.id)
            if node.pipeline == "NONE" and node.occupancy:
                wrong = f"a node of pipeline NONE occupies nothing (got {node.occupancy})"
                raise refuse(f"nodes[{index}].occupancy", wrong)
        for index, edge in enumerate(self.edges):
            for end in ("src", "dst"):
                if getattr(edge, end) not in seen:
                    raise refuse(f"edges[{index}].{end}", f"no node {getattr(edge, end)}")
        cycle = zero_distance_cycle(
            Dependence(producer=str(e.src), consumer=str(e.dst), distance=e.distance)
            for e in self.edges
        )
        if cycle:
            raise refuse("edges", "a cycle of distance 0 can never execute: " + " -> ".join(cycle))
        return self


class LoopEntry(Lenient):
    """A loop of the kernel."""

    loop_id: Number
    is_outer: bool = False
    res_mii: Number | None = None
    ddg: Graph


class Kernel(Lenient):
    """The kernel."""

    name: Name


class DependenceGraphs(Artifact):
    """A whole file."""

    model_config = LENIENT

    schema_version: Literal["ddg-0.1"]
    kernel: Kernel
    ops: dict[Name, Op]
    loops: tuple[LoopEntry, ...]

    def result(self, name: str, position: int) -> Tile | None:
        """Return a result of an operation as a tile, None if it holds no data."""
        text = self.ops[name].result_types[position]
        return tile_of(text, path=f"ops.{name}.result_types[{position}]")

    def tile(self, operand: Operand) -> Tile | None:
        """Return the tile that an operand names."""
        return None if operand.op is None else self.result(operand.op, operand.result)

    def carried(self, operand: Operand) -> Operand | None:
        """Return what a loop carries as an operand; None if the file does not say."""
        seen: set[IterationArgument] = set()
        while operand.iter_arg is not None:
            argument = operand.iter_arg
            made = self._yields.get(argument.loop, ())
            if argument in seen or argument.idx >= len(made):
                return None
            seen.add(argument)
            operand = made[argument.idx]
        return operand

    def root(self, operand: Operand) -> Operand | None:
        """Follow views back to the buffer that they show."""
        seen: set[str] = set()
        while operand.op is not None and operand.op not in seen:
            seen.add(operand.op)
            op = self.ops[operand.op]
            if op.kind not in VIEWS or not op.operands:
                return operand
            operand = op.operands[0]
        return None

    @cached_property
    def _yields(self) -> dict[int, tuple[Operand, ...]]:
        """Values that each loop hands on."""
        return {
            loop.loop_id: op.operands
            for loop in self.loops
            for op in self.ops.values()
            if op.kind == "scf.yield" and op.scope == f"loop:{loop.loop_id}"
        }

    @model_validator(mode="after")
    def _check(self) -> Self:
        for name, op in self.ops.items():
            for position, operand in enumerate(op.operands):
                where, made = f"ops.{name}.operands[{position}]", operand.op
                if made is None:
                    continue
                check_known(f"{where}.op", made, self.ops, "operation")
                results = len(self.ops[made].result_types)
                if operand.result >= results:
                    wrong = f"{short(made)} has {results} results (got {operand.result})"
                    raise refuse(f"{where}.result", wrong)
        for index, loop in enumerate(self.loops):
            for position, node in enumerate(loop.ddg.nodes):
                where = f"loops[{index}].ddg.nodes[{position}].op_ref"
                check_known(where, node.op_ref, self.ops, "operation")
        return self


def is_integer(text: str) -> bool:
    """Return whether a type is an integer scalar."""
    return _SCALAR.match(text) is not None and text.startswith("i")


def tile_of(text: str, *, path: str) -> Tile | None:
    """Return a type as a tile; None for what holds no data: tokens, descriptors, pointers.

    Raises
    ------
    InputError
        If it is a tensor or a buffer of a form or element type that is not known.
    """
    if _SCALAR.match(text):
        return Type("scalar", (), "i64" if text == "index" else text).tile()
    if not is_shaped(text) or "!tt.ptr" in text:
        return None
    try:
        found = parse_type(text)
        if found.kind != "scalar" and 1 <= len(found.shape) <= MOST_DIMENSIONS:
            return found.checked_tile()
    except ValidationError as error:
        raise InputError(complaint(error), path=path) from None
    except (InputError, KeyError, IndexError, TypeError, ValueError, ZeroDivisionError):
        layout = text.partition(", ")[2].removesuffix(">")
        raise InputError(f"not a layout for its shape (got {short(layout)})", path=path) from None
    wanted = "a type that is known" if found.kind == "scalar" else "the shape of a tile"
    raise InputError(f"not {wanted} (got {short(text)})", path=path)
