"""The host side of an emitted file: plain values of the kernel, and the template that has them."""

from __future__ import annotations

import functools
import itertools
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from twill.artifacts.schedule import Schedule
from twill.base.errors import RefusedError
from twill.emit.expressions.language import LARGER
from twill.emit.expressions.texts import Text, joined
from twill.emit.expressions.torch import Torch
from twill.emit.host.choice import Choice
from twill.emit.layouts import TORCH, dtype
from twill.emit.names import INDENT, LINE
from twill.emit.reference import Reference
from twill.emit.source import Parameter, Source, SSAValue
from twill.frontends.ttgir.reader import name_of

if TYPE_CHECKING:
    import jinja2

NUMBER = {"f32": "fp32", "f16": "fp16", "bf16": "bf16", "f64": "fp64", "ui8": "u8"}
NUMBER |= {"f8e4m3": "fp8e4nv", "f8e5m2": "fp8e5"}
HELPERS = ("Described", "scaled", "signed", "scanned")  # what some references call, by template


class Kernel(Protocol):
    """A kernel that is being emitted, as far as its host side depends on it."""

    @property
    def kernel_name(self) -> str:
        """Name of the emitted entry."""

    @property
    def schedule(self) -> Schedule:
        """The schedule that is emitted."""

    @property
    def source(self) -> Source:
        """The kernel as it was written."""

    @property
    def reference(self) -> Reference:
        """Its reference, whose lines were made."""

    @property
    def choice(self) -> Choice:
        """Arguments for its tests."""

    @property
    def epilogue(self) -> Blocks:
        """The part of it that knows the tiles of descriptors."""


class Blocks(Protocol):
    """The tiles that transfers by descriptors move."""

    def block_of(self, name: str, shape: tuple[int, ...], /) -> tuple[int, ...]:
        """Return the tile of a descriptor."""


@dataclass(frozen=True)
class Argument:
    """An argument of the kernel: its type for the compiler; of a descriptor tile and elements."""

    name: str
    kind: str
    tile: list[int]
    element: str


@dataclass(frozen=True)
class HostFile:
    """Values of one kernel in the template of the host side."""

    kernel: str
    arguments: tuple[Argument, ...]
    outputs: tuple[str, ...]  # arguments that are written
    least_iterations: int
    trips: str | None  # iterations of the loop as the host computes them, if it can
    simulated_cycles: str | None  # of an iteration
    persistent: bool
    tensors: dict[str, str]  # PyTorch's type of each argument in memory
    numbers: dict[str, str]  # other arguments and the grid, for a number of iterations
    tables: dict[str, str]  # functions for integers in memory, by argument
    remarks: list[str]  # lines about what tests do not reach
    tested: list[int]  # numbers of iterations
    magnitudes: dict[int, float]  # of random numbers, for a number of iterations, where not 1


def host_file(kernel: Kernel) -> HostFile:
    """Return the values of a kernel.

    Raises
    ------
    RefusedError
        If it writes no argument, or no small arguments are found with which it runs.
    """
    if not kernel.reference.outputs:
        raise RefusedError(f"{kernel.source.dump.kernel} writes nothing that a test could compare")
    if not kernel.choice.found.trips:
        name = kernel.source.dump.kernel
        raise RefusedError(f"{name}: no small arguments are found with which a test could run it")
    least, choice = least_iterations(kernel), kernel.choice.arguments
    parameters = kernel.source.parameters()
    memory = [p for p in parameters if p.is_memory]
    numbers = dict(_numbers(kernel, [p for p in parameters if not p.is_memory]))
    tested = sorted({least, least + 1, least + 2, 8})
    return HostFile(
        kernel=kernel.kernel_name,
        arguments=tuple(_argument(kernel, p) for p in parameters),
        outputs=tuple(kernel.reference.outputs),
        least_iterations=least,
        trips=trips(kernel),
        simulated_cycles=_simulated_cycles(kernel),
        persistent=kernel.source.outer is not None,
        tensors={p.name: f"torch.{TORCH.get(p.dtype, dtype(p.dtype))}" for p in memory},
        numbers=numbers | {"grid": f"({', '.join(size.text for size in choice.grid)})"},
        tables={name: f"lambda place: {entry.text}" for name, entry in choice.tables.items()},
        remarks=_remarks(kernel),
        tested=tested,
        magnitudes=_magnitudes(kernel.source, tested),
    )


def section(name: str, values: HostFile | None = None, **more: Any) -> list[str]:
    """Return the lines of a section of the file, which is a block of the template."""
    template = _environment().get_template("host_file.py.j2")
    context = template.new_context({**(vars(values) if values else {}), **more})
    return "".join(template.blocks[name](context)).splitlines()


@functools.cache
def _environment() -> jinja2.Environment:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("twill.emit.host", ""),
        autoescape=jinja2.select_autoescape(),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["mapping"] = mapping
    environment.globals["tuple"] = tuple
    return environment


def mapping(texts: Mapping[str, str]) -> str:
    """Return expressions by their names as Python writes a dictionary."""
    entries = ", ".join(f'"{name}": {text}' for name, text in texts.items())
    return f"{{{entries}}}"


def needed(body: list[str]) -> list[str]:
    """Return the templates of the functions that a reference calls."""
    text = "\n".join(body)
    return [f"{name.lower()}.py.j2" for name in HELPERS if f"{name}(" in text]


# -- values of a kernel ----------------------------------------------------------------------------


def _argument(kernel: Kernel, p: Parameter) -> Argument:
    element = NUMBER.get(p.dtype, p.dtype)
    if p.shape:
        tile = list(kernel.epilogue.block_of(p.name, p.shape))
        kind = f"tensordesc<{element}[{','.join(map(str, tile))}]>"
        return Argument(p.name, kind, tile, dtype(p.dtype))
    size = kernel.choice.arguments.numbers.get(p.name)
    aligned = ":16" if p.pointer or (size is not None and size.aligned) else ""
    return Argument(p.name, f"{'*' if p.pointer else ''}{element}{aligned}", [], "")


def _numbers(kernel: Kernel, parameters: list[Parameter]) -> Iterator[tuple[str, str]]:
    """Yield numbers as expressions; floats are powers of two, and so are products with them."""
    powers = itertools.count(-3)
    for p in parameters:
        integer = p.dtype.startswith("i")
        text = kernel.choice.arguments.numbers[p.name].text if integer else str(2.0 ** next(powers))
        yield p.name, text


def _magnitudes(source: Source, tested: list[int]) -> dict[int, float]:
    """Return magnitudes of random numbers that show what those of about one hide.

    Small ones saturate no function. Exponentials of large ones overflow, unless a running maximum
    is subtracted from their arguments.
    """
    body = source.loop.regions[0].blocks[0]
    larger = [o for s in body.ops if name_of(s) in LARGER for o in s.operands]
    large = {tested[2]: 4.0} if any(o in body.args for o in larger) else {}
    return {tested[1]: 0.125} | large


def least_iterations(kernel: Kernel) -> int:
    """Return the fewest iterations of the loop that the kernel may run."""
    if kernel.source.varies or kernel.source.trips is not None:
        return 1
    return max(1, *(p.last_stage for p in kernel.schedule.programs))


def _simulated_cycles(kernel: Kernel) -> str | None:
    """Return cycles of an iteration, if the kernel has no other loop.

    Otherwise an iteration of the arguments is more than one of the scheduled loop.
    """
    promise = kernel.schedule.promise
    loops = [s for s in kernel.source.function.walk() if name_of(s) == "scf.for"]
    return f"{promise.interval_cycles:g}" if promise is not None and len(loops) == 1 else None


def trips(kernel: Kernel) -> str | None:
    """Return the number of iterations in terms of the arguments, if it follows from those."""
    bounds = (kernel.source.lower, kernel.source.upper, kernel.source.step)
    names = kernel.source.origins(bounds)
    if kernel.source.varies or any("program_id" in name or not name for name in names):
        return None
    lower, upper, step = (_on_host(kernel.source, value) for value in bounds)
    span = upper if lower.text == "0" else joined(upper, "-", lower)
    return span.text if step.text == "1" else f"-(-({span.text}) // {step})"


def _on_host(source: Source, value: SSAValue) -> Text:
    statement = source.statement(value)
    if statement is None:
        return Text(f'arguments["{source.argument(value)}"]')
    return Torch(source).expression(statement, [_on_host(source, o) for o in statement.operands])


def _remarks(kernel: Kernel) -> list[str]:
    """Return the numbers of iterations that no arguments give, and sides of masks."""
    choice, found = kernel.choice, kernel.choice.found
    others = {n: trips for n, trips in zip(choice.counts, found.trips, strict=True) if trips != n}
    remarks = []
    if others and kernel.source.trips is None:
        runs = ", ".join(f"{trips} for {n}" for n, trips in others.items())
        remarks.append(f"Not every number can be had: the loop runs {runs}.")
    never = [
        f"{kernel.source.hint(s.results[0]) or name_of(s)} ({words})"
        for s, words in choice.missing(found)
    ]
    if never:
        remarks.append(f"What never happens: {', '.join(never)}.")
    return [line for one in remarks for line in textwrap.wrap(one, LINE - len(INDENT))]
