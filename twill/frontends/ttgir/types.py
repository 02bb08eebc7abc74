"""How Triton spreads a tile over threads, from the text of a layout attribute."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

from twill.errors import InputError, short

_TOKEN = re.compile(r"\s*(#?[A-Za-z_][\w.]*|-?\d+|[<>{}\[\],=])")
MMA_ROWS_PER_THREAD, MMA_ROWS = 2, 16
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
    tokens = _TOKEN.findall(text)
    if "".join(tokens) != re.sub(r"\s", "", text):
        raise InputError(f"not a layout (got {short(text)})")
    try:
        value, rest = _value(tokens)
    except (IndexError, ValueError, RecursionError):
        raise InputError(f"not a layout (got {short(text)})") from None
    if rest or not isinstance(value, Layout) or not _is_complete(value):
        raise InputError(f"not a layout (got {short(text)})")
    return value


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


def _value(tokens: list[str]) -> tuple[Any, list[str]]:
    head, rest = tokens[0], tokens[1:]
    if head == "[":
        items = []
        while rest[0] != "]":
            item, rest = _value(rest)
            items.append(item)
            rest = rest[1:] if rest[0] == "," else rest
        return items, rest[1:]
    if head == "{":
        parameters: dict[str, Any] = {}
        while rest[0] != "}":
            key, rest = rest[0], rest[2:]
            parameters[key], rest = _value(rest)
            rest = rest[1:] if rest[0] == "," else rest
        return parameters, rest[1:]
    if head.startswith("#"):
        name = head.rsplit(".", 1)[-1]
        if rest and rest[0] == "<":
            parameters, rest = _value(rest[1:])
            return Layout(name, parameters if isinstance(parameters, dict) else {}), rest[1:]
        return Layout(name, {}), rest
    if head in ("true", "false"):
        return head == "true", rest
    return (int(head) if re.fullmatch(r"-?\d+", head) else head), rest


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
        rows = MMA_ROWS_PER_THREAD * -(-shape[-2] // (MMA_ROWS * p["warpsPerCTA"][-2]))
        return [
            *([1] * (len(shape) - 2)),
            rows,
            width // QUAD * -(-shape[-1] // (width * p["warpsPerCTA"][-1])),
        ]
    if layout.name == "slice":
        whole = list(shape)
        whole.insert(p["dim"], 1)
        counts = _per_dimension(p["parent"], tuple(whole))
        return None if counts is None else counts[: p["dim"]] + counts[p["dim"] + 1 :]
    if layout.name == "dot_op" and p["opIdx"] == 0 and p["parent"].name == "nvidia_mma":
        rows = MMA_ROWS_PER_THREAD * -(
            -shape[-2] // (MMA_ROWS * p["parent"].parameters["warpsPerCTA"][-2])
        )
        return [rows, -(-shape[-1] // QUAD)]
    if layout.name == "linear":
        return [2 ** sum(basis[d] != 0 for basis in p["register"]) for d in range(len(shape))]
    return None


def sharing(layout: Layout, axis: int) -> tuple[int, int] | None:
    """Return the lanes and the warps over which elements along `axis` are spread.

    None if the layout is of a kind that this reader does not know.
    """
    p = layout.parameters
    if layout.name == "blocked":
        return p["threadsPerWarp"][axis], p["warpsPerCTA"][axis]
    if layout.name == "nvidia_mma":
        return (QUAD if axis else 32 // QUAD), p["warpsPerCTA"][axis]
    if layout.name == "slice":
        return sharing(p["parent"], axis if axis < p["dim"] else axis + 1)
    if layout.name == "linear":
        return (
            2 ** sum(basis[axis] != 0 for basis in p["lane"]),
            2 ** sum(basis[axis] != 0 for basis in p["warp"]),
        )
    return None
