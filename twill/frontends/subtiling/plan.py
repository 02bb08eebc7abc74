"""Plans of sub-tiling: the class of dimensions to split, and the role of every operation."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from twill.artifacts.hardware import Products
from twill.artifacts.loop import Loop, Operation
from twill.artifacts.machine import Machine
from twill.base.errors import InputError, RefusedError, short
from twill.frontends.subtiling.dimensions import (
    RESULT,
    Classes,
    Dimension,
    dimension_classes,
    extent,
    first_of,
    in_program_order,
    is_product,
    tiles_of,
)

MOST_REASONS = 3


class Role(Enum):
    """The role of an operation."""

    SHARED = "shared"  # it stays one, and every sub-tile reads its result
    COPIED = "copied"  # every sub-tile has one of its own
    CHAINED = "chained"  # a product whose depth is split: each sub-tile's adds to the one before


@dataclass(frozen=True)
class Plan:
    """A way to split a loop into `factor` sub-tiles: along which dimensions."""

    loop: Loop
    factor: int
    members: frozenset[Dimension]

    @property
    def along(self) -> str:
        """The split as a person names it: the first product that has it, and which dimension."""
        return label(self.loop, self._first)

    @property
    def extent(self) -> int:
        """Elements along the split dimension."""
        return extent(self.loop, self._first)

    @property
    def _first(self) -> Dimension:
        operations = self.loop.operations
        made = [m for m in self.members if m.place == RESULT and is_product(operations[m.owner])]
        return first_of(made or self.members)

    @cached_property
    def roles(self) -> tuple[Role, ...]:
        """The role of each operation, in program order."""
        touched = {owner for owner, _ in self._axes}
        roles = []
        for index, operation in enumerate(self.loop.operations):
            copied = operation.result is None or self.split_axes(index, RESULT)
            role = Role.COPIED if copied else Role.CHAINED
            roles.append(role if index in touched else Role.SHARED)
        for index in self._repeated(roles):
            roles[index] = Role.COPIED
        return tuple(roles)

    def _repeated(self, roles: list[Role]) -> set[int]:
        """Return what each sub-tile works out for itself rather than share it in registers.

        That is element-wise work for sub-tiles on the loop counter and invariants only. Handing its
        result from one warp group to another would cost more.
        """
        position = {operation.name: i for i, operation in enumerate(self.loop.operations)}
        reads, readers = defaultdict[int, set[int]](set), defaultdict[int, set[int]](set)
        for dependence in self.loop.dependences:
            producer, consumer = position[dependence.producer], position[dependence.consumer]
            reads[consumer].add(producer)
            readers[producer].add(consumer)
        from_counter: set[int] = set()
        for index, operation in enumerate(self.loop.operations):
            if operation.elementwise and operation.cost is None and reads[index] <= from_counter:
                from_counter.add(index)
        of_sub_tiles = {index for index, role in enumerate(roles) if role is Role.COPIED}
        found: set[int] = set()
        for index in sorted(from_counter, reverse=True):
            if roles[index] is Role.SHARED and readers[index] <= found | of_sub_tiles:
                found.add(index)
        return {index for index in found if readers[index]}

    def with_role(self, role: Role) -> list[Operation]:
        """Return the operations of one role in program order."""
        pairs = zip(self.loop.operations, self.roles, strict=True)
        return [operation for operation, of in pairs if of is role]

    def split_axes(self, owner: int, place: int) -> list[int]:
        """Return the split dimensions of a tile; a plan that can be carried out has at most one."""
        return self._axes.get((owner, place), [])

    @cached_property
    def _axes(self) -> dict[tuple[int, int], list[int]]:
        """Split dimensions by owner and place."""
        found = defaultdict[tuple[int, int], list[int]](list)
        for owner, place, axis in sorted(self.members):
            found[owner, place].append(axis)
        return found

    @property
    def preference(self) -> tuple[bool, int, int]:
        """Smaller is better: no load split, most multiplications split, fewest chains."""
        split_loads = any(operation.kind == "load" for operation in self.with_role(Role.COPIED))
        chains = self.with_role(Role.CHAINED)
        products = [o for o in (*self.with_role(Role.COPIED), *chains) if is_product(o)]
        work = (o.result.elements * o.operands[0].shape[-1] for o in products if o.result)
        return (split_loads, -sum(work), len(chains))

    @property
    def copies_work(self) -> bool:
        """Whether sub-tiles have products of their own, or anything if the loop has none."""
        copied = self.with_role(Role.COPIED)
        if any(map(is_product, self.loop.operations)):
            return any(map(is_product, copied))
        return self.extent > 1 and any(operation.kind != "load" for operation in copied)


def product_shape(product: Operation) -> tuple[int, int, int]:
    """Return the rows and columns of a product's result, and the depth of its factors."""
    assert product.result is not None
    rows, columns = product.result.shape[-2:]
    return rows, columns, product.operands[0].shape[-1]


def choices(loop: Loop, factor: int) -> list[Plan]:
    """Return the possible plans: shared loads first, then most product work, then fewest chains.

    Their order does not depend on the factor or the machine.

    Raises
    ------
    RefusedError
        If the rows of every tile depend on each other.
    """
    classes = dimension_classes(loop)
    possible, reasons = [], []
    for members in classes.members():
        plan = Plan(loop, factor, members)
        reason = _obstacle(classes, plan)
        if reason is not None:
            reasons.append(f"{plan.along} ({reason})")
        elif plan.copies_work:
            possible.append(plan)
    if not possible:
        more = len(reasons) - MOST_REASONS
        shown = "; ".join(reasons[:MOST_REASONS]) or "its operations have no tiles"
        and_more = f"; and {more} more" if more > 0 else ""
        raise RefusedError(f"{loop.name}: no dimension can be split: {shown}{and_more}")
    return sorted(possible, key=lambda plan: plan.preference)


def along_dimension(loop: Loop, factor: int, where: str) -> Plan:
    """Return the plan that splits a given dimension.

    `where`: ``operation:dimension`` of its result (of what it stores, if it has none).

    Raises
    ------
    InputError
        If there is no such dimension.
    RefusedError
        If the elements along it depend on each other.
    """
    classes = dimension_classes(loop)
    plan = Plan(loop, factor, classes.members_with(dimension(loop, where)))
    reason = _obstacle(classes, plan)
    if reason is not None:
        raise RefusedError(f"{loop.name}: cannot split {where}: {reason}")
    return plan


def dimension(loop: Loop, where: str) -> Dimension:
    """Return a dimension by the name that people give it.

    `where`: ``operation:dimension`` of its result (of what it stores, if it has none).

    Raises
    ------
    InputError
        If there is no such dimension.
    """
    name, colon, number = where.rpartition(":")
    if not colon or not number.isdecimal():
        raise InputError(f"must be OPERATION:DIMENSION (got {short(where)})", path="along")
    for index, operation in enumerate(loop.operations):
        tiles = dict(tiles_of(loop, index))
        place = RESULT if operation.result is not None else 0
        if operation.name == name and place in tiles:
            shape = tiles[place].shape
            if number not in map(str, range(len(shape))):
                has = f"operation {short(name)} has a tile of {len(shape)} dimensions"
                raise InputError(f"{has}, counted from 0 (got {short(number)})", path="along")
            return Dimension(index, place, int(number))
    raise InputError(f"no operation with a tile is named {short(name)}", path="along")


def _obstacle(classes: Classes, plan: Plan) -> str | None:
    """Return why a class cannot be split, whatever the factor; None if it can."""
    loop = plan.loop
    couplings = classes.couplings(plan.members)
    if couplings:
        first = min(couplings, key=lambda coupling: coupling.operation)
        return f"{loop.operations[first.operation].name} {first.reason}"
    tiles = Counter((member.owner, member.place) for member in plan.members)
    twice = [member for member in plan.members if tiles[member.owner, member.place] > 1]
    if twice:
        return f"{label(loop, first_of(twice)).rpartition(':')[0]} has them along two dimensions"
    return None


def label(loop: Loop, dimension: Dimension) -> str:
    """Return a dimension as people name it, ``operation:dimension``."""
    owner, _, axis = dimension
    name = loop.operations[owner].name if owner >= 0 else loop.invariants[-1 - owner].name
    return f"{name}:{axis}"


def indivisible(plan: Plan) -> str | None:
    """Return which dimension the factor does not divide, in words; None if it divides all."""
    for dimension in sorted(plan.members, key=in_program_order):
        elements = extent(plan.loop, dimension)
        if elements % plan.factor:
            return (
                f"{plan.loop.name}: {label(plan.loop, dimension)} has {elements} elements, which "
                f"are not {plan.factor} equal parts"
            )
    return None


def without_instruction(plan: Plan, parts: list[Operation], machine: Machine) -> str | None:
    """Return which sub-tile's product has no instruction on a machine, and what is possible.

    `parts`: for each operation of the loop what one sub-tile has of it.
    """
    for role, part in zip(plan.roles, parts, strict=True):
        if role is Role.SHARED or not is_product(part) or part.kind == "mma_sync":
            continue
        problem = None if machine.products is None else _problem(part, machine.products)
        if problem is not None:
            shape = " x ".join(map(str, product_shape(part)))
            return (
                f"{plan.loop.name}: {plan.factor} sub-tiles along {plan.along} make the product "
                f"{part.name} {shape}, and {problem} on {machine.name}"
            )
    return None


def impossible_product(loop: Loop, machine: Machine) -> str | None:
    """Return which product of a loop has no instruction on a machine, None if all have one."""
    for operation in loop.operations:
        if machine.products is None or not is_product(operation) or operation.kind == "mma_sync":
            continue
        problem = _problem(operation, machine.products)
        if problem is not None:
            shape = " x ".join(map(str, product_shape(operation)))
            return f"{loop.name}: the product {operation.name} is {shape}, and {problem}"
    return None


def _problem(operation: Operation, products: Products) -> str | None:
    """Return why a product's shape is none that instructions have, None if it is one."""
    rows, columns, depth = product_shape(operation)
    # Block scaling is for the largest instruction only (PTX ISA 9.0, tcgen05.mma, mxf8f6f4).
    allowed = (max(products.rows),) if operation.kind == "mma_scaled" else products.rows
    in_registers = operation.result is not None and operation.result.memory == "registers"
    together = products.warps or operation.warps
    groups = max(1, operation.warps // together) if in_registers else 1
    if all(rows % (height * groups) for height in allowed):
        multiples = " or ".join(str(height * groups) for height in allowed)
        if groups == 1:
            return f"rows must be a multiple of {multiples}"
        fewer = f" ({min(allowed)} for {together})" if rows % min(allowed) == 0 else ""
        return f"rows must be a multiple of {multiples} for {operation.warps} warps{fewer}"
    step, most = products.column_step, products.most_columns
    if columns % step or columns > most:
        return f"columns must be a multiple of {step} and at most {most}"
    bits = operation.operands[0].bits
    if products.depth_bytes is not None and depth * bits % (8 * products.depth_bytes):
        return f"the depth must be a multiple of {8 * products.depth_bytes // bits}"
    return None
