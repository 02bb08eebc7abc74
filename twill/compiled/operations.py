"""Instructions of single tile operations, as compiled, against what machine files book for them."""

from __future__ import annotations

import tempfile
from collections import Counter
from dataclasses import dataclass
from typing import Any

from twill.artifacts.loop import Operation, Tile
from twill.artifacts.machine import Machine
from twill.base.console import Report, silent
from twill.base.errors import InputError, short
from twill.base.files import write_whole
from twill.compiled.cubin import ARCHITECTURES, compile_file
from twill.compiled.sass import read_listing

MOST_DIFFERENCE = 0.03  # of what is booked
PIPES = ("fma", "alu", "mufu", "shuffle", "smem")
"""Pipes that are units of machine files too. The others compute addresses, or move."""
COLUMNS = 128
ROWS = {90: 64, 100: 128}
LAYOUTS = {
    90: "gl.NVMMADistributedLayout([3, 0], warps_per_cta=[4, 1], instr_shape=[16, 128, 16])",
    100: "gl.BlockedLayout([1, 128], [32, 1], [4, 1], [0, 1])",
}
"""The layout of a product's accumulator: of wgmma, and of what is loaded from tensor memory."""
LANES = {90: 4, 100: 1}  # that share a row
TEMPLATE = """
from triton.experimental import gluon
from triton.experimental.gluon import language as gl

TILE = gl.constexpr({layout})


@gluon.jit
def kernel(x_ptr, y_ptr, s):
    rows = gl.arange(0, {rows}, gl.SliceLayout(1, TILE))
    tile = rows[:, None] * {columns} + gl.arange(0, {columns}, gl.SliceLayout(0, TILE))[None, :]
    x = gl.load(x_ptr + tile)
    row = gl.load(x_ptr + rows)
    gl.store(y_ptr + {stored}, {expression})


SIGNATURE = {{"x_ptr": "*fp32", "y_ptr": "*{element}", "s": "fp32"}}
KERNEL = "kernel"
"""


@dataclass(frozen=True)
class Single:
    """An operation: what machine files call it and how Gluon writes it, of `x`, `row` and `s`."""

    kind: str
    expression: str
    combine: str = ""  # how a reduction along rows combines two elements
    element: str = "f32"  # of the result
    operands: int = 1

    @property
    def name(self) -> str:
        """The operation's kind, with how it combines elements or its element type."""
        return (
            f"{self.kind} {self.combine or (self.element if self.element != 'f32' else '')}".strip()
        )


OPERATIONS = (
    Single("mul", "x * s"),
    Single("sub", "x - row[:, None]", operands=2),
    Single("add", "x + row[:, None]", operands=2),
    Single("max", "gl.maximum(x, s)"),
    Single("fma", "x * s - row[:, None]", operands=2),
    Single("exp2", "gl.exp2(x)"),
    Single("cast", "x.to(gl.float16)", element="f16"),
    Single("reduce", "gl.max(x, axis=1)", combine="max"),
    Single("reduce", "gl.sum(x, axis=1)", combine="add"),
)


@dataclass(frozen=True)
class Calibrated:
    """Instructions of one operation on one pipe.

    Attributes
    ----------
    operation, pipe : str
        Which.
    counted : int
        Instructions of a warp, as compiled.
    booked : int
        Instructions that the machine file books for each issue context, which has one of the four
        warps.
    differs : bool
        Whether the two differ by more than `MOST_DIFFERENCE`.
    """

    operation: str
    pipe: str
    counted: int
    booked: int
    differs: bool


@dataclass(frozen=True)
class Calibration:
    """A machine's rules for single operations against the compiler.

    `machine`, `architecture`: name of the machine, and the compiler's target, for example
    ``sm_90a``.
    `shape`: shape of the tile of f32 that four warps hold.
    `rows`: counts of each operation, without pipes that it neither uses nor books.
    """

    machine: str
    architecture: str
    shape: tuple[int, int]
    rows: tuple[Calibrated, ...]


def calibrate(machine: Machine, report: Report = silent) -> Calibration:
    """Compile each tile operation alone and count its instructions; half a minute, without a GPU.

    `machine`: a machine of architecture ``sm_90`` or ``sm_100``, with rules.
    `report`: called with the name of each operation before it is compiled.

    Raises
    ------
    InputError
        If the machine is of another architecture, or has no rule for an operation.
    MissingLibraryError
        If Triton is not installed.
    """
    known = {f"sm_{a}": a for a in ARCHITECTURES}
    architecture = known.get(machine.architecture)
    if architecture is None:
        names = " or ".join(known)
        message = f"operations are compiled for {names} (got {short(machine.architecture)})"
        raise InputError(message, path="architecture", file=machine.file or machine.name)
    booked = {o.name: _booked(machine, o, architecture) for o in OPERATIONS}
    without = {
        reduces: _counted(_text(architecture, "row" if reduces else "x", reduces), architecture)
        for reduces in (False, True)
    }
    rows = []
    for operation in OPERATIONS:
        report(operation.name)
        reduces = bool(operation.combine)
        text = _text(architecture, operation.expression, reduces, operation.element)
        found = _counted(text, architecture)
        for pipe in PIPES:
            counted, expected = found[pipe] - without[reduces][pipe], booked[operation.name][pipe]
            if counted or expected:
                differs = abs(counted - expected) > MOST_DIFFERENCE * expected
                rows.append(Calibrated(operation.name, pipe, counted, expected, differs))
    shape = ROWS[architecture], COLUMNS
    return Calibration(machine.name, f"sm_{architecture}a", shape, tuple(rows))


def _booked(machine: Machine, single: Single, architecture: int) -> Counter[str]:
    """Return the instructions that a machine books for an operation on each unit."""
    tile = Tile(shape=(ROWS[architecture], COLUMNS), dtype="f32", memory="registers")
    changes: dict[str, Any] = {"dtype": single.element}
    attributes: dict[str, Any] = {}
    if single.combine:
        each = LANES[architecture] * ROWS[architecture] // machine.threads(4)
        changes |= {"shape": (ROWS[architecture],), "elements_per_thread": each}
        lanes = LANES[architecture]
        attributes = {"combine": single.combine, "lanes": lanes, "lane_warps": 1}
    operation = Operation(
        name=single.name.replace(" ", "_"),
        kind=single.kind,
        operands=(tile,) * single.operands,
        result=tile.model_copy(update=changes),
        attributes=attributes,
    )
    found = Counter[str]()
    for step in machine.cost(operation).steps:
        found[step.unit] += step.instructions
    return found


def _text(architecture: int, expression: str, reduces: bool, element: str = "f32") -> str:  # noqa: FBT001 - private
    return TEMPLATE.format(
        layout=LAYOUTS[architecture],
        rows=ROWS[architecture],
        columns=COLUMNS,
        stored="rows" if reduces else "tile",
        expression=expression,
        element=element.replace("f", "fp"),
    )


def _counted(text: str, architecture: int) -> Counter[str]:
    """Return how many instructions a warp executes on each pipe."""
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/operation.py"
        write_whole(file, text)
        listing = read_listing(compile_file(file, architecture).listing)
    return Counter(i.pipe for i in listing.instructions(frozenset(listing.order)))
