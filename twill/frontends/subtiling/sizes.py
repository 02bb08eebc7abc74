"""Whether sub-tiles have sizes that can be: whole, and such that products are instructions."""

from __future__ import annotations

from twill.artifacts.loop import Loop, Operation
from twill.artifacts.machine import Machine, Products, packaged_machines
from twill.errors import RefusedError
from twill.frontends.subtiling.classes import extent, in_program_order
from twill.frontends.subtiling.plan import Plan, Role, label
from twill.frontends.subtiling.relations import is_product

WARPS_OF_A_GROUP = 4


def machine_of(loop: Loop) -> Machine | None:
    """Return the first packaged machine of the architecture that a loop was compiled for."""
    architecture = loop.origin.architecture if loop.origin else None
    if not architecture:
        return None
    machines = (Machine.named(name) for name in packaged_machines())
    return next((m for m in machines if m.architecture == architecture), None)


def check_divisible(plan: Plan) -> None:
    """Check that the factor divides what is split.

    Raises
    ------
    RefusedError
        If it does not.
    """
    for dimension in sorted(plan.members, key=in_program_order):
        elements = extent(plan.loop, dimension)
        if elements % plan.factor:
            raise RefusedError(
                f"{plan.loop.name}: {label(plan.loop, dimension)} has {elements} elements, which "
                f"are not {plan.factor} equal parts"
            )


def check_products(plan: Plan, operations: list[Operation], machine: Machine) -> None:
    """Check that the products of sub-tiles have shapes that the machine has instructions for.

    `operations`: for each operation of the loop what one sub-tile has of it.

    Raises
    ------
    RefusedError
        If one has not; names it, its shape and what is possible.
    """
    if machine.products is None:
        return
    for role, operation in zip(plan.roles, operations, strict=True):
        if role is not Role.SHARED and is_product(operation) and operation.kind != "mma_sync":
            problem = _problem(operation, machine.products)
            if problem is not None:
                raise RefusedError(
                    f"{plan.loop.name}: {plan.factor} sub-tiles along {plan.along} make the "
                    f"product {operation.name} {_shape_text(operation)}, and {problem} on "
                    f"{machine.name}"
                )


def _problem(operation: Operation, products: Products) -> str | None:
    """Return why a product's shape is none that instructions have, None if it is one."""
    rows, columns, depth = _shape(operation)
    # Block scaling is for the largest instruction only (PTX ISA 9.0, tcgen05.mma, mxf8f6f4).
    allowed = (max(products.rows),) if operation.kind == "mma_scaled" else products.rows
    in_registers = operation.result is not None and operation.result.memory == "registers"
    groups = max(1, operation.warps // WARPS_OF_A_GROUP) if in_registers else 1
    if all(rows % (height * groups) for height in allowed):
        of = f" for {operation.warps} warps" if groups > 1 else ""
        multiples = " or ".join(str(height * groups) for height in allowed)
        return f"rows must be a multiple of {multiples}{of}"
    if columns % products.column_step or columns > products.most_columns:
        return (
            f"columns must be a multiple of {products.column_step} and at most "
            f"{products.most_columns}"
        )
    bits = operation.operands[0].bits
    if products.depth_bytes is not None and depth * bits % (8 * products.depth_bytes):
        return f"the depth must be a multiple of {8 * products.depth_bytes // bits}"
    return None


def _shape(operation: Operation) -> tuple[int, int, int]:
    assert operation.result is not None
    rows, columns = operation.result.shape[-2:]
    return rows, columns, operation.operands[0].shape[-1]


def _shape_text(operation: Operation) -> str:
    rows, columns, depth = _shape(operation)
    return f"{rows} x {columns} x {depth}"
