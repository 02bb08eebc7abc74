"""Rewritten kernels: early returns, conditions and splits in the form in which they are emitted.

A kernel of several blocks, of which others only return, becomes one block with marks. A mark is an
operation without results; programs leave at it if its operand is, or is not, true. Stores under a
condition around the loop have it as their mask. A split there becomes two, of one result each.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, StringAttr, TensorType, UnregisteredOp, i1, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue

from twill.frontends.ttgir.kinds import ELEMENTWISE, VIEWS, kind_of
from twill.frontends.ttgir.reader import Dump, has_body, name_of, string

LEAVES, STAYS = "sched.leaves_if", "sched.stays_if"
MARKS = (LEAVES, STAYS)
PART = "sched.part"  # of a split: which half it is
RETURNS = ("tt.return", "func.return")


def rewrite(dump: Dump) -> None:
    """Rewrite a kernel around its loops.

    A condition around all that a kernel does is an early return, too. Blocks that do more than to
    return stay.
    """
    for function in [o for o in dump.operations() if name_of(o) == "tt.func" and has_body(o)]:
        first = function.regions[0].blocks[0]
        while _continued(first) or _unwrapped(first):
            pass
        for block in list(function.regions[0].blocks)[1:]:
            if not block.ops or (_returns(block) and not block.predecessors()):
                function.regions[0].detach_block(block)
    blocks = {loop.parent: None for loop in dump.loops()}
    around = [operation for block in blocks if block for operation in block.ops]
    for split in [o for o in around if name_of(o) == "tt.split"]:
        _halve(split)
    for condition in [o for o in around if name_of(o) == "scf.if" and _only_stores(o)]:
        _masked(condition)


def _only_stores(condition: Operation) -> bool:
    """Whether a condition is only around stores by pointers, and values computed for them."""
    then, *others = condition.regions
    inside = [o for o in then.walk() if name_of(o) != "scf.yield"]
    return (
        not any(len(block.ops) > 1 for region in others for block in region.blocks)
        and not condition.results
        and any(name_of(o) == "tt.store" for o in inside)
        and all(name_of(o) == "tt.store" or _is_computed(o) for o in inside)
    )


def _is_computed(operation: Operation) -> bool:
    views = name_of(operation) in (*VIEWS, "arith.constant", "ttg.convert_layout")
    return views or kind_of(operation) in ELEMENTWISE


def _masked(condition: Operation) -> None:
    """Put what is in a condition in its place, and the condition into the masks of its stores."""
    (flag,), block = condition.operands, condition.parent
    assert block is not None
    for operation in list(condition.regions[0].block.ops)[:-1]:
        block.insert_op_before(condition.regions[0].block.detach_op(operation), condition)
        if name_of(operation) != "tt.store":
            continue
        pointer, value, *masks = operation.operands
        mask = flag
        if isinstance(pointer.type, TensorType):
            kind = TensorType(i1, pointer.type.get_shape(), pointer.type.encoding)
            mask = _add("tt.splat", [flag], [kind], operation).results[0]
        if masks:
            mask = _add("arith.andi", [*masks, mask], [mask.type], operation).results[0]
        operation.operands = [pointer, value, mask]
    block.erase_op(condition)


def _add(
    name: str, operands: Sequence[SSAValue], kinds: Sequence[Attribute], before: Operation
) -> Operation:
    """Add an operation before another one, with its place."""
    where = string(before, "sched.location")
    attributes = {"sched.location": StringAttr(where)} if where else {}
    made = UnregisteredOp.with_name(name).create(
        operands=operands, result_types=kinds, attributes=attributes
    )
    assert before.parent is not None
    before.parent.insert_op_before(made, before)
    return made


def _halve(split: Operation) -> None:
    """Replace a split by two, each of which makes a half."""
    assert split.parent is not None
    for part, result in enumerate(split.results):
        attributes = {**split.attributes, PART: IntegerAttr(part, i64)}
        attributes.pop("op_name__", None)
        half = UnregisteredOp.with_name("tt.split").create(
            operands=split.operands, result_types=[result.type], attributes=attributes
        )
        split.parent.insert_op_before(half, split)
        result.replace_all_uses_with(half.results[0])
    split.parent.erase_op(split)


def _continued(first: Block) -> bool:
    """Put the block after a branch of which the other way returns in its place; say if it was."""
    end = first.last_op
    if end is None or name_of(end) != "cf.cond_br" or len(end.operands) != 1:
        return False
    leaving = [_returns(way) for way in end.successors]
    rest = end.successors[leaving.index(False)] if sum(leaving) == 1 else None
    if rest is None or len(rest.predecessors()) != 1:
        return False
    _add(LEAVES if leaving[0] else STAYS, end.operands[:1], [], end)
    first.erase_op(end)
    for operation in list(rest.ops):
        first.add_op(rest.detach_op(operation))
    return True


def _unwrapped(first: Block) -> bool:
    """Put what is in a last condition, if a loop is, in its place; say if it was."""
    end = first.last_op
    last = end.prev_op if end is not None and name_of(end) in RETURNS else None
    if last is None or name_of(last) != "scf.if" or last.results:
        return False
    then, *others = last.regions
    inside = [name_of(operation) for operation in then.walk()]
    if "scf.for" not in inside or any(len(block.ops) > 1 for r in others for block in r.blocks):
        return False
    _add(STAYS, last.operands[:1], [], last)
    for operation in list(then.block.ops)[:-1]:
        first.insert_op_before(then.block.detach_op(operation), last)
    first.detach_op(last)
    return True


def _returns(block: Block) -> bool:
    """Return whether all that a block does is to return."""
    return [name_of(operation) in RETURNS for operation in block.ops] == [True]
