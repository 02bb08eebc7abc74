"""The format ``ddg-0.1``: what is read of it, checked; types as MLIR writes them."""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, NonNegativeInt, ValidationError, model_validator

from twill.artifacts.base import Artifact, Part, refuse
from twill.artifacts.loop import (
    ELEMENT_BITS,
    MOST_DISTANCE,
    MOST_WARPS,
    Delay,
    Dependence,
    MemoryName,
    Name,
    Tile,
    Visible,
    zero_distance_cycle,
)
from twill.errors import InputError, short

_VERSION = re.compile(rb'"schema_version"\s*:\s*"ddg-')
MOST_NODES, MOST_EDGES = 2_000, 20_000
LENIENT = ConfigDict(extra="ignore", frozen=True, strict=True, allow_inf_nan=False)

Number = Annotated[int, Field(ge=0, le=1 << 40)]
Distance = Annotated[int, Field(ge=0, le=MOST_DISTANCE)]
Warps = Annotated[int, Field(gt=0, le=MOST_WARPS)]
Kind = Annotated[str, Field(min_length=1, max_length=100), Visible]
Pipeline = Literal["TMA", "TC", "CUDA", "SFU", "NONE"]


def is_ddg(data: bytes) -> bool:
    """Return whether a JSON document says that it is a dependence graph of this family."""
    return _VERSION.search(data) is not None


class _Lenient(Part):
    model_config = LENIENT


class IterationArgument(_Lenient):
    """A value that a loop carries, by its position."""

    loop: NonNegativeInt
    idx: NonNegativeInt


class Operand(_Lenient):
    """What an operation reads: an operation's result, a constant, what a loop carries, ..."""

    op: str | None = None
    result: NonNegativeInt = 0
    iter_arg: IterationArgument | None = None
    const: int | float | bool | str | None = None


class Op(_Lenient):
    """An operation of the kernel."""

    kind: Kind
    scope: str = "function"
    operands: tuple[Operand, ...] = ()
    result_types: tuple[str, ...] = ()


class Node(_Lenient):
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


class Edge(_Lenient):
    """`dst` issues at least `latency` cycles after `src` of `distance` iterations before."""

    src: Number
    dst: Number
    kind: Literal["data", "loop_carried"]
    distance: Distance
    latency: Delay


class Graph(_Lenient):
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
                raise refuse(
                    f"nodes[{index}].occupancy",
                    f"a node of pipeline NONE occupies nothing (got {node.occupancy})",
                )
        for index, edge in enumerate(self.edges):
            for end in ("src", "dst"):
                if getattr(edge, end) not in seen:
                    raise refuse(f"edges[{index}].{end}", f"no node {getattr(edge, end)}")
        self._check_cycles()
        return self

    def _check_cycles(self) -> None:
        cycle = zero_distance_cycle(
            Dependence(producer=str(e.src), consumer=str(e.dst), distance=e.distance)
            for e in self.edges
        )
        if cycle:
            raise refuse("edges", "a cycle of distance 0 can never execute: " + " -> ".join(cycle))


class LoopEntry(_Lenient):
    """A loop of the kernel."""

    loop_id: Number
    is_outer: bool = False
    res_mii: Number | None = None
    ddg: Graph


class Kernel(_Lenient):
    """The kernel."""

    name: Name


class DependenceGraphs(Artifact):
    """A whole file."""

    model_config = LENIENT

    schema_version: Literal["ddg-0.1"]
    kernel: Kernel
    ops: dict[Name, Op]
    loops: tuple[LoopEntry, ...]

    @model_validator(mode="after")
    def _check(self) -> Self:
        for name, op in self.ops.items():
            for position, operand in enumerate(op.operands):
                made = self.ops.get(operand.op) if operand.op is not None else None
                if operand.op is not None and made is None:
                    raise refuse(
                        f"ops.{name}.operands[{position}].op",
                        f"no operation {short(operand.op)}",
                    )
                if made is not None and operand.result >= len(made.result_types):
                    raise refuse(
                        f"ops.{name}.operands[{position}].result",
                        f"{short(operand.op)} has {len(made.result_types)} results "
                        f"(got {operand.result})",
                    )
        for index, loop in enumerate(self.loops):
            for position, node in enumerate(loop.ddg.nodes):
                if node.op_ref not in self.ops:
                    raise refuse(
                        f"loops[{index}].ddg.nodes[{position}].op_ref",
                        f"no operation {short(node.op_ref)}",
                    )
        return self


_SHAPED = re.compile(r"^(tensor|!ttg\.memdesc)<((?:\d{1,9}x)*)([!\w.]+)(?:, (.*))?>$", re.DOTALL)
_SCALAR = re.compile(r"^(i\d+|f\d+\w*|bf16|index)$")
_ELEMENT = {"f8E4M3FN": "f8e4m3", "f8E5M2": "f8e5m2", "f4E2M1FN": "f4e2m1", "index": "i64"}
MOST_DIMENSIONS = 8


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
        return (
            _tile((), text, "registers", None, path)
            if _ELEMENT.get(text, text) in (ELEMENT_BITS)
            else None
        )
    if not text.startswith(("tensor<", "!ttg.memdesc<")):
        return None
    match = _SHAPED.match(text)
    if match is None:
        if "!tt.ptr" in text:
            return None
        raise InputError(f"not a type that is known (got {short(text)})", path=path)
    shape = tuple(int(extent) for extent in match[2].split("x")[:-1])
    if not shape or len(shape) > MOST_DIMENSIONS:
        raise InputError(f"not the shape of a tile (got {short(text)})", path=path)
    rest = match[4] or ""
    if match[1] == "tensor":
        return _tile(shape, match[3], "registers", _elements_per_thread(rest, shape, path), path)
    memory: Literal["smem", "tmem"] = "tmem" if "#ttng.tensor_memory" in rest else "smem"
    return _tile(shape, match[3], memory, None, path)


def _tile(
    shape: tuple[int, ...],
    element: str,
    memory: MemoryName,
    elements_per_thread: int | None,
    path: str,
) -> Tile:
    try:
        return Tile.model_validate(
            {
                "shape": shape,
                "dtype": _ELEMENT.get(element, element),
                "memory": memory,
                "elements_per_thread": elements_per_thread,
            }
        )
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(
            f"{first['loc'][0]}: {first['msg']} (got {short(first['input'])})", path=path
        ) from None


def _elements_per_thread(layout: str, shape: tuple[int, ...], path: str) -> int | None:
    from twill.frontends.ttgir.types import elements_per_thread, parse_layout

    if not layout:
        return None
    try:
        return elements_per_thread(parse_layout(layout), shape)
    except (InputError, KeyError, IndexError, TypeError, ValueError, ZeroDivisionError):
        raise InputError(f"not a layout for its shape (got {short(layout)})", path=path) from None
