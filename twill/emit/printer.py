"""The text of a tree: indentation, long lines, and the imports that its names need."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from twill.emit.names import INDENT, LINE
from twill.emit.tree import (
    Allocation,
    Assignment,
    Barrier,
    Call,
    Comment,
    Function,
    If,
    Loop,
    Module,
    Node,
    Return,
    Section,
    Specialization,
    Verbatim,
)

GLUON = "triton.experimental.gluon"
NVIDIA = f"{GLUON}.language.nvidia"
FUNCTIONS = {
    "hopper": (
        "fence_async_shared",
        "mbarrier",
        "tma",
        "warpgroup_mma",
        "warpgroup_mma_init",
        "warpgroup_mma_wait",
    ),
    "blackwell": (
        *("TensorMemoryLayout", "allocate_tensor_memory", "fence_async_shared", "mbarrier"),
        *("TensorMemoryScalesLayout", "tcgen05_commit", "tcgen05_copy", "tcgen05_mma"),
        *("tcgen05_mma_scaled", "tma"),
    ),
}
STATEMENTS: dict[type[Node], str] = {
    Assignment: "{0.target} {0.sign} {0.value}",
    Allocation: "{0.target} {0.sign} {0.value}",
    Call: "{0.text}",
    Return: "return {0.value}",
    Comment: "# {0.text}",
    Loop: "for {0.target} in {0.over}:",
    If: "if {0.condition}:",
}
"""How statements begin, or all of one that has no block."""


def printed(module: Module) -> str:
    """Return the text of a module."""
    lines = [
        *f'"""{module.docstring}"""'.split("\n"),
        "",
        *_imports(module),
        *(line for section in module.body for line in _section(section)),
    ]
    return "\n".join(part for line in lines for part in wrapped(line.rstrip())) + "\n"


def lines_of(nodes: Iterable[Node]) -> list[str]:
    """Return the lines of nodes, long ones as they are."""
    return [line for node in nodes for line in _lines(node)]


def _section(section: Section) -> list[str]:
    rule = f"# {'=' * 77}"
    return ["", "", rule, f"# {section.title}", rule, *lines_of(section.body)]


def _lines(node: Node) -> Iterator[str]:
    if type(node) in STATEMENTS:
        yield STATEMENTS[type(node)].format(node)
    match node:
        case Loop() | If():
            yield from _block(node.body)
        case Verbatim():
            yield from node.lines
        case Barrier(name, slots, arrivals):
            batch = "" if slots is None else f"batch={slots}"
            yield f"{name} = mbarrier.allocate_mbarrier({batch})"
            if slots is None or slots == 1:
                yield f"mbarrier.init({node.slot()}, count={arrivals})"
            else:
                yield f"for slot in gl.static_range({slots}):"
                yield f"{INDENT}mbarrier.init({node.slot('slot')}, count={arrivals})"
        case Specialization(arguments, partitions, warps, registers):
            yield "arguments = ("
            yield from _filled(f"{', '.join(arguments)},")
            yield ")"
            yield "gl.warp_specialize(["
            yield from (f"{INDENT}({name}, arguments)," for name in partitions)
            yield f"], {list(warps[1:])}, {list(registers[1:])})"
        case Function(name, parameters, body):
            yield "@gluon.jit"
            signature = f"def {name}({', '.join(parameters)}):"
            if len(signature) > LINE:
                yield from (f"def {name}(", *_filled(", ".join(parameters)), "):")
            else:
                yield signature
            yield from (*_block(body), "", "")


def _block(nodes: Iterable[Node]) -> list[str]:
    return [INDENT + line for line in lines_of(nodes) or ["pass"]]


def _filled(names: str) -> list[str]:
    return [INDENT + line for line in textwrap.wrap(names, LINE - 8)]


def _imports(module: Module) -> Iterator[str]:
    used = module.uses
    if "math" in used:
        yield "import math"
    yield from ("from dataclasses import dataclass", "")
    yield from ("import pytest", "import torch", "import triton")
    if "tl" in used:
        yield "import triton.language as tl"
    yield "from triton.experimental import gluon"
    yield f"from {GLUON} import language as gl"
    if "async_copy" in used:
        yield f"from {NVIDIA}.ampere import async_copy"
    functions = [name for name in FUNCTIONS[module.family] if name in used]
    line = f"from {NVIDIA}.{module.family} import"
    if len(f"{line} {', '.join(functions)}") <= LINE:
        yield f"{line} {', '.join(functions)}"
    else:
        yield from (f"{line} (", *(f"{INDENT}{name}," for name in functions), ")")
    yield f"from {GLUON}.nvidia.hopper import TensorDescriptor"


# -- long lines ------------------------------------------------------------------------------------


def wrapped(line: str) -> list[str]:
    """Return a line of code as several, if it is too long, broken inside its outermost call."""
    if len(line) <= LINE or "\n" in line or line.lstrip().startswith(("#", '"')):
        return [line]
    indent = " " * (len(line) - len(line.lstrip()))
    opened = next((k for k, c in enumerate(line) if c in "([" and _ends(line, k)), None)
    if opened is None:
        return [line]
    closed = _closing(line, opened)
    parts = _arguments(line[opened + 1 : closed])
    called = line[opened - 1].isalnum() or line[opened - 1] in "_)]"
    brackets = line[opened] == "(" and not called
    comma = "" if brackets and len(parts) == 1 else ","
    inner = [p for part in parts for p in wrapped(f"{indent}{INDENT}{part}{comma}")]
    return [line[: opened + 1], *inner, f"{indent}{line[closed:]}"]


def _ends(line: str, opened: int) -> bool:
    """Whether what is opened here is closed at the end of the line, and has something inside."""
    closed = _closing(line, opened)
    return closed >= len(line.rstrip(",")) - 2 and closed - opened > LINE // 3


def _closing(line: str, opened: int) -> int:
    depth = 0
    for k in range(opened, len(line)):
        depth += (line[k] in "([{") - (line[k] in ")]}")
        if not depth:
            return k
    return len(line)


def _arguments(text: str) -> list[str]:
    """Return what stands between the outermost commas."""
    parts, depth, begin = [], 0, 0
    for k, c in enumerate(text):
        depth += (c in "([{") - (c in ")]}")
        if c == "," and not depth:
            parts.append(text[begin:k].strip())
            begin = k + 1
    return [p for p in (*parts, text[begin:].strip()) if p]
