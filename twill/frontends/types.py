"""Types as MLIR writes them: tiles, where they lie, and how Triton spreads them over threads."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any

from twill.artifacts.loop import ELEMENT_BITS, Tile
from twill.base.errors import InputError, short

# Element types that MLIR calls otherwise.
ELEMENTS = {"f8E4M3FN": "f8e4m3", "f8E5M2": "f8e5m2", "f4E2M1FN": "f4e2m1"}
_SHAPED = re.compile(
    r"^(tensor|!ttg\.memdesc)<((?:\d{1,9}x)*)([!\w.]+|!tt\.ptr<\w+>)(?:, (.*))?>$", re.DOTALL
)
_TRANSPOSED = re.compile(r"#ttg\.nvmma_shared<\{[^{}]*\btransposed = (true|false)")
# What makes JSON of a layout; its name becomes a parameter called ``#``.
_TO_JSON = (
    (re.compile(r"#(?:\w+\.)*(\w+)<\{"), r'{"#": "\1", '),
    (re.compile(r"#(?:\w+\.)*(\w+)"), r'{"#": "\1"}'),
    (re.compile(r",?\s*\}>"), "}"),
    (re.compile(r"(\w+)\s*="), r'"\1":'),
)
MMA_ROWS_PER_THREAD, MMA_ROWS = 2, 16
MMA_COLUMNS_PER_THREAD = 2
QUAD = 4
COUNTS = ("sizePerThread", "threadsPerWarp", "warpsPerCTA", "instrShape")
MOST_COUNT = 1 << 20
REQUIRED = {
    "blocked": {"sizePerThread", "threadsPerWarp", "warpsPerCTA"},
    "nvidia_mma": {"warpsPerCTA", "instrShape"},
    "slice": {"dim", "parent"},
    "dot_op": {"opIdx", "parent"},
    "linear": {"register", "lane", "warp"},
}


@dataclass(frozen=True)
class Type:
    """A type as far as scheduling needs it: ``tensor``, ``memdesc`` or ``scalar``.

    The element type of pointers is ``pointer``. Operations write `mutable` memory in place.
    `transposed` says whether a tile lies, or its descriptor loads it, transposed in shared memory;
    None if the type is silent.
    """

    kind: str
    shape: tuple[int, ...]
    dtype: str
    layout: Layout | None = None
    memory: str = "registers"
    mutable: bool = False
    transposed: bool | None = None

    def tile(self) -> Tile | None:
        """Return the type as a tile, or None if its elements are not numbers."""
        return self.checked_tile() if self.dtype in ELEMENT_BITS else None

    def checked_tile(self) -> Tile:
        """Return the type as a tile.

        Raises
        ------
        ValidationError
            If it is none.
        """
        spread = elements_per_thread(self.layout, self.shape) if self.layout else None
        facts = {"shape": self.shape, "dtype": self.dtype, "memory": self.memory}
        return Tile.model_validate(facts | {"elements_per_thread": spread})


def parse_type(text: str) -> Type:
    """Return what a type's text says; what is no tensor and no buffer is a scalar.

    Raises
    ------
    InputError
        If a tensor has a layout of another form.
    """
    lies = _TRANSPOSED.search(text)
    transposed = None if lies is None else lies[1] == "true"
    match = _SHAPED.match(text)
    if match is None:
        dtype = "pointer" if text.startswith("!tt.ptr") else ELEMENTS.get(text, text)
        return Type("scalar", (), dtype, transposed=transposed)
    shape = tuple(int(extent) for extent in match[2].split("x")[:-1])
    dtype = "pointer" if match[3].startswith("!tt.ptr") else ELEMENTS.get(match[3], match[3])
    rest = match[4] or ""
    if match[1] == "tensor":
        return Type("tensor", shape, dtype, parse_layout(rest) if rest else None)
    memory = "tmem" if "tensor_memory" in rest and "shared_memory" not in rest else "smem"
    mutable = re.search(r", mutable\b", rest) is not None
    return Type("memdesc", shape, dtype, None, memory, mutable, transposed)


def is_shaped(text: str) -> bool:
    """Return whether a type's text begins as that of a tensor or a buffer does."""
    return text.startswith(("tensor<", "!ttg.memdesc<"))


@dataclass(frozen=True)
class Layout:
    """A layout attribute: its name without ``#ttg.`` and its parameters."""

    name: str
    parameters: dict[str, Any]


def parse_layout(text: str) -> Layout:
    """Parse an attribute such as ``#ttg.slice<{dim = 1, parent = #ttg.blocked<{...}>}>``.

    Raises
    ------
    InputError
        If the text has another form.
    """
    document = text
    for pattern, written in _TO_JSON:
        document = pattern.sub(written, document)
    try:
        found = json.loads(document, object_hook=lambda p: Layout(p.pop("#"), p))
    except (ValueError, KeyError, RecursionError):
        found = None
    if '"' in text or not isinstance(found, Layout) or not _is_complete(found):
        raise InputError(f"not a layout (got {short(text)})")
    return found


def _is_complete(layout: Layout) -> bool:
    """Whether a layout has all that is asked of its kind, and counts of one or more."""
    parameters = layout.parameters
    if not REQUIRED.get(layout.name, set()) <= parameters.keys():
        return False
    parent = parameters.get("parent")
    if "parent" in parameters and not (isinstance(parent, Layout) and _is_complete(parent)):
        return False
    counts = [count for name in COUNTS for count in parameters.get(name, [])]
    return all(isinstance(count, int) and 0 < count <= MOST_COUNT for count in counts)


def elements_per_thread(layout: Layout, shape: tuple[int, ...]) -> int | None:
    """Return how many elements of a tile one thread holds, replicas counted.

    None if the layout is of a kind that this reader does not know.
    """
    counts = _per_dimension(layout, shape)
    return None if counts is None else max(1, math.prod(counts))


def _per_dimension(layout: Layout, shape: tuple[int, ...]) -> list[int] | None:
    p = layout.parameters
    if layout.name == "blocked":
        return [
            size * -(-extent // (size * lanes * warps))
            for extent, size, lanes, warps in zip(
                shape, p["sizePerThread"], p["threadsPerWarp"], p["warpsPerCTA"], strict=True
            )
        ]
    if layout.name == "nvidia_mma":
        width = p["instrShape"][1]
        columns = width // QUAD * -(-shape[-1] // (width * p["warpsPerCTA"][-1]))
        return [*([1] * (len(shape) - 2)), _mma_rows(layout, shape), columns]
    if layout.name == "slice":
        whole = list(shape)
        whole.insert(p["dim"], 1)
        counts = _per_dimension(p["parent"], tuple(whole))
        return None if counts is None else counts[: p["dim"]] + counts[p["dim"] + 1 :]
    if layout.name == "dot_op" and p["opIdx"] == 0 and p["parent"].name == "nvidia_mma":
        return [_mma_rows(p["parent"], shape), -(-shape[-1] // QUAD)]
    if layout.name == "linear":
        return [2 ** sum(basis[d] != 0 for basis in p["register"]) for d in range(len(shape))]
    return None


def vector_of(layout: Layout | None) -> tuple[int, int] | None:
    """Return along which dimension a thread holds elements that lie side by side, and how many.

    None if the layout does not say so in as many words.
    """
    if layout is None or layout.name not in ("blocked", "slice"):
        return None
    outer, cut = layout, []
    while outer.name == "slice":
        cut.append(outer.parameters["dim"])
        outer = outer.parameters["parent"]
    if outer.name != "blocked":
        return None
    sizes = outer.parameters["sizePerThread"]
    left = list(range(len(sizes)))
    for dimension in reversed(cut):
        del left[dimension]
    order = outer.parameters.get("order", range(len(sizes))[::-1])
    fastest = next(dimension for dimension in order if dimension in left)
    return left.index(fastest), sizes[fastest]


def blocked(lanes: tuple[int, ...], warps: tuple[int, ...]) -> Layout:
    """Return the layout in which threads take single elements in turn.

    `lanes`, `warps`: lanes of a warp, and warps, along each dimension.
    """
    sizes = (1,) * len(lanes)
    parameters = {"sizePerThread": sizes, "threadsPerWarp": lanes, "warpsPerCTA": warps}
    return Layout("blocked", parameters)


def lanes_per_warp(layout: Layout) -> int:
    """Return the lanes of a warp that a blocked layout, or what is left of one, is for."""
    while layout.name == "slice":
        layout = layout.parameters["parent"]
    return math.prod(layout.parameters["threadsPerWarp"])


def _mma_rows(layout: Layout, shape: tuple[int, ...]) -> int:
    """Return the rows of a product, or of its first factor, of which a thread has elements."""
    rows_of_warps = MMA_ROWS * int(layout.parameters["warpsPerCTA"][-2])
    return MMA_ROWS_PER_THREAD * -(-shape[-2] // rows_of_warps)


def run_length(layout: Layout, axis: int) -> int:
    """Return how many elements that follow each other along `axis` a thread holds at least."""
    p, run = layout.parameters, 1
    if layout.name == "blocked":
        return int(p["sizePerThread"][axis])
    if layout.name == "nvidia_mma":
        return MMA_COLUMNS_PER_THREAD if axis else 1
    if layout.name == "slice":
        return run_length(p["parent"], axis if axis < p["dim"] else axis + 1)
    if layout.name == "linear":
        while any(basis[axis] == run for basis in p["register"]):
            run *= 2
    return run


def sharing(layout: Layout, axis: int) -> tuple[int, int] | None:
    """Return the lanes and the warps over which elements along `axis` are spread.

    None if the layout is of a kind that this reader does not know.
    """
    p = layout.parameters
    if layout.name == "blocked":
        return p["threadsPerWarp"][axis], p["warpsPerCTA"][axis]
    if layout.name == "nvidia_mma":
        return (QUAD if axis else MMA_ROWS // MMA_ROWS_PER_THREAD), p["warpsPerCTA"][axis]
    if layout.name == "slice":
        return sharing(p["parent"], axis if axis < p["dim"] else axis + 1)
    if layout.name == "linear":
        return (
            2 ** sum(basis[axis] != 0 for basis in p["lane"]),
            2 ** sum(basis[axis] != 0 for basis in p["warp"]),
        )
    return None
