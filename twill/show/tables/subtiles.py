"""What sub-tiling made of a loop."""

from __future__ import annotations

from typing import Any

from twill.artifacts.loop import Loop
from twill.console import say, table
from twill.frontends.subtiling import Plan, Role
from twill.frontends.subtiling.dimensions import is_product
from twill.frontends.subtiling.plan import product_shape
from twill.show.tables.words import plural


def subtiles_data(plan: Plan, made: Loop) -> dict[str, Any]:
    """Return what `print_subtiles` shows as plain data."""
    return {
        "loop": made.name,
        "factor": plan.factor,
        "along": plan.along,
        "extent": plan.extent,
        "sub_tile": plan.extent // plan.factor,
        "operations": {"before": len(plan.loop.operations), "after": len(made.operations)},
        "dependences": {"before": len(plan.loop.dependences), "after": len(made.dependences)},
        "shared": [operation.name for operation in plan.with_role(Role.SHARED)],
        "copied": [operation.name for operation in plan.with_role(Role.COPIED)],
        "chained": [operation.name for operation in plan.with_role(Role.CHAINED)],
        "products": [
            {"name": operation.name, "shape": list(product_shape(operation))}
            for operation in made.operations
            if is_product(operation)
        ],
        "invariants": [invariant.name for invariant in made.invariants],
    }


def print_subtiles(plan: Plan, made: Loop) -> None:
    """Print what is shared, what every sub-tile has of its own, and the products."""
    data = subtiles_data(plan, made)
    say(
        f"{data['loop']}: {plural(plan.factor, 'sub-tile')} of {data['sub_tile']} along "
        f"{plan.along} ({plan.extent})"
    )
    before, after = data["operations"].values()
    say(
        f"{before} operations become {after}, {data['dependences']['before']} dependences "
        f"{data['dependences']['after']}"
    )
    for role, said in (
        (Role.SHARED, "shared"),
        (Role.COPIED, "one for each sub-tile"),
        (Role.CHAINED, "summed over the sub-tiles"),
    ):
        names = [operation.name for operation in plan.with_role(role)]
        if names:
            say(f"{said}: {', '.join(names)}")
    if data["invariants"]:
        say(f"invariant: {', '.join(data['invariants'])}")
    if data["products"]:
        table(
            ["product", "rows", "columns", "depth"],
            [[p["name"], *(str(extent) for extent in p["shape"])] for p in data["products"]],
            right={"rows", "columns", "depth"},
        )
