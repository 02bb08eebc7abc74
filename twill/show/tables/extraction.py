"""What an extraction took from a dump and what it left out."""

from __future__ import annotations

from typing import Any

from twill.artifacts.loop import Loop
from twill.console import say
from twill.show.tables.structure import folded_kinds, recurrent
from twill.show.tables.words import kinds_line


def extraction_data(loop: Loop) -> dict[str, Any]:
    """Return the summary of an extracted loop as plain data."""
    origin = loop.origin
    kinds: dict[str, int] = {}
    for operation in loop.operations:
        kinds[operation.kind] = kinds.get(operation.kind, 0) + 1
    return {
        "loop": loop.name,
        "origin": None if origin is None else origin.model_dump(mode="json", exclude_none=True),
        "operations": len(loop.operations),
        "kinds": kinds,
        "dependences": len(loop.dependences),
        "renamed": [f"{d.producer} -> {d.consumer}" for d in loop.renamed],
        "folded": folded_kinds(loop),
        "recurrences": recurrent(loop),
        "invariants": [invariant.name for invariant in loop.invariants],
    }


def print_extraction(loop: Loop) -> None:
    """Print the summary of an extracted loop."""
    data = extraction_data(loop)
    say(f"loop {loop.name}")
    _print_origin(data["origin"] or {})
    say(f"{data['operations']} operations: {kinds_line(data['kinds'])}")
    folded = sum(data["folded"].values())
    say(
        f"{folded} folded away as free: {kinds_line(data['folded'])}"
        if folded
        else "nothing folded away"
    )
    if data["renamed"]:
        say(f"orders only for a reused buffer, dropped: {', '.join(data['renamed'])}")
    for names in data["recurrences"]:
        say(f"recurrence through {', '.join(names)}")
    if data["invariants"]:
        say(f"invariant: {', '.join(data['invariants'])}")


def _print_origin(origin: dict[str, Any]) -> None:
    if origin:
        said = [origin.get(key) for key in ("kernel", "architecture", "compiler")]
        say(f"kernel {', '.join(word for word in said if word)}")
    if "loop" in origin:
        place = f" at {origin['location']}" if "location" in origin else ""
        say(f"loop over {origin['loop']}{place}")
    if "nodes_as_written" in origin:
        say(
            f"nodes/edges {origin['nodes_as_written']}/{origin['edges_as_written']} as written, "
            f"{origin['nodes_after_folding']}/{origin['edges_after_folding']} after folding"
        )
