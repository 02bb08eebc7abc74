"""Launches: what a block finds in the constant bank, and the warps that it begins with."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from twill.base.errors import InputError
from twill.sim.machine_code.groups import Group
from twill.sim.machine_code.registers import LANES, Value, Warp, gathered
from twill.sim.machine_code.transfers import Boxes, Latency

_FOUR = 4  # warps that one simulated warp stands for, one on each scheduler
# In the constant bank: parameters, their address, blocks of the grid, address of the stack.
_PLACES = {90: (0x210, 0x198, 0xC, 0x28), 100: (0x380, 0x348, 0x370, 0x37C)}
_STACK = 0xFFFFF0
_BASE = 0x7F0000000000  # address of the constant bank, as descriptors are addressed
_TABLES = 2 << 16  # place of the bank of branch targets
_POINTERS = 0x10000000
_SCRATCH, _DESCRIBED = 0x20000000, 128  # where descriptors are made, and bytes of each
_MANY = 1 << 20  # blocks
_DESCRIPTOR = re.compile(r"tensordesc<(\w+)\[([\d,]+)\]>")
_BYTES = {"fp16": 2, "bf16": 2, "fp32": 4, "fp8e4nv": 1, "fp8e5": 1, "i8": 1, "u8": 1, "i32": 4}
_ARITHMETIC: dict[type[ast.operator], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {"min": min, "max": max}
_SWIZZLES = 128, 64, 32  # bytes of a box's row at most
_SCALES = 5  # dimensions of packed scale factors, which are not swizzled
_EXTENT = 1 << 20  # of a tensor that a descriptor names
_STRIDE = 1 << 12


@dataclass(frozen=True)
class Kernel:
    """A compiled kernel with its file.

    Attributes
    ----------
    listing : str
        Output of ``nvdisasm -c -hex -gi``.
    targets : tuple of int
        Words of the section ``.nv.constant2``: targets of indirect branches.
    source : str
        The kernel file: ``SIGNATURE``, ``make_arguments``, ``KernelConfig``.
    warps : int
        Warps that a block begins with.
    shared : int
        Bytes of shared memory.
    architecture : int
        90 or 100.
    """

    listing: str
    targets: tuple[int, ...]
    source: str
    warps: int
    shared: int
    architecture: int = 90


@dataclass(frozen=True)
class Launch:
    """A block of a launch.

    Attributes
    ----------
    constants : dict
        Words of the constant bank, by offset.
    tiles : dict
        Boxes of each descriptor that is a parameter, by its address.
    made : tuple of Boxes
        Boxes of each descriptor that the kernel makes, in their order.
    block : tuple of int
        The block's place in the grid.
    warps, default_warps : int
        Warps in all, and those of the default partition.
    shared : int
        Bytes of shared memory.
    shift : float
        Cycles by which each partition begins later than the one before it.
    latency : callable, optional
        Latency of bulk loads, where it is not that of the costs.
    """

    constants: dict[int, int]
    tiles: dict[int, Boxes]
    block: tuple[int, int, int]
    warps: int
    default_warps: int
    shared: int
    made: tuple[Boxes, ...] = ()
    shift: float = 0.0
    latency: Latency | None = None

    @property
    def threads(self) -> int:
        """Threads of the block."""
        return self.warps * LANES

    def groups(self) -> list[Group]:
        """Return the warps that are simulated, by number.

        Warps of the default partition are groups of four from the start, others when they enter
        a partition.
        """
        shared: dict[int, int] = {}
        firsts = [
            *((first, _FOUR * LANES) for first in range(0, self.default_warps, _FOUR)),
            *((first, LANES) for first in range(self.default_warps, self.warps)),
        ]
        return [Group(first, n, self._warp(first, shared)) for first, n in firsts]

    def _warp(self, first: int, shared: dict[int, int]) -> Warp:
        special: dict[str, Value] = {
            "SR_TID.X": gathered(tuple(range(LANES * first, LANES * (first + 1)))),
            "SR_LANEID": tuple(range(LANES)),
            **{f"SR_CTAID.{axis}": n for axis, n in zip("XYZ", self.block, strict=True)},
        }
        return Warp(self.constants, special, shared)

    def boxes(self, descriptor: int) -> Boxes:
        """Return the boxes of a tile's descriptor.

        Raises
        ------
        InputError
            If there is no descriptor at that address.
        """
        found = self.tiles.get(descriptor)
        if self.made and descriptor >= _SCRATCH and not descriptor % _DESCRIBED:
            found = found or self.made[(descriptor - _SCRATCH) // _DESCRIBED % len(self.made)]
        if found is None:
            raise InputError(f"no descriptor is at {descriptor:#x}")
        return found


def _assigned(tree: ast.AST) -> dict[str, ast.expr]:
    """Return what names are assigned to first; of loops, what they go over."""
    found: dict[str, ast.expr] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found.setdefault(node.targets[0].id, node.value)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            found.setdefault(node.target.id, node.value)
        elif isinstance(node, ast.For) and isinstance(node.target, ast.Name):
            found.setdefault(f"for {node.target.id}", node.iter)
    return found


def _part(source: str, name: str) -> ast.AST:
    """Return a function, or a value assigned at the top, of a kernel file."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            return node
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return node.value
    raise InputError(f"the kernel file has no {name}")


def _evaluated(node: ast.expr, iterations: int) -> Any:
    """Return a number, or a dictionary or tuple of numbers, of some iterations."""
    within = partial(_evaluated, iterations=iterations)
    match node:
        case ast.Name(id="iterations"):
            found: Any = iterations
        case ast.BinOp(left, operation, right) if type(operation) in _ARITHMETIC:
            found = _ARITHMETIC[type(operation)](within(left), within(right))
        case ast.UnaryOp(ast.USub(), operand):
            found = -within(operand)
        case ast.Call(ast.Name(id=name), arguments) if name in _FUNCTIONS:
            found = _FUNCTIONS[name](map(within, arguments))
        case ast.Tuple(elts=parts):
            found = tuple(map(within, parts))
        case ast.Dict(keys=keys, values=values):
            pairs = zip(keys, values, strict=True)
            found = {ast.literal_eval(key): within(value) for key, value in pairs if key}
        case _:
            found = ast.literal_eval(node)
    return found


def given_arguments(source: str, iterations: int) -> tuple[dict[str, object], tuple[int, ...]]:
    """Return the numbers that ``make_arguments`` gives for some iterations, and the grid."""
    names = _assigned(_part(source, "make_arguments"))
    numbers, grids = names.get("arguments"), names.get("for grid")
    values = {} if numbers is None else _evaluated(numbers, iterations)
    if isinstance(values, dict):
        grid = values.pop("grid", None)
        if grids is not None and isinstance(several := _evaluated(grids, iterations), tuple):
            grid = several[0]
        if isinstance(grid, tuple):
            return values, grid
    raise InputError("make_arguments has no dictionary of numbers, or no grid")


def launched(kernel: Kernel, iterations: int, *, last: bool) -> Launch:
    """Return the first or last block of a kernel's launch for some iterations.

    A persistent kernel has enough blocks for a tile each.
    """
    numbers, grid = given_arguments(kernel.source, iterations)
    signature = ast.literal_eval(_part(kernel.source, "SIGNATURE"))
    config = _assigned(_part(kernel.source, "KernelConfig"))
    warps = ast.literal_eval(config["num_warps"])
    begin, address, blocks, stack = _PLACES[kernel.architecture]
    bank = _Bank(begin)
    for name, kind in signature.items():
        bank.add(kind, numbers.get(name))
    bank.put(bank.next(8), _SCRATCH, 8)
    if "persistent" in config:
        grid, last = (_MANY, *grid[1:]), False
    bank.words.update({blocks + 4 * n: extent for n, extent in enumerate(grid)})
    bank.words[stack] = _STACK
    bank.put(address, _BASE + begin, 8)
    bank.words.update({_TABLES + 4 * n: place for n, place in enumerate(kernel.targets)})
    block = (grid[0] - 1, grid[1] - 1, grid[2] - 1) if last else (0, 0, 0)
    made = tuple(_made(ast.parse(kernel.source)))
    return Launch(bank.words, bank.tiles, block, kernel.warps, warps, kernel.shared, made)


def _made(tree: ast.AST) -> Iterator[Boxes]:
    """Yield the boxes of the descriptors that a kernel makes."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                ast.Attribute(attr="make_tensor_descriptor"),
                [*_, tile, ast.Call(args=[_, ast.Attribute(attr=element)])],
            ):
                bits = re.findall(r"\d+", element)[0]  # as in bfloat16 and float8e4nv
                yield _boxes(int(bits) // 8, ast.literal_eval(tile))


def _boxes(element: int, shape: list[int]) -> Boxes:
    """Return the boxes of a tile of elements of some bytes."""
    row = shape[-1] * element
    swizzles = _SWIZZLES if 1 < len(shape) < _SCALES else ()
    width = next((width for width in swizzles if row >= width), row)
    size = element * math.prod(shape[:-1]) * min(shape[-1], width // element)
    return Boxes(size, max(1, row // width), math.prod(shape[:-1]))


class _Bank:
    """The constant bank, parameter behind parameter."""

    def __init__(self, begin: int) -> None:
        self.words: dict[int, int] = {}
        self.tiles: dict[int, Boxes] = {}
        self._end = begin

    def put(self, place: int, value: int, size: int) -> None:
        """Write a number of 4 or 8 bytes."""
        for n in range(0, size, 4):
            self.words[place + n] = value >> 8 * n & 0xFFFFFFFF

    def next(self, size: int) -> int:
        """Return where a parameter of some bytes lies."""
        place = math.ceil(self._end / min(size, 64)) * min(size, 64)
        self._end = place + size
        return place

    def add(self, kind: str, value: object) -> None:
        """Write a parameter of a type of Triton's."""
        if tile := _DESCRIPTOR.match(kind):
            self._add_tile(_BYTES[tile[1]], [int(extent) for extent in tile[2].split(",")])
        elif kind.startswith("*"):
            self.put(self.next(8), _POINTERS, 8)
        elif isinstance(value, float):
            self.put(self.next(4), 0x3E000000, 4)
        else:
            size = 8 if kind.startswith("i64") else 4
            self.put(self.next(size), value if isinstance(value, int) else 1, size)

    def _add_tile(self, element: int, shape: list[int]) -> None:
        self.tiles[_BASE + self.next(_DESCRIBED)] = _boxes(element, shape)
        for _ in shape:
            self.put(self.next(4), _EXTENT, 4)
        for _ in shape:
            self.put(self.next(8), _STRIDE, 8)
